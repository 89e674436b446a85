"""The values that earlier tasks give to a step: references to their results, and values they were called with."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from loci.core.json import Json, JsonObject
from loci.workflows.entities import Given
from loci.workflows.parameters import CONTENT, Parameter, parameters, types_of
from loci.workflows.toolbox import ToolFacts

_MEANT: Final = re.compile(
    r"\b(?:its|their|this|that|these|those|the)\s+(?:\w+\s+)?(?P<noun>contents?|texts?|bod(?:y|ies)|results?|outputs?|"
    r"answers?|responses?|details|summary|title|name|url|id|data)\b|\b(?:it|them|the same)\b"
    r"|\b(?:that|this|those|these)\b(?!\s+[a-z])",
    re.I,
)
_CARRIED: Final = re.compile(r"\b(?:it|them|same|its|(?:that|this|the)\s+\w+)\b", re.I)
COMMON: Final = frozenset({"name", "id", "type", "content", "text", "title", "status", "result", "message", "data"})
"""Names of fields that say nothing about what is in them."""
SCOPE: Final = re.compile(r"(?:^|_|-)(?:owner|repo|repository|project|path|channel|board|issue|branch|database)s?$|"
                          r"(?:id|key|number|_path)$", re.I)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Earlier:
    """A task that a step may refer to."""

    id: str
    tool: str
    arguments: JsonObject
    output: JsonObject | None
    """The schema of its result."""
    source: str = ""
    """The path or address that its result came from."""

    @property
    def server(self) -> str:
        return self.tool.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Taken:
    """A value that comes from a task before."""

    value: Json
    task: str
    sure: float
    why: str


@dataclass(frozen=True, slots=True)
class Step:
    """The text of a step, divided into its parts for binding."""

    text: str
    plain: str
    """The text without the values that it names."""
    verb: str
    givens: tuple[Given, ...]
    earlier: tuple[Earlier, ...]
    context: JsonObject


def speaks_of_earlier(text: str) -> bool:
    """True if the step speaks of a result: `its content`, `it`, `them`."""
    return _MEANT.search(text) is not None


def content_for(parameter: Parameter, text: str, earlier: Sequence[Earlier]) -> Taken | None:
    """The result that `its content` means, as far as this parameter takes it."""
    found = _MEANT.search(text)
    if not found or not earlier:
        return None
    of = earlier[-1]
    if len(earlier) > 1 and found[0].lower().startswith("their") and earlier[-2].tool == of.tool:
        return None  # it means several
    noun = (found["noun"] or "").lower()
    field, kind = _field(of.output, noun)
    reference = f"${of.id}.result" + (f".{field}" if field else "")
    value = _fitted(reference, parameter, kind)
    if value is None:
        return None
    sure = 0.95 if field or kind else 0.85
    return Taken(value, of.id, sure, f"what {of.id} gives ({found[0].strip()})")


def same_field(parameter: Parameter, earlier: Sequence[Earlier]) -> Taken | None:
    """A field of an earlier result that has the parameter's name."""
    if plain(parameter.name) in COMMON:
        return None
    for of in reversed(earlier):
        for one in parameters(of.output or {}):
            if plain(one.name) == plain(parameter.name) and (not parameter.types or parameter.types & one.types):
                return Taken(f"${of.id}.result.{one.name}", of.id, 0.9, f"the {one.name} that {of.id} gives")
    return None


def carried(parameter: Parameter, tool: ToolFacts, text: str, earlier: Sequence[Earlier]) -> Taken | None:
    """The value with which an earlier task of the same server was called: `that issue` is the same one."""
    if not _CARRIED.search(text) or not SCOPE.search(parameter.name):
        return None
    for of in reversed(earlier):
        value = of.arguments.get(parameter.name)
        if of.server == tool.id.partition(":")[0] and isinstance(value, str | int):
            return Taken(value, "", 0.9, f"as for {of.id}")
    return None


def guessed(parameter: Parameter, earlier: Sequence[Earlier]) -> Taken | None:
    """A name or a kind for something new, from where its content came. A person sees it before it is used."""
    source = next((of.source for of in reversed(earlier) if of.source), "")
    if not source or not parameter.takes("string") or parameter.choices:
        return None
    is_page = "://" in source
    if parameter.name.lower() in ("name", "title", "entityname", "entity_name"):
        stem = PurePosixPath(source.rstrip("/")).stem or source
        return Taken(stem, "", 0.8, f"after {source}")
    if plain(parameter.name).endswith("type"):
        return Taken("page" if is_page else "file", "", 0.8, f"what {source} is")
    return None


def plain(name: str) -> str:
    return "".join(one for one in name.lower() if one.isalnum())


def _field(output: JsonObject | None, noun: str) -> tuple[str, str]:
    """The field of the result that is meant, and its type; empty if all of it is, or it is not known."""
    fields = parameters(output or {})
    if not fields:
        return "", next(iter(types_of(output)), "") if output else ""
    wanted = noun.rstrip("s")
    for one in fields:
        if wanted and plain(one.name).rstrip("s") == wanted:
            return one.name, next(iter(one.types), "")
    contents = [one for one in fields if one.words & CONTENT]
    if len(fields) == 1 or len(contents) == 1:
        one = fields[0] if len(fields) == 1 else contents[0]
        return one.name, next(iter(one.types), "")
    return "", "object"


def _fitted(reference: str, parameter: Parameter, kind: str) -> Json | None:
    """The reference in the shape that the parameter takes."""
    if parameter.choices:
        return None
    if not parameter.types or not kind or parameter.takes(kind):
        return [reference] if parameter.is_list and not kind else reference
    if parameter.takes("string") and kind in ("object", "array", "number", "integer", "boolean"):
        return f"{reference}\n"  # inside a longer text, a value is written as JSON
    if parameter.takes("array") and "string" in types_of(parameter.items):
        return [reference if kind == "string" else f"{reference}\n"]
    return None
