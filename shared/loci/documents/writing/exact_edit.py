"""An edit of a document that names the exact text to replace. It must occur exactly once."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from loci.core.errors import NotFound, Refused
from loci.documents.document import BOM
from loci.documents.writing.raw_text import UNDERLINE, RawText, checked, raw_text, with_line_feeds

SHOWN_PLACES = 10
"""Lines that an error names."""
SHOWN = 200
"""Characters of a line that an error quotes."""
MOST_SEARCHED = 1_000_000
"""Characters in which the nearest line is looked for. It takes 0.2 s."""
LEAST_LIKE = 0.5
"""The share of the text's pairs of letters that a line must have to be near it."""


def replace_exact(path: str, content: bytes, old: str, new: str) -> bytes:
    """The document with `new` in place of `old`. Every byte that is the same in both stays, line ends, too."""
    document = raw_text(content)
    wanted, wished = (with_line_feeds(one.removeprefix(BOM)) for one in (old, new))
    text = document.joined
    at = text.find(wanted)
    if at < 0:
        raise _no_such_text(path, document, wanted)
    if text.find(wanted, at + 1) >= 0:
        raise _ambiguous(path, text, wanted)
    if wanted == wished:
        return content
    same = _same(wanted, wished)
    rest = min(len(wanted), len(wished)) - same
    alike = _same(wanted[::-1][:rest], wished[::-1][:rest])
    first, last = at + same, at + len(wanted) - alike
    start, end = (document.position(one) for one in (first, last))
    changed = document.replace(start, end, wished[same : len(wished) - alike])
    above, below = text.count("\n", 0, first), text.count("\n", 0, last)
    # The line below a heading may be the rule that makes it one.
    is_rule = UNDERLINE.fullmatch(document.lines[above]) is not None
    return checked(path, document, changed, above - is_rule, below + 1)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of characters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _no_such_text(path: str, document: RawText, wanted: str) -> NotFound:
    lines = [line for line in wanted.split("\n") if line.strip()] or [wanted]
    held = set(document.lines)
    missing = next((line for line in lines if line not in held), lines[0])
    near = _nearest(document, missing)
    shown = f". The nearest to {_quoted(missing)} is line {near[0]}: {_quoted(near[1])}" if near else ""
    return NotFound(
        f"{path} does not have this text{shown}",
        "Read it again, and give `old` exactly as it is there, with all its spaces and line ends",
        code="NO_SUCH_TEXT",
    )


def _ambiguous(path: str, text: str, wanted: str) -> Refused:
    lines = [text.count("\n", 0, at) + 1 for at in _first_places(text, wanted)]
    times = max(text.count(wanted), len(lines))
    where = ", ".join(map(str, dict.fromkeys(lines)))
    more = ", …" if times > len(lines) else ""
    return Refused(
        f"{path} has this text {times} times, at lines {where}{more}",
        "Give more of the text around it, so that it occurs once",
        code="AMBIGUOUS_TEXT",
    )


def _first_places(text: str, wanted: str) -> Iterator[int]:
    at = -1
    for _ in range(SHOWN_PLACES):
        at = text.find(wanted, at + 1)
        if at < 0:
            return
        yield at


def _nearest(document: RawText, wanted: str) -> tuple[int, str] | None:
    """The line, or part of a long one, that has the most of the pairs of letters of the wanted text."""
    pairs = _pairs(wanted[:SHOWN])
    best, found, searched = LEAST_LIKE, None, 0
    for number, line in enumerate(document.lines, 1):
        searched += len(line)
        if searched > MOST_SEARCHED or not pairs:
            break
        for begin in range(0, max(1, len(line) - SHOWN // 2), SHOWN // 2):
            part = line[begin : begin + SHOWN]
            other = _pairs(part)
            like = 2 * len(pairs & other) / (len(pairs) + len(other)) if len(line) <= SHOWN else _share(pairs, other)
            if like > best:
                best, found = like, (number, part)
    return found


def _pairs(text: str) -> set[str]:
    plain = " ".join(text.casefold().split())
    return {plain[at : at + 2] for at in range(len(plain) - 1)} or ({plain} if plain else set())


def _share(pairs: set[str], other: set[str]) -> float:
    return len(pairs & other) / len(pairs)


def _quoted(line: str) -> str:
    return f"“{line}”" if len(line) <= SHOWN else f"“{line[:SHOWN]}…”"
