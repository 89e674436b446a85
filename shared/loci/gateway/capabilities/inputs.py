"""The inputs of learned code: what it read from `context`, and what differed between its runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, string
from loci.core.secrets_in_text import has_known_format
from loci.gateway.capabilities.code_text import words_of_code

MOST_INPUTS: Final = 30
MOST_FIELDS: Final = 12
LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Input:
    """A key of `context` that the code reads, with the shape of its last value."""

    name: str
    shape: str
    """The type of the value: `string`, `number`, `list of string`, `object {a, b}`."""
    digest: str
    """Tells if another value is the same."""
    differs: bool = False
    """True if two runs had different values."""

    def as_json(self) -> JsonObject:
        """The input as the record of its code keeps it."""
        return {"name": self.name, "shape": self.shape, "digest": self.digest, "differs": self.differs}


def inputs_of(code: str, context: JsonObject) -> tuple[Input, ...]:
    """The keys of the context that the code names."""
    words = words_of_code(code)
    named = [(name, value) for name, value in context.items() if name in words and not has_known_format(name)]
    return tuple(Input(name, shape_of(value), content_id(json.dumps(value))) for name, value in named[:MOST_INPUTS])


def shape_of(value: Json, *, inside: bool = False) -> str:
    """The type of the value in a few words."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "list" if inside or not value else f"list of {shape_of(value[0], inside=True)}"
        case dict():
            names = [one for one in sorted(value) if one.isidentifier() and not has_known_format(one)]
            return f"object {{{', '.join(names[:MOST_FIELDS])}}}"[:LONGEST]


def merged_inputs(known: Sequence[Input], now: Sequence[Input]) -> tuple[Input, ...]:
    """The inputs after another run that worked."""
    before = {one.name: one for one in known}
    return tuple(
        one
        if one.name not in before
        else replace(one, differs=before[one.name].differs or before[one.name].digest != one.digest)
        for one in now
    )


def checked_inputs(value: Json) -> tuple[Input, ...]:
    """The inputs of a record or an archive; none if it has none. Raises `ValueError` or `TypeError`."""
    if not isinstance(value, list):
        return ()
    found: list[Input] = []
    for one in value[:MOST_INPUTS]:
        if not isinstance(one, dict):
            raise TypeError(one)
        name, shape = string(one.get("name"))[:LONGEST], string(one.get("shape"))[:LONGEST]
        found.append(Input(name, shape, string(one.get("digest"))[:LONGEST], one.get("differs") is True))
    return tuple(found)
