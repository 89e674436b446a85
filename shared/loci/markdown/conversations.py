"""Conversations: the lines on which their messages begin, by the headings or labels that name who speaks."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from loci.markdown.nouns import Heading, OutlinePart

ASKERS = frozenset(
    ("user", "human", "you", "me", "prompt", "benutzer", "nutzer", "usuario", "utilisateur", "пользователь", "用户")
)
ANSWERERS = frozenset(
    (
        "assistant",
        "claude",
        "chatgpt",
        "gpt",
        "ai",
        "bot",
        "model",
        "copilot",
        "gemini",
        "response",
        "asistente",
        "助手",
    )
)
OTHERS = frozenset(("system", "tool"))
FEWEST = 3
"""Messages with times that make a conversation."""
LONGEST_LABEL = 120
"""Characters of a line that are looked at."""
PROMPTS, ANSWERS = (">", "❯"), ("⏺", "●")  # noqa: RUF001
"""The signs before messages in a terminal's conversation that Claude Code exports."""
_AT = r"\d[\d/.,:T -]{2,24}(?<! )(?: ?[AaPp]\.?[Mm]\.?)?"
_NAME = r"[^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,3}"  # noqa: RUF001
# "Ann:", "Ann (10:32)", "[10:32] Ann: text", "12/03/24, 10:32 - Ann: text", "Ann  10:32 AM".
SPEAKER = re.compile(
    rf"(?:[\[(]?(?P<before>{_AT})[\])]?(?: ?[-–—])? )?(?P<name>{_NAME})"  # noqa: RUF001
    rf"(?: ?[-–—|,]? {{0,2}}[\[(]?(?P<after>{_AT})[\])]?)?(?P<end> ?[:：](?=\s|$)|$)"  # noqa: RUF001
)
CLOCK = re.compile(r"\d:\d\d")
BOLD_LINE = re.compile(r"(?:\*\*|__)[^*_]++:?(?:\*\*|__):?")


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a text: the lines of their starts, counted from 0, and the level of what is not in a message."""

    starts: tuple[int, ...] = ()
    level: int = 0
    """The deepest level of a heading outside. Headings inside a message are deeper."""
    with_model: bool = False
    """True if a person speaks with a model. Else people speak with each other."""


NO_MESSAGES = Messages()


@dataclass(frozen=True, slots=True)
class _Label:
    """A line or heading that may name a speaker."""

    line: int
    name: str
    is_timed: bool
    is_first: bool
    """True for the first line of a paragraph."""


def with_messages(
    lines: Sequence[str], parts: Sequence[Heading | OutlinePart]
) -> tuple[list[Heading | OutlinePart], Messages]:
    """The parts of a conversation cut where its messages begin, with the headings inside a message below it.

    The parts of another text stay as they are.
    """
    starts, level, with_model = _starts_in(lines, parts)
    if not starts:
        return list(parts), NO_MESSAGES
    split = [piece for part in parts for piece in _split(part, starts)]
    outside = {*_outside(split, starts, level)}
    levels = [one.level for one in split if isinstance(one, Heading) and one.line - 1 in outside]
    level = max((1, *levels))
    moved = [
        replace(one, level=level + one.level) if isinstance(one, Heading) and one.line - 1 not in outside else one
        for one in split
    ]
    return moved, Messages(tuple(sorted(starts)), level, with_model)


def _starts_in(lines: Sequence[str], parts: Sequence[Heading | OutlinePart]) -> tuple[Collection[int], int, bool]:
    """The lines on which messages begin, the level of the speakers' headings, or 0, and if a model speaks."""
    headings = [one for one in parts if isinstance(one, Heading)]
    for level in sorted({one.level for one in headings}):
        here = [one for one in headings if one.level == level]
        labels = [label for one in here if (label := _label(one.title, one.line - 1, True, is_alone=True))]
        # "Added" and "Fixed" come back below each version: these are sections of the headings above them.
        is_top = len(labels) == len(here) and all(one.level >= level for one in headings if one.line > here[0].line)
        roles = _roles(labels)
        if found := roles or _timed(labels, 2) or (_repeated(labels) if is_top else ()):
            return {one.line for one in found}, level, bool(roles)
    paragraphs = [one for one in parts if isinstance(one, OutlinePart) and one.kind == "paragraph"]
    if terminal := _in_a_terminal(lines, paragraphs):
        return terminal, 0, True
    labels = [
        label
        for part in paragraphs
        for at in range(part.first, part.end)
        if (
            label := _label(
                lines[at], at, at == part.first, is_alone=BOLD_LINE.fullmatch(lines[at].strip()) is not None
            )
        )
    ]
    roles = _roles(labels)
    found = roles or _timed(labels, FEWEST) or _talk(labels, parts)
    return {one.line for one in found}, 0, bool(roles)


def _label(line: str, at: int, is_first: bool, *, is_alone: bool) -> _Label | None:
    """The speaker that the line names. `is_alone`: a name without a colon or a time names one, too."""
    bare = line[:LONGEST_LABEL].translate(_PLAIN)
    if is_alone:
        bare = bare.rstrip(" :")
    found = SPEAKER.match(bare, next((n for n, one in enumerate(bare[:8]) if one.isalnum() or one in "[("), 0))
    if not found:
        return None
    is_timed = any(CLOCK.search(time) for time in (found["before"], found["after"]) if time)
    if not (found["end"] or is_timed or is_alone) or (not found["end"] and len(line) > LONGEST_LABEL):
        return None
    return _Label(at, found["name"].removesuffix(" said").casefold(), is_timed, is_first)


_PLAIN = str.maketrans({"*": None, "_": None, "`": None, "\u202f": " ", "\xa0": " ", "\u200e": None})


def _roles(labels: Sequence[_Label]) -> Sequence[_Label]:
    """The labels of roles, if a person and a model speak."""
    found = [one for one in labels if _is_role(one.name, ASKERS | ANSWERERS | OTHERS)]
    both = {_is_role(one.name, ASKERS) for one in found if not _is_role(one.name, OTHERS)}
    return found if len(both) > 1 else ()


def _is_role(name: str, roles: Collection[str]) -> bool:
    return name in roles or (name.partition("-")[0] in roles and "-" in name)


def _timed(labels: Sequence[_Label], fewest: int) -> Sequence[_Label]:
    """The labels with times, if there are several and a name comes back."""
    found = [one for one in labels if one.is_timed]
    return found if len(found) >= fewest and len(found) > len({one.name for one in found}) else ()


def _repeated(labels: Sequence[_Label]) -> Sequence[_Label]:
    """The labels, if several names come and each comes back."""
    names = Counter(one.name for one in labels)
    return labels if len(names) > 1 and min(names.values()) > 1 else ()


def _talk(labels: Sequence[_Label], parts: Sequence[Heading | OutlinePart]) -> Sequence[_Label]:
    """The labels of names that come back, if they begin more than half of the parts from their first to their last.

    No heading is among these: "Arguments:" and "Returns:" come back in each section.
    """
    first = [one for one in labels if one.is_first]
    names = {name for name, count in Counter(one.name for one in first).items() if count > 1}
    found = [one for one in first if one.name in names]
    if len(names) < 2:
        return ()
    start, end = found[0].line, found[-1].line
    among = [one for one in parts if start <= (one.line - 1 if isinstance(one, Heading) else one.first) <= end]
    is_one_section = not any(isinstance(one, Heading) for one in among)
    return found if is_one_section and 2 * len(found) > len(among) else ()


def _in_a_terminal(lines: Sequence[str], paragraphs: Sequence[OutlinePart]) -> Collection[int]:
    """The lines on which the other side begins to speak, if signs show the sides."""
    sides: list[tuple[int, bool]] = []
    for part in paragraphs:
        sign = lines[part.first].lstrip()[:1]
        if sign and sign in (*PROMPTS, *ANSWERS) and (not sides or sides[-1][1] != (sign in PROMPTS)):
            sides.append((part.first, sign in PROMPTS))
    has_answers = any(lines[part.first].lstrip()[:1] == ANSWERS[0] for part in paragraphs)
    return {at for at, _ in sides} if has_answers and len(sides) > 1 else ()


def _split(part: Heading | OutlinePart, starts: Collection[int]) -> Iterator[Heading | OutlinePart]:
    if isinstance(part, Heading):
        yield part
        return
    inner = [at for at in range(part.first + 1, part.end) if at in starts] if part.kind == "paragraph" else []
    for first, end in pairwise((part.first, *inner, part.end)):
        yield OutlinePart(first, end, part.kind)


def _outside(parts: Sequence[Heading | OutlinePart], starts: Collection[int], level: int) -> Iterator[int]:
    """The lines of the headings that are in no message: those before the first, the speakers', those right above."""
    is_above, first = False, min(starts)
    for part in reversed(parts):
        if not isinstance(part, Heading):
            is_above = part.first in starts
        else:
            is_speaker = part.line - 1 in starts
            is_above = is_speaker or (is_above and (not level or part.level < level))
            if is_above or part.line - 1 < first:
                yield part.line - 1
