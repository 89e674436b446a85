"""Readers of comments, code spans and brackets. Each takes time in proportion to the text, however it is written."""

import re
from collections.abc import Callable, Iterator

COMMENT_START = "<!--"
COMMENT_END = "-->"
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
BACKTICKS = re.compile(r"`+")
BRACKETS = re.compile(r"\[[^\]]*+\]")
NOT_LINE_END = re.compile(r"[^\n]")


def comments(text: str) -> Iterator[re.Match[str]]:
    """The comments of HTML in the text, in order; group 1 is the inner text. One that is never closed is none."""
    return COMMENT.finditer(text, 0, _closed(text, COMMENT_END))


def without_comments(text: str) -> str:
    """The text without its comments."""
    end = _closed(text, COMMENT_END)
    return COMMENT.sub("", text[:end]) + text[end:]


def blanked_comments(text: str) -> str:
    """The text with spaces in place of its comments. Lines and positions stay."""
    end = _closed(text, COMMENT_END)
    return COMMENT.sub(lambda one: NOT_LINE_END.sub(" ", one[0]), text[:end]) + text[end:]


def without_brackets(text: str) -> str:
    """The text without each `[` and what follows it up to the next `]`."""
    end = _closed(text, "]")
    return BRACKETS.sub("", text[:end]) + text[end:]


def _closed(text: str, sign: str) -> int:
    """The end of the last sign. A pattern that looks for the sign behind it would search in vain, again and again."""
    at = text.rfind(sign)
    return 0 if at < 0 else at + len(sign)


def without_code_spans(line: str, put: Callable[[str], str] = lambda _: "") -> str:
    """The line with `put(span)` in place of each `code` in it."""
    if "`" not in line:
        return line
    runs = [(found.start(), found.end()) for found in BACKTICKS.finditer(line)]
    places: dict[int, list[int]] = {}  # of the runs of each length, the last first
    for number in range(len(runs) - 1, -1, -1):
        places.setdefault(runs[number][1] - runs[number][0], []).append(number)
    parts, at, number = list[str](), 0, 0
    while number < len(runs):
        start, end = runs[number]
        same = places[end - start]
        while same and same[-1] <= number:
            same.pop()
        if same:
            number = same[-1]
            parts += (line[at:start], put(line[start : runs[number][1]]))
            at = runs[number][1]
        number += 1
    return "".join((*parts, line[at:]))
