"""Binds the parameters of a tool to what a step says, each only if one way alone fits."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Final

from loci.core.errors import LociError
from loci.core.json import Json, JsonObject
from loci.gateway.tool_words import plain_name
from loci.search.words import SEAM, index_words
from loci.workflows.intent import GivenValue, Kind
from loci.workflows.parameters import CONTENT, FREE, IDS, Parameter, parameters, types_of
from loci.workflows.references import literal
from loci.workflows.toolbox import Toolbox, ToolFacts

DEEPEST: Final = 3
LOOKED_AT: Final = 10
LONGEST: Final = 120
NAMED, SPOKEN, NEARBY, OF_KIND, ANY_TEXT = 5, 4, 3, 2, 1
"""How a value fits a parameter: by its name, by the word beside it or one nearby, by its form, or by its type."""


def _words(text: str) -> frozenset[str]:
    return frozenset(index_words(text))


HOMES: Final[dict[Kind, frozenset[str]]] = {
    "url": _words("url urls uri link href website"),
    "email": _words("email emails mail to cc bcc recipient recipients assignee user attendees account"),
    "date": _words("date day since until after before start end due timestamp min max"),
    "time": _words("time"),
    "glob": _words("pattern glob patterns"),
    "path": _words(
        "path paths file files filename filepath directory folder dir source destination src dest csv image"
    ),
    "slug": _words("repository slug timezone zone project"),
    "key": _words("id ids key keys issue ticket sha revision commit"),
}
"""Words in the names of the parameters that take such values."""
OF_FOLDERS: Final = _words("repository repo directory folder dir root workspace")
OF_FILES: Final = _words("file files filename csv image document")
FORMATS: Final = {("url", "uri"), ("email", "email"), ("date", "date"), ("date", "date-time")}
ZONES: Final = _words("timezone zone")
SEARCHED: Final = _words("query q search term keyword")
SCOPES: Final = _words("owner repo repository project path channel board issue database id key number")
COMMON: Final = frozenset({"name", "id", "type", "content", "text", "title", "status", "result", "message", "data"})
"""Names of fields that say nothing about what is in them."""
EARLIER: Final = re.compile(
    r"\b(?:its|their|this|that|these|those|the)\s+(?:contents?|texts?|results?|outputs?|answers?|responses?)\b"
    r"|\b(?:its|their)\s+(?P<noun>\w+)|\b(?:it|them|the same|there|what was \w+)\b|\b(?:that|this|those)\s+\w+",
    re.I,
)
"""Words that speak of what a step before gave, or was about."""
_TOPIC: Final = re.compile(r"\b(?:for|about|on)\s+(?P<rest>\S.*)", re.I | re.S)


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


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an intent."""

    text: str
    plain: str
    """The text without the values that it names."""
    worded: str
    """The text for a search of tools."""
    values: tuple[GivenValue, ...]
    earlier: tuple[Earlier, ...]

    @property
    def speaks_of_earlier(self) -> bool:
        return bool(EARLIER.search(self.plain))


@dataclass(slots=True)
class Bound:
    """The bound arguments of a tool, and the parameters that are open."""

    arguments: JsonObject = field(default_factory=dict[str, Json])
    missing: dict[str, str] = field(default_factory=dict[str, str])
    """The required parameters that have no value, each with what it takes."""
    why: list[str] = field(default_factory=list[str])
    used: list[GivenValue] = field(default_factory=list[GivenValue])
    spread: list[JsonObject] = field(default_factory=list[JsonObject])
    """The arguments of further tasks, for a parameter that takes one of the several values that the step names."""
    before: "list[Producer]" = field(default_factory=list["Producer"])
    takes_earlier: bool = False
    words: set[str] = field(default_factory=set[str])
    """The stems of the names of what is bound, and of the words that were bound."""

    def uses(self, value: GivenValue) -> bool:
        """True if the value, or a part of it, is among the arguments."""
        return any(one == value or (value.end and one.end == value.end) for one in self.used)


@dataclass(frozen=True, slots=True)
class Producer:
    """A call that only reads, whose result has what a parameter needs."""

    tool: ToolFacts
    arguments: JsonObject
    parameter: str
    field: str


@dataclass(frozen=True, slots=True, eq=False)
class _Slot:
    """A place for a value in the arguments of a tool."""

    at: tuple[str | int, ...]
    parameter: Parameter
    required: bool

    @property
    def label(self) -> str:
        return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in self.at).lstrip(".")

    @property
    def types(self) -> frozenset[str]:
        return types_of(self.parameter.items) if self.parameter.is_list else self.parameter.types


def bind(tool: ToolFacts, step: Step, toolbox: Toolbox | None = None) -> Bound:
    """The arguments that the step gives to the tool. `toolbox`: also tools of its server that give what it needs."""
    slots = [*_slots(parameters(tool.input_schema))]
    if len(slots) == 1 and step.values:  # it gets what the step names, as if it had to
        slots = [replace(slots[0], required=slots[0].required or not slots[0].parameter.choices)]
    needed = {one.label for one in _slots(parameters(tool.input_schema)) if one.required}
    bound, free = Bound(), dict.fromkeys(slots)
    _choices(step, tool, free, bound)
    left = _parted(step.values, free)
    _values((NAMED, SPOKEN, NEARBY, OF_KIND), left, free, bound)
    for one in [one for one in free if one.required]:
        if taken := _carried(one.parameter, tool, step):
            bound.takes_earlier = True
            _put(bound, free, one, *taken)
    _values((ANY_TEXT,), left, free, bound)
    for one in [one for one in free if one.required]:
        _from_elsewhere(one, [other for other in free if other.required], step, bound, free)
    for one in [one for one in free if one.label in needed]:
        if toolbox is not None and (made := _produced(one, tool, step, toolbox)):
            bound.before.append(made)
            bound.words |= one.parameter.words
        elif bound.takes_earlier and not tool.reads and (guess := _guessed(one.parameter, step.earlier)):
            _put(bound, free, one, *guess)
        else:
            bound.missing[one.label] = f"the intent does not say it ({one.parameter.told(LONGEST)})"
    return bound


def _slots(
    fields: Sequence[Parameter], at: tuple[str | int, ...] = (), *, required: bool = True, depth: int = 0
) -> Iterator[_Slot]:
    for one in fields:
        inner = parameters(one.items if one.is_list else one.schema, one.root) if depth < DEEPEST else []
        if inner and one.required and (one.is_list or one.takes("object")):
            place = (*at, one.name, 0) if one.is_list else (*at, one.name)
            yield from _slots(inner, place, required=required and one.required, depth=depth + 1)
        else:
            yield _Slot((*at, one.name), one, required and one.required)


def _put(bound: Bound, free: dict[_Slot, None], slot: _Slot, value: Json, why: str) -> None:
    place: Any = bound.arguments
    for step, following in zip(slot.at, (*slot.at[1:], None), strict=True):
        made: Any = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(step, str):
            place = place.setdefault(step, made)
        else:
            if not place:
                place.append(made)
            place = place[step]
    bound.why.append(f"{slot.label}: {why}")
    bound.words |= slot.parameter.words
    free.pop(slot, None)


def _choices(step: Step, tool: ToolFacts, free: dict[_Slot, None], bound: Bound) -> None:
    """A value of a choice that the step says in a word of its own, which is none of the tool's name."""
    said = _words(step.plain) - _words(SEAM.sub(" ", tool.id))
    for slot in [*free]:
        found = [one for one in slot.parameter.choices if isinstance(one, str) and len(one) > 2]
        found = [one for one in found if (stems := _words(one)) and stems <= said]
        if len(found) == 1:
            bound.words |= _words(found[0])
            _put(bound, free, slot, found[0], "as the step says")


def _values(fits: Sequence[int], left: list[GivenValue | None], free: dict[_Slot, None], bound: Bound) -> None:
    """Bind each value to the only parameter that it fits, the best fits first."""
    for fit in fits:
        again = True
        while again:
            again, claims = False, {at: _claimed(one, free, fit) for at, one in enumerate(left) if one is not None}
            for slot in [*free]:
                takers = [at for at, slots in claims.items() if slots == [slot]]
                if takers and _take(slot, takers, left, free, bound):
                    again = True
                    break
        for at, slots in {at: _claimed(one, free, fit) for at, one in enumerate(left) if one is not None}.items():
            if slots:  # it fits several: a worse fit would be a guess
                left[at] = None


def _claimed(value: GivenValue, free: Mapping[_Slot, None], fit: int) -> list[_Slot]:
    slots = [one for one in free if _fit(value, one) == fit and (one.required or fit >= OF_KIND)]
    return [one for one in slots if one.required] or slots


def _take(
    slot: _Slot, takers: Sequence[int], left: list[GivenValue | None], free: dict[_Slot, None], bound: Bound
) -> bool:
    """Give the slot these values; False if it takes one and they are not alike."""
    values = [one for at in takers if (one := left[at]) is not None]
    if len({one.kind for one in values}) > 1 or (len({one.row for one in values}) > 1 and not slot.parameter.is_list):
        return False
    shapes = [_shaped(one, slot) for one in values]
    why = "of the context" if values[0].start == values[0].end else "as the step says"
    _put(bound, free, slot, shapes if slot.parameter.is_list else shapes[0], why)
    bound.spread += [] if slot.parameter.is_list else [{str(slot.at[0]): one} for one in shapes[1:]]
    for at in takers:
        left[at] = None
    bound.used += values
    bound.words |= {word for one in values for word in index_words(SEAM.sub(" ", one.name))}
    return True


def _parted(values: Sequence[GivenValue], slots: Mapping[_Slot, None]) -> list[GivenValue | None]:
    """The values; `owner/repo` as two where the tool takes both. It may look like a file: `vercel/next.js`."""
    names, left = {one.parameter.name for one in slots}, list[GivenValue | None]()
    takes_files = any(one.parameter.words & HOMES["path"] for one in slots)
    for one in values:
        owner, _, repo = str(one.value).partition("/")
        is_slug = one.kind == "slug" or (one.kind == "path" and not takes_files and owner.isalnum() and "/" not in repo)
        if is_slug and repo and {"owner", "repo"} <= names:
            left += [
                replace(one, kind="named", name=name, value=part) for name, part in (("owner", owner), ("repo", repo))
            ]
        else:
            left.append(one)
    return left


def _fit(value: GivenValue, slot: _Slot) -> int:
    """How the value fits, from 0: not at all."""
    one, types, kind = slot.parameter, slot.types, value.kind
    if not _has_type(value, slot, types) or (one.choices and value.value not in one.choices):
        return 0
    if kind == "time" and one.words & ZONES:
        return 0
    if value.name and plain_name(value.name) == plain_name(one.name):
        return NAMED
    if kind == "named" or (kind == "path" and one.words & (frozenset() if value.is_file else OF_FILES)):
        return 0
    if (kind == "path" and not value.is_folder and one.words & OF_FOLDERS) or (
        kind not in ("key", "number", "email") and one.is_id and not value.cues & IDS  # a name is no id
    ):
        return 0
    spoken = SPOKEN if value.cues & one.words else NEARBY if value.further & one.words else 0
    home = bool(HOMES.get(kind, frozenset()) & one.words) or (kind, one.schema.get("format")) in FORMATS
    if kind in ("quoted", "number"):
        other = any(words & one.words for words in HOMES.values())
        return spoken or (ANY_TEXT if not other and (kind == "quoted" or "string" not in types) else 0)
    return spoken or (OF_KIND if home else ANY_TEXT if one.words & FREE and not one.choices else 0)


def _has_type(value: GivenValue, slot: _Slot, types: frozenset[str]) -> bool:
    if not types:
        return not slot.parameter.items.get("properties")
    match value.value:
        case bool():
            return "boolean" in types
        case int() | float():
            spoken = bool((value.cues | value.further) & slot.parameter.words)
            return bool(types & {"number", "integer"}) or ("string" in types and (value.kind == "named" or spoken))
        case str():
            return "string" in types
        case _:
            return False


def _shaped(value: GivenValue, slot: _Slot) -> Json:
    """The value as the parameter takes it."""
    given, types = value.value, slot.types
    if isinstance(given, int | float) and not isinstance(given, bool) and [*types] == ["string"]:
        return str(given)
    return literal(given) if isinstance(given, str) else given


def _from_elsewhere(slot: _Slot, required: Sequence[_Slot], step: Step, bound: Bound, free: dict[_Slot, None]) -> None:
    """What an earlier task gave, what the step is about, a default, the only choice."""
    one = slot.parameter
    contents = [other for other in required if other.parameter.takes_content]
    if slot in contents and len(contents) == 1 and (taken := _content(one, step)):
        bound.takes_earlier = True
        return _put(bound, free, slot, *taken)
    if taken := _same_field(one, step):
        bound.takes_earlier = True
        return _put(bound, free, slot, *taken)
    topic = _TOPIC.search(step.text)
    if one.words & SEARCHED and one.takes("string") and not step.values and topic:
        rest = topic["rest"].strip(" .'\"")
        bound.words |= _words(rest)
        return _put(bound, free, slot, literal(rest), "what the step is about")
    if "default" in one.schema:
        return _put(bound, free, slot, one.schema["default"], "its default")
    if len(one.choices) == 1:
        return _put(bound, free, slot, one.choices[0], "the only choice")
    return None


def _content(parameter: Parameter, step: Step) -> tuple[Json, str] | None:
    """The result that `its content` means, in the shape that the parameter takes."""
    found, earlier = EARLIER.search(step.plain), step.earlier
    if not found or not earlier or parameter.choices:
        return None
    of = earlier[-1]
    if len(earlier) > 1 and found[0].lower().startswith("their") and earlier[-2].tool == of.tool:
        return None  # it means several
    name, kind = _field(of.output, (found["noun"] or "").lower())
    reference = f"${of.id}.result" + (f".{name}" if name else "")
    why = f"what {of.id} gives ({found[0].strip()})"
    if not parameter.types or not kind or parameter.takes(kind):
        return ([reference] if parameter.is_list and not kind else reference), why
    text = reference if kind == "string" else f"{reference}\n"  # inside a longer text, a value is written as JSON
    if parameter.takes("string"):
        return text, why
    return ([text], why) if parameter.takes("array") and "string" in types_of(parameter.items) else None


def _field(output: JsonObject | None, noun: str) -> tuple[str, str]:
    """The field of the result that is meant, and its type; empty if all of it is, or it is not known."""
    fields = parameters(output or {})
    if not fields:
        return "", next(iter(types_of(output)), "") if output else ""
    named = [one for one in fields if noun and plain_name(one.name).rstrip("s") == noun.rstrip("s")]
    contents = [one for one in fields if one.words & CONTENT]
    for found in (named, fields, contents):
        if len(found) == 1:
            return found[0].name, next(iter(found[0].types), "")
    return "", "object"


def _same_field(parameter: Parameter, step: Step) -> tuple[Json, str] | None:
    """The field of the only earlier result that has one of the parameter's name."""
    name = plain_name(parameter.name)
    found = [
        (f"${of.id}.result.{one.name}", f"the {one.name} that {of.id} gives")
        for of in step.earlier
        for one in parameters(of.output or {})
        if plain_name(one.name) == name and (not parameter.types or parameter.types & one.types)
    ]
    return found[0] if len(found) == 1 and name not in COMMON else None


def _carried(parameter: Parameter, tool: ToolFacts, step: Step) -> tuple[Json, str] | None:
    """The value with which earlier tasks of the same server were called: `that issue` is the same one."""
    if not step.speaks_of_earlier or not parameter.words & SCOPES:
        return None
    server = tool.id.partition(":")[0]
    found = [
        (value, f"as for {of.id}")
        for of in step.earlier
        if of.tool.partition(":")[0] == server and isinstance(value := of.arguments.get(parameter.name), str | int)
    ]
    return found[-1] if len({one for one, _ in found}) == 1 else None


def _produced(slot: _Slot, needs: ToolFacts, step: Step, toolbox: Toolbox) -> Producer | None:
    """The only tool of the same server that reads, needs nothing unknown, and gives a field of the parameter's name."""
    server, name = needs.id.partition(":")[0], slot.parameter.name
    if plain_name(name) in COMMON or len(slot.at) > 1:
        return None
    found = list[Producer]()
    for known in toolbox.find(f"{server} get {SEAM.sub(' ', name)}", (), LOOKED_AT):
        if known.tool.server != server or known.tool.id == needs.id:
            continue
        try:
            tool = toolbox.facts(known.tool.id)
        except LociError:
            continue
        fields = [one for one in parameters(tool.output_schema or {}) if plain_name(one.name) == plain_name(name)]
        if tool.reads and fields and (slot.types & fields[0].types) and not (made := bind(tool, step)).missing:
            found.append(Producer(tool, made.arguments, name, fields[0].name))
    return found[0] if len(found) == 1 else None


def _guessed(parameter: Parameter, earlier: Sequence[Earlier]) -> tuple[Json, str] | None:
    """A name or a kind for something new, from where its content came. A person sees it before it is used."""
    source = next((of.source for of in reversed(earlier) if of.source), "")
    if not source or not parameter.takes("string") or parameter.choices:
        return None
    if plain_name(parameter.name) in ("name", "title", "entityname"):
        return PurePosixPath(source.rstrip("/")).stem or source, f"after {source}"
    if plain_name(parameter.name).endswith("type"):
        return "page" if "://" in source else "file", f"what {source} is"
    return None
