"""The parts of a document under their headings, ready to be made passages."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Literal

from loci.documents.content.outline import Outline, OutlinePart
from loci.documents.content.tags import TAGS_COMMENT
from loci.documents.document import Heading
from loci.search.passages import Block

TURNS_IN_A_ROW = 3
# "Ann:", "**Ann Lee:**", "[10:32] Ann:", "> Ann:", and then something said.
TURN = re.compile(
    r"(?:> ?)?(?:\[[^\]\n]{1,40}\] ?|\(?\d{1,2}:\d\d(?::\d\d)?\)? ?(?:[-–—] ?)?)?"  # noqa: RUF001
    r"(?:\*\*|__)?[^\W\d_][\w .'’-]{0,30}(?:\*\*|__)?: ?(?:\*\*|__)?\s*\S"  # noqa: RUF001
)


def blocks(lines: Sequence[str], outline: Outline, title: str | None) -> list[Block]:
    """Every part with its headings, outermost first; a `title` that is no heading is above them all."""
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    top = (title,) if title else ()
    code = {first for first, _ in outline.code}
    return [
        Block(starts[part.first], _end(lines, starts, part), (*top, *path), _kind(part, code, is_turn=is_turn))
        for path, under in groupby(_sections(lines, outline), key=lambda pair: pair[0])
        for part, is_turn in _turns(lines, [part for _, part in under])
    ]


def _sections(lines: Sequence[str], outline: Outline) -> Iterator[tuple[tuple[str, ...], OutlinePart]]:
    """The parts with their headings. A heading with nothing below it is a part itself: of the section above."""
    above: list[Heading] = []
    following = (*outline.parts, None)[1:]
    for part, following_part in zip(outline.parts, following, strict=True):
        if isinstance(part, Heading):
            while above and above[-1].level >= part.level:
                above.pop()
            nothing = following_part is None or (
                isinstance(following_part, Heading) and following_part.level <= part.level
            )
            if nothing:
                yield _path(above), OutlinePart(part.line - 1, part.line, "paragraph")
            above.append(part)
        elif not _is_tags(lines, part):
            yield _path(above), part


def _path(above: Sequence[Heading]) -> tuple[str, ...]:
    return tuple(heading.title for heading in above if heading.title)


def _turns(lines: Sequence[str], parts: Sequence[OutlinePart]) -> Iterator[tuple[OutlinePart, bool]]:
    """Each part, and whether it is a turn of a conversation; one whose turns are single lines comes in lines."""
    for is_turn, run in groupby(_lines_of_turns(lines, parts), key=lambda part: _is_turn(lines, part)):
        several = list(run)
        for part in several:
            yield part, is_turn and len(several) >= TURNS_IN_A_ROW


def _lines_of_turns(lines: Sequence[str], parts: Sequence[OutlinePart]) -> Iterator[OutlinePart]:
    for part in parts:
        every = range(part.first, part.behind)
        is_talk = part.kind == "paragraph" and len(every) >= TURNS_IN_A_ROW
        if is_talk and all(TURN.match(lines[at]) for at in every):
            yield from (OutlinePart(at, at + 1, "paragraph") for at in every)
        else:
            yield part


def _is_turn(lines: Sequence[str], part: OutlinePart) -> bool:
    return part.kind == "paragraph" and TURN.match(lines[part.first]) is not None


def _is_tags(lines: Sequence[str], part: OutlinePart) -> bool:
    """Whether the part is nothing but a comment with tags: those are marks, not text."""
    if part.kind != "lines" or not lines[part.first].startswith("<!--"):
        return False
    text = "\n".join(lines[part.first : part.behind]).strip()
    return text.endswith("-->") and TAGS_COMMENT.fullmatch(text[4:-3]) is not None and text.count("<!--") == 1


def _end(lines: Sequence[str], starts: Sequence[int], part: OutlinePart) -> int:
    """Behind the last character that is no space."""
    return starts[part.behind - 1] + len(lines[part.behind - 1].rstrip())


def _kind(part: OutlinePart, code: set[int], *, is_turn: bool) -> Literal["prose", "lines", "turn"]:
    if is_turn:
        return "turn"
    has_code = part.kind == "item" and any(line in code for line in range(part.first, part.behind))
    return "lines" if part.kind == "lines" or has_code else "prose"
