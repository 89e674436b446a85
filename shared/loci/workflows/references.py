"""References in arguments: `$t1.result.items[0].name` stands for a part of the result of task `t1`."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from loci.core.errors import Refused
from loci.core.json import Json

ID: Final = r"[A-Za-z0-9_][A-Za-z0-9_-]*"
# A dash that no letter follows ends a reference: `$t1.result.from-$t1.result.to` has two.
_NAME: Final = r"[A-Za-z_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_STEPS: Final = rf"""(?:\.{_NAME}|\.[0-9]+|\[[0-9]+\]|\["[^"\]]*"\]|\['[^'\]]*'\])*"""
# `$$` is a dollar. Braces end a reference before text that would belong to it: `${t1.result}.txt`.
_TOKEN: Final = re.compile(
    rf"\$\$"
    rf"|\$\{{(?P<braced>{ID})\.result(?P<braced_path>{_STEPS})\}}"
    rf"|\$OUTPUT\[(?P<legacy>{ID})\](?P<legacy_path>{_STEPS})"
    rf"|\$(?P<plain>{ID})\.result(?![A-Za-z0-9_])(?P<path>{_STEPS})"
)
_BEGIN: Final = re.compile(rf"\$\$|\$\{{{ID}\.result(?![A-Za-z0-9_])|\$OUTPUT\[{ID}\]|\${ID}\.result(?![A-Za-z0-9_])")
_NEAR: Final = re.compile(
    rf"\$\$|\$(?!OUTPUT\[)(?P<task>{ID})(?:\.(?!result(?![A-Za-z0-9_]))[A-Za-z_][A-Za-z0-9_]{{0,40}}|\[)"
)
_WHOLE: Final = re.compile(rf"\$(?P<task>{ID})")
_WRITTEN: Final = re.compile(r"\S{1,80}")
_STEP: Final = re.compile(r"""\.([A-Za-z0-9_-]*[A-Za-z0-9_])|\[([0-9]+)\]|\["([^"\]]*)"\]|\['([^'\]]*)'\]""")

LARGEST: Final = 20_000_000
"""The most characters (JSON) that the references of one task stand for: results may double from task to task."""
MOST_DIGITS: Final = 9
"""The most digits of an index. No list is longer, and Python refuses to read numbers of thousands of digits."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A part of a task's result."""

    task: str
    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class TaskResults:
    """The results of tasks, by their ids."""

    values: Mapping[str, Json]
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts from which values were read."""

    def text(self, task: str) -> str | None:
        """The text that the result of the task is, where a text is wanted; None if it is no text."""
        match self.values[task]:
            case {"content": str(text), **more} if not more:
                return text
            case value:
                return self.texts.get(task, value if isinstance(value, str) else None)


WantsText = Callable[[tuple[str, ...], Json], bool]
"""True if the argument at this path is a text, and cannot be the given value."""


def as_it_is(path: tuple[str, ...], value: Json) -> bool:  # noqa: ARG001
    """Want a text nowhere."""
    return False


def references(value: Json) -> Iterator[Reference]:
    """All references in a value, at any depth."""
    for text in _texts(value):
        yield from (found for found in map(_reference, _TOKEN.finditer(text)) if found)


def has_reference(value: Json) -> bool:
    """True if the value stands for something that is known later."""
    return next(references(value), None) is not None


def broken_references(value: Json) -> Iterator[str]:
    """The parts of a value, at any depth, that begin like a reference but are not one: `$t1.result[-1]`."""
    for text in _texts(value):
        for begin in _BEGIN.finditer(text):
            token = _TOKEN.match(text, begin.start())
            is_closed = begin[0].startswith(("$$", "${"))
            if token is None or (text.startswith("[", token.end()) and not is_closed):
                yield cast("re.Match[str]", _WRITTEN.match(text, begin.start()))[0]


def near_references(value: Json) -> Iterator[tuple[str, str]]:
    """The texts that would refer to a task if they said `.result`, as `$t1.output`, and the ids that they name."""
    for text in _texts(value):
        if whole := _WHOLE.fullmatch(text):
            yield text, whole["task"]
        yield from ((near[0], near["task"]) for near in _NEAR.finditer(text) if near["task"] is not None)


def literal(text: str) -> str:
    """The text, written so that it stands for itself."""
    found = (next(look(text), None) for look in (references, broken_references, near_references))
    stands_for_more = "$$" in text or any(one is not None for one in found)
    return text.replace("$", "$$") if stands_for_more else text


def references_in_names(value: Json) -> Iterator[Reference]:
    """References in the names of fields, at any depth. Those stand for themselves."""
    for text in _names(value):
        yield from (found for found in map(_reference, _TOKEN.finditer(text)) if found)


def resolve(value: Json, results: TaskResults, wants_text: WantsText = as_it_is) -> Json:
    """The value with what its references stand for.

    A text that is nothing but a reference becomes the value itself, or its text if that is wanted.
    Raises `Refused` if a result does not have the part that is asked for, or if all of it is too large.
    """
    return _replace_in(value, _Parts(results, wants_text))


def preview(value: Json, results: TaskResults, wants_text: WantsText = as_it_is) -> Json:
    """The value with its references resolved as far as the results are known. Other references stay as written."""
    parts = _Parts(results, wants_text)

    def known(found: Reference, at: tuple[str, ...] | None) -> Json:
        if found.task not in results.values:
            return found.text
        try:
            return parts(found, at)
        except Refused:
            return found.text

    return _replace_in(value, known)


class _Parts:
    """Looks up the references of one task, and counts how large their parts are together."""

    def __init__(self, results: TaskResults, wants_text: WantsText) -> None:
        self._results = results
        self._wants_text = wants_text
        self._left = LARGEST

    def __call__(self, found: Reference, at: tuple[str, ...] | None) -> Json:
        """The part that the reference stands for. `at`: the path of its argument; None in the middle of a text."""
        part = _part(found, self._results.values[found.task])
        text = None if found.path else self._results.text(found.task)
        if text is not None and (at is None or self._wants_text(at, part)):
            part = text
        self._left -= len(part) if isinstance(part, str) else len(json.dumps(part))
        if self._left < 0:
            raise Refused(
                f"What its references stand for has more than {LARGEST:,} characters",
                "Refer to parts of the results",
                code="ARGUMENTS_TOO_LARGE",
            )
        return part


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from _texts(one)
        case dict():
            for one in value.values():
                yield from _texts(one)
        case _:
            return


def _names(value: Json) -> Iterator[str]:
    match value:
        case list():
            for one in value:
                yield from _names(one)
        case dict():
            yield from value
            for one in value.values():
                yield from _names(one)
        case _:
            return


StandsFor = Callable[[Reference, tuple[str, ...] | None], Json]


def _replace_in(value: Json, stands_for: StandsFor, at: tuple[str, ...] = ()) -> Json:
    match value:
        case str():
            return _text(value, stands_for, at)
        case list():
            return [_replace_in(one, stands_for, (*at, str(number))) for number, one in enumerate(value)]
        case dict():
            return {name: _replace_in(one, stands_for, (*at, name)) for name, one in value.items()}
        case _:
            return value


def _text(text: str, stands_for: StandsFor, at: tuple[str, ...]) -> Json:
    whole = _TOKEN.fullmatch(text)
    if whole and (found := _reference(whole)):
        return stands_for(found, at)

    def replaced(token: re.Match[str]) -> str:
        found = _reference(token)
        if found is None:
            return "$"
        part = stands_for(found, None)
        return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)

    return _TOKEN.sub(replaced, text)


def _reference(token: re.Match[str]) -> Reference | None:
    for name, path in (("braced", "braced_path"), ("legacy", "legacy_path"), ("plain", "path")):
        if token[name] is not None:
            steps = tuple(step[step.lastindex or 0] for step in _STEP.finditer(token[path]))
            return Reference(token[name], steps, token[0])
    return None


def _part(reference: Reference, result: Json) -> Json:
    part = result
    for step in reference.path:
        match part:
            case dict() if step in part:
                part = part[step]
            case list() if step.isdecimal() and len(step) <= MOST_DIGITS and int(step) < len(part):
                part = part[int(step)]
            case _:
                raise Refused(
                    f"{reference.text} stands for nothing: {_kind(part)} has no {step!r}",
                    f"The result of {reference.task} is {_outline(result)}"
                    if result is not None
                    else f"{reference.task} gave nothing, or failed",
                    code="UNRESOLVED_REFERENCE",
                )
    return part


def _kind(value: Json) -> str:
    match value:
        case dict():
            return f"an object with {', '.join([*value][:10]) or 'no fields'}"
        case list():
            return f"a list of {len(value)}"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a text"


def _outline(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
