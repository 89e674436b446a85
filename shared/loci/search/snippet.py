"""The lines of a passage that answer a question best, word for word."""

from collections.abc import Collection

from loci.search.words import places

ELLIPSIS = "…"


def snippet(text: str, words: Collection[str], room: int) -> str:
    """At most `room` characters of the text, where the most of the words are; a verbatim span but for its ends."""
    text = text.strip()
    if len(text) <= room:
        return text
    said = places(text, frozenset(words))

    def count(start: int) -> int:
        return len({word for word, begin, end in said if start <= begin and end <= start + room})

    start = max(_starts(text, room), key=lambda at: (count(at), -at))
    end = start + room
    head, tail = ELLIPSIS if start else "", ELLIPSIS if end < len(text) else ""
    span = text[start : end - len(head) - len(tail)]
    if tail and " " in span:
        span = span[: span.rindex(" ")]
    return f"{head}{span.strip()}{tail}"


def _starts(text: str, room: int) -> list[int]:
    """Where a window may begin: at words, a few to a window, and so that the last one ends with the text."""
    last, step = len(text) - room, max(1, room // 4)
    starts = [0]
    for at in range(step, last, step):
        space = text.find(" ", at, at + step)
        starts.append(at if space < 0 else space + 1)
    return [*starts, last]
