"""Binds the parameters of a tool to what a step says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from loci.core.json import Json, JsonObject
from loci.search.words import index_words, query_words
from loci.workflows.entities import Given
from loci.workflows.fitting import LEAST, fit, shaped
from loci.workflows.parameters import FREE, Parameter, parameters, types_of
from loci.workflows.prior_steps import Step, carried, content_for, guessed, plain, same_field
from loci.workflows.references import literal
from loci.workflows.toolbox import ToolFacts

DEEPEST: Final = 3
_OBJECT: Final = re.compile(r"^\W*\w+\W+(?:(?:the|a|an|for|about|of|that)\s+)*", re.I)
_ABOUT: Final = re.compile(r"\b(?:for|about|on|named|called)\s+(?P<rest>\S.*)", re.I | re.S)
_NEGATED: Final = re.compile(r"\b(?:not|non|without|no)\W+")
_TAIL: Final = re.compile(r"(?<!\s)\s+(?:in|into|to|on|from|with|using|at|by|via)\s.*", re.I | re.S)


@dataclass(slots=True)
class Bound:
    """The bound parameters of a tool, and the missing ones."""

    arguments: JsonObject = field(default_factory=dict[str, Json])
    missing: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Names of required parameters, and why they have no value."""
    why: list[str] = field(default_factory=list[str])
    sure: float = 1.0
    used: list[Given] = field(default_factory=list[Given])
    spread: str = ""
    """The parameter that takes one value where the step names several."""
    required: int = 0
    after: set[str] = field(default_factory=set[str])
    """The tasks whose results it takes."""

    def put(self, name: str, value: Json, sure: float, why: str) -> None:
        self.arguments[name] = value
        self.sure = min(self.sure, sure)
        self.why.append(f"{name}: {why}")


def bind(tool: ToolFacts, step: Step) -> Bound:
    """The arguments that the step gives to the tool, and what it leaves open."""
    fields = parameters(tool.input_schema)
    only = fields[0].name if len(fields) == 1 and not fields[0].required and step.givens else None
    if only:  # it gets what the step names, as if it had to
        fields = [replace(fields[0], required=True)]
    bound = _bound(fields, tool, step, _split(fields, step.givens), 0)
    bound.missing = [one for one in bound.missing if one[0] != only]
    bound.required = sum(one.required for one in fields)
    return bound


def _split(fields: Sequence[Parameter], found: Sequence[Given]) -> list[Given]:
    """The values; `owner/repo` as two where the tool takes both."""
    names = {one.name for one in fields}
    left = list[Given]()
    for one in found:
        owner, _, repo = str(one.value).partition("/")
        if one.kind == "slug" and {"owner", "repo"} <= names:
            left += [replace(one, kind="named", value=value, name=name) for name, value in
                     (("owner", owner), ("repo", repo))]  # fmt: skip
        else:
            left.append(one)
    return left


def _bound(fields: Sequence[Parameter], tool: ToolFacts, step: Step, left: list[Given], depth: int) -> Bound:
    bound = Bound()
    _literals(fields, step, left, bound)
    texts = [given for given in left if given.kind == "quoted"]
    takers = [one for one in fields if one.required and one.name not in bound.arguments and one.takes_content]
    if len(texts) == len(left) == len(takers) == 1 and _is_text(takers[0]):
        _last_one(takers[0], step, left, bound)
    for one in fields:
        if one.name not in bound.arguments:
            _from_elsewhere(one, fields, tool, step, left, bound, depth)
    open_ones = [one for one in fields if one.required and one.name not in bound.arguments]
    if len(open_ones) == 1:
        _last_one(open_ones[0], step, left, bound)
    for one in open_ones:
        if one.name not in bound.arguments:
            taken = None if tool.reads else guessed(one, step.earlier)
            if taken:
                bound.put(one.name, taken.value, taken.sure, taken.why)
            elif not any(name.startswith(f"{one.name}[") for name, _ in bound.missing):
                bound.missing.append((one.name, _why_open(one)))
    return bound


def _literals(fields: Sequence[Parameter], step: Step, left: list[Given], bound: Bound) -> None:
    """Give each parameter the value that fits it best, the best fits first."""
    pairs = [
        (score, -at, -given.start, one, given)
        for at, one in enumerate(fields)
        for given in left
        if (score := fit(given, one, step)) >= LEAST
    ]
    for score, _, _, one, given in sorted(pairs, key=lambda pair: pair[:3], reverse=True):
        if one.name in bound.arguments or given not in left:
            continue
        same = [other for other in left if other.kind == given.kind and fit(other, one, step) >= LEAST]
        many = one.is_list and len(same) > 1
        values = [shaped(other, one.items if one.is_list else one.schema) for other in same or [given]]
        value: Json = values if one.is_list else shaped(given, one.schema)
        for other in same if one.is_list else [given]:
            left.remove(other)
            bound.used.append(other)
        bound.put(one.name, value, min(1.0, 0.75 + score / 20), "as the step says" if many or given.end else "context")
    spread = [one for one in fields if one.name in bound.arguments and one.required and not one.is_list]
    again = [one for one in spread if left and all(_is_more(other, one, step, bound) for other in left)]
    bound.spread = again[0].name if len(again) == 1 else ""


def _is_more(other: Given, parameter: Parameter, step: Step, bound: Bound) -> bool:
    """True if this is one more value of the kind that the parameter has already."""
    kinds = {given.kind for given in bound.used if given.value == bound.arguments[parameter.name]}
    return other.kind in kinds and fit(other, parameter, step) >= 4


def _from_elsewhere(
    one: Parameter,
    fields: Sequence[Parameter],
    tool: ToolFacts,
    step: Step,
    left: list[Given],
    bound: Bound,
    depth: int,
) -> None:
    """Choices, switches, the context, earlier results, defaults, and objects made of fields."""
    if (choice := _chosen(one, step)) is not None:
        bound.put(one.name, choice, 0.95, "as the step says")
        return
    if not one.required:
        return
    known = next((name for name in step.context if plain(name) == plain(one.name)), None)
    if known is not None and not isinstance(step.context[known], list | dict):
        value = step.context[known]
        bound.put(one.name, literal(value) if isinstance(value, str) else value, 0.95, "context")
        return
    has_content = any(other.takes_content for other in fields)
    taken = content_for(one, step.plain, step.earlier) if one.takes_content else None
    taken = taken or same_field(one, step.earlier)
    if taken is None and not (has_content and "path" in one.words):
        taken = carried(one, tool, step.text, step.earlier)
    if taken is not None:
        bound.put(one.name, taken.value, taken.sure, taken.why)
        bound.after |= {taken.task} - {""}
    elif "default" in one.schema:
        bound.put(one.name, one.schema["default"], 1.0, "its default")
    elif len(one.choices) == 1:
        bound.put(one.name, one.choices[0], 1.0, "the only choice")
    elif depth < DEEPEST:
        _object(one, tool, step, left, bound, depth)


def _object(one: Parameter, tool: ToolFacts, step: Step, left: list[Given], bound: Bound, depth: int) -> None:
    """An object, or a list of one, of the fields that the schema names."""
    is_list = one.is_list
    inner = parameters(one.items if is_list else one.schema, one.root)
    if not inner or not (is_list or one.takes("object")):
        return
    made = _bound(inner, tool, step, left, depth + 1)
    if made.missing:
        where = f"{one.name}[0]" if is_list else one.name
        bound.missing += [(f"{where}.{name}", why) for name, why in made.missing]
        if not is_list:
            bound.missing.append((f"{one.name}[", ""))  # reported already
        return
    if not made.arguments:
        return
    bound.put(one.name, [made.arguments] if is_list else made.arguments, made.sure, "; ".join(made.why))
    bound.used += made.used
    bound.after |= made.after


def _chosen(one: Parameter, step: Step) -> Json:
    """The choice, or the switch, that the step says in a word of its own."""
    words = index_words(step.plain)[1 if step.verb else 0 :]
    if one.choices:
        said = [choice for choice in one.choices if isinstance(choice, str) and len(choice) > 2 and
                (stems := index_words(choice)) and all(stem in words for stem in stems)]  # fmt: skip
        return said[0] if len(said) == 1 else None
    if one.is_switch and not one.required and one.words <= set(words) and step.verb not in one.words:
        said, name = step.plain.lower(), one.name.lower()
        return not any(said.startswith(name, found.end()) for found in _NEGATED.finditer(said))
    return None


def _last_one(one: Parameter, step: Step, left: list[Given], bound: Bound) -> None:
    """The only parameter that is open gets the only value that is left, or what the step is about."""
    if one.is_id or one.choices:
        return
    texts = [given for given in left if given.kind == "quoted" and _is_text(one)]
    if len(texts) == 1 and len(left) == 1:
        value = shaped(texts[0], one.schema)
        bound.put(one.name, [value] if one.is_list else value, 0.9, "the only text that the step names")
        left.remove(texts[0])
        bound.used.append(texts[0])
    elif one.is_free and not left and (rest := _rest(one, step)):
        bound.put(one.name, literal(rest), 0.8, "what the step is about")


def _is_text(one: Parameter) -> bool:
    return "string" in types_of(one.items) if one.is_list else one.takes("string")


def _rest(one: Parameter, step: Step) -> str:
    """The topic of the step: the words after a word such as `for`, else the words after its verb."""
    about = _ABOUT.search(step.text)
    if about and one.words & FREE and one.types:
        return about["rest"].strip(" .'\"")
    if one.types and one.words & set(index_words("query search q term keyword")):
        return ""
    rest = _TAIL.sub("", _OBJECT.sub("", step.text)).strip(" .")
    return rest if query_words(rest) and (not one.types or rest != step.text) else ""


def _why_open(one: Parameter) -> str:
    about = one.schema.get("description")
    told = f": {about[:120]}" if isinstance(about, str) and about else ""
    return f"the intent does not say it ({', '.join(sorted(one.types)) or 'any value'}{told})"
