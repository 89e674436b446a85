"""Cuts the snippet out of a passage: the span with most of the question's words, word for word."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from loci.search.words import word_positions

ELLIPSIS = "…"
LEAST_KEPT = 2 / 3
"""A snippet ends with a word if this share of it stays: a link may be longer than that."""


def snippet(text: str, words: Collection[str], room: int) -> str:
    """The part of the text with most of the words, at most `room` characters: verbatim, with an ellipsis for a cut."""
    return cut_out(text, *span(text, words, room))


def beginning(text: str, most: int) -> str:
    """The beginning of the text, at most this many characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + ELLIPSIS


def ending(text: str, most: int) -> str:
    """The end of the text, at most this many characters."""
    return text if len(text) <= most else ELLIPSIS + text[len(text) - most + 1 :]


def cut_out(text: str, begin: int, end: int) -> str:
    """The text from `begin` to `end`, with an ellipsis on each side where text is cut off."""
    return f"{ELLIPSIS if text[:begin].strip() else ''}{text[begin:end]}{ELLIPSIS if text[end:].strip() else ''}"


def span(text: str, words: Collection[str], room: int, *, centred: bool = False) -> tuple[int, int]:
    """The start and the end of a snippet in its text. There is room for an ellipsis on both sides of a cut.

    Of equal ones the first; or, if it is to be `centred`, the one with the words in its middle: what they are about may
    stand behind the last of them.
    """
    before = len(text) - len(text.lstrip())
    start, end = _span(text.strip(), words, room, centred=centred)
    return before + start, before + end


def _span(text: str, words: Collection[str], room: int, *, centred: bool) -> tuple[int, int]:
    if len(text) <= room:
        return 0, len(text)
    positions = sorted(word_positions(text, frozenset(words)), key=lambda one: one[1])
    start = _best_start(_starts(text, room), positions, room, centred=centred)
    end = start + room
    head, tail = ELLIPSIS if start else "", ELLIPSIS if end < len(text) else ""
    if not tail:  # what is cut off makes room at the beginning, or the end would need an ellipsis, too
        start += len(head)
        head = ""
    found = text[start : end - len(head) - len(tail)]
    if tail and (end := max(found.rfind(" "), found.rfind("\n"))) > LEAST_KEPT * len(found):
        found = found[:end]
    begin = start + len(found) - len(found.lstrip())
    return begin, begin + len(found.strip())


def _best_start(starts: Iterable[int], positions: Sequence[tuple[str, int, int]], room: int, *, centred: bool) -> int:
    """The start of the window with most of the words; of equal ones the first, or the one with them in its middle.

    The starts rise, and so do the positions.
    """
    every = len({word for word, _, _ in positions})
    best, most, least_off = 0, 0, 0.0
    first = behind = 0  # of the words that begin in the window
    for start in starts:
        while first < len(positions) and positions[first][1] < start:
            first += 1
        while behind < len(positions) and positions[behind][1] < start + room:
            behind += 1
        if first == len(positions) or (most == every and not centred):
            break
        if behind - first < most or first == behind:
            continue
        found = [(word, begin) for word, begin, end in positions[first:behind] if end <= start + room]
        count = len({word for word, _ in found})
        if count < most or not found:
            continue
        off = abs(start + room / 2 - sum(begin for _, begin in found) / len(found)) if centred else 0.0
        if count > most or off < least_off:
            best, most, least_off = start, count, off
    return best


def _starts(text: str, room: int) -> Iterator[int]:
    """The positions where a window may begin: at words, a few to a window. The last window ends with the text."""
    last, step = len(text) - room, max(1, room // 4)
    yield 0
    for at in range(step, last, step):
        space = text.find(" ", at, at + step)
        yield min(at if space < 0 else space + 1, last)
    yield last
