"""Binds the parameters of a tool to what a step says, each only if one way alone fits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from loci.core.errors import LociError
from loci.core.json import Json, JsonObject
from loci.gateway.shapes import type_of
from loci.gateway.tool_words import in_words, plain_name
from loci.search.words import index_words
from loci.workflows.intent import GivenValue, Step
from loci.workflows.references import literal
from loci.workflows.toolbox import Parameter, Toolbox, ToolFacts, parameters

LOOKED_AT: Final = 10
LONGEST: Final = 120
SHORTEST_CHOICE: Final = 3
BY_NAME, BY_WORD, BY_FORM, BY_TYPE, NOT = 4, 3, 2, 1, 0
"""How a value fits a parameter: `key=value`, by the word before it, by its form, or as a text or number of any kind."""
_FORMS: Final = {
    "url": "url uri link href website",
    "glob": "pattern glob",
    "path": "path paths file files filename filepath directory folder dir source destination",
}
FORMS: Final = {form: frozenset(index_words(names)) for form, names in _FORMS.items()}
"""Words in the names of the parameters that take values of a form, and no other texts."""
ALL_FORMS: Final = frozenset[str]().union(*FORMS.values())
CONTENT: Final = frozenset(index_words("content contents body text message observations data value document comment"))
IDS: Final = frozenset(index_words("id ids key token cursor uuid number"))
UNTOLD: Final = frozenset({"name", "id", "type", "content", "text", "title", "status", "result", "message", "data"})
"""Names of fields that say nothing about what is in them."""
EARLIER: Final = re.compile(
    r"\b(?:its|their|this|that|these|those|the) (?:contents?|texts?|results?|outputs?|answers?)\b"
    r"|\b(?:its|their|it|them|that|this|those|these|there)\b",
    re.I,
)
"""Words that speak of what a step before gave."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A task that a step may refer to."""

    id: str
    tool: str
    output: JsonObject | None
    """The schema of its result."""
    reads: bool
    source: str = ""
    """The path or address that it names."""


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A place for a value: a parameter, or a field of the only object in a list of objects."""

    parameter: Parameter
    of: str = ""
    """The name of that list."""

    @property
    def types(self) -> frozenset[str]:
        """The types that one value may have. Empty: any."""
        return self.parameter.item_types if self.parameter.is_list else self.parameter.types

    def takes(self, kind: str) -> bool:
        return not self.types or kind in self.types or (kind == "integer" and "number" in self.types)

    def fit(self, value: GivenValue) -> int:
        """How the value fits here."""
        one, kind, words = self.parameter, value.kind, self.parameter.words
        if not self.takes(type_of(value.value)) or (one.choices and value.value not in one.choices):
            return NOT
        if value.name and plain_name(value.name) == plain_name(one.name):
            return BY_NAME
        is_named = kind not in ("code", "number") and not value.cues & IDS
        if kind == "named" or (is_named and words & IDS):  # a name is no id
            return NOT
        if value.cues & words:
            return BY_WORD
        if words & FORMS.get(kind, frozenset()):
            return BY_FORM
        return BY_TYPE if one.required and kind in ("quoted", "number") and not words & (ALL_FORMS | IDS) else NOT


@dataclass(slots=True)
class Bound:
    """The bound arguments of a tool, and the parameters that are open."""

    open: list[Slot]
    left: list[GivenValue]
    """The values that have no place, or several."""
    arguments: JsonObject = field(default_factory=dict[str, Json])
    others: list[JsonObject] = field(default_factory=list[JsonObject])
    """The arguments of further tasks: one for each other value of a list of the context."""
    missing: dict[str, str] = field(default_factory=dict[str, str])
    """The required parameters that have no value, each with what it takes."""
    before: list[tuple[ToolFacts, str]] = field(default_factory=list[tuple[ToolFacts, str]])
    """Tools whose results have what a parameter needs, with the name of the parameter."""
    takes_earlier: bool = False
    words: set[str] = field(default_factory=set[str])
    """The stems of the names of what is bound, and of the words that were bound."""

    def required(self) -> list[Slot]:
        """The required places that are open."""
        return [one for one in self.open if one.parameter.required]

    def put(self, slot: Slot, value: Json) -> None:
        place: Any = self.arguments
        if slot.of:
            place = place.setdefault(slot.of, [{}])[0]
        place[slot.parameter.name] = value
        self.words |= slot.parameter.words
        self.open.remove(slot)


def bind(tool: ToolFacts, step: Step, earlier: Earlier | None, toolbox: Toolbox) -> Bound:
    """The arguments that the step gives to the tool. `earlier`: the only task that `its content` may mean."""
    bound = Bound([*_slots(tool.parameters)], [*step.values])
    _bind_choices(bound, tool, step)
    for fit in (BY_NAME, BY_WORD, BY_FORM, BY_TYPE):
        _bind_values(bound, fit)
    if earlier is not None and EARLIER.search(step.plain):
        _bind_result(bound, earlier)
    for slot in bound.required():
        guess = _guess(slot.parameter, earlier.source) if earlier and bound.takes_earlier and not tool.reads else ""
        if guess:
            bound.put(slot, guess)
        elif made := _producer(slot, tool, toolbox):
            bound.before.append((made, slot.parameter.name))
            bound.words |= slot.parameter.words
        else:
            label = f"{slot.of}[0].{slot.parameter.name}" if slot.of else slot.parameter.name
            bound.missing[label] = f"the intent does not say it ({slot.parameter.told(LONGEST)})"
    return bound


def _slots(fields: Sequence[Parameter]) -> list[Slot]:
    inner = {one.name: one.item_fields() for one in fields if one.required}
    return [
        slot for one in fields for slot in ([Slot(each, one.name) for each in inner.get(one.name, ())] or [Slot(one)])
    ]


def _bind_choices(bound: Bound, tool: ToolFacts, step: Step) -> None:
    """Bind a value of a choice that the step says in a word of its own: not in a word of the tool's name."""
    said = {*index_words(step.plain)} - {*index_words(in_words(tool.id))}
    for slot in [*bound.open]:
        choices = [one for one in slot.parameter.choices if isinstance(one, str) and len(one) >= SHORTEST_CHOICE]
        found = [one for one in choices if said.issuperset(index_words(one))]
        if len(found) == 1:
            bound.words |= {*index_words(found[0])}
            bound.put(slot, found[0])


def _bind_values(bound: Bound, fit: int) -> None:
    """Bind each value to the only place that it fits so well, if no other value wants that place."""
    claims = dict[Slot, list[GivenValue]]()
    for value in bound.left:
        fits = {one: one.fit(value) for one in bound.open}
        slots = [one for one, how in fits.items() if how == fit == max(fits.values())]
        slots = [one for one in slots if one.parameter.required] or slots
        if len(slots) == 1:
            claims.setdefault(slots[0], []).append(value)
    for slot, values in claims.items():
        first, is_list = values[0], slot.parameter.is_list
        alike = {(one.kind, one.name) for one in values}
        if len(values) > 1 and not (len(alike) == 1 and (is_list or (first.of_context and not slot.of))):
            continue
        shaped = [literal(one.value) if isinstance(one.value, str) else one.value for one in values]
        bound.put(slot, shaped if is_list else shaped[0])
        bound.others += [] if is_list else [{slot.parameter.name: one} for one in shaped[1:]]
        bound.left = [one for one in bound.left if one not in values]
        bound.words |= first.cues if first.of_context else set[str]()


def _bind_result(bound: Bound, earlier: Earlier) -> None:
    """Bind the result of the earlier task, or its only field, to the only place for a content."""
    slots = [one for one in bound.required() if one.parameter.words & CONTENT or not one.parameter.types]
    fields = parameters(earlier.output)
    part = fields[0] if len(fields) == 1 else None
    if len(slots) == 1 and (part is None or not part.types or any(map(slots[0].takes, part.types))):
        reference = f"${earlier.id}.result.{part.name}" if part else f"${earlier.id}.result"
        bound.put(slots[0], [reference] if slots[0].parameter.is_list else reference)
        bound.takes_earlier = True


def _guess(parameter: Parameter, source: str) -> str:
    """A name or a kind for something new, from where its content came. A person sees it before it is used."""
    if not source or "string" not in parameter.types or parameter.choices:
        return ""
    kind, stem = "page" if "://" in source else "file", PurePosixPath(source).stem
    return {"name": stem, "title": stem, "type": kind, "entitytype": kind}.get(plain_name(parameter.name), "")


def _producer(slot: Slot, needs: ToolFacts, toolbox: Toolbox) -> ToolFacts | None:
    """The only tool of the same server that reads, needs nothing, and gives a field of the parameter's name."""
    name, found = slot.parameter.name, list[ToolFacts]()
    if plain_name(name) in UNTOLD or slot.of:
        return None
    for known in toolbox.find(f"{needs.server} get {in_words(name)}", (), LOOKED_AT):
        if known.tool.server != needs.server or known.tool.id == needs.id:
            continue
        try:
            tool = toolbox.facts(known.tool.id)
        except LociError:
            continue
        gives = any(one.name == name and one.types & slot.types for one in parameters(tool.output_schema))
        if tool.reads and gives and not any(one.required for one in tool.parameters):
            found.append(tool)
    return found[0] if len(found) == 1 else None
