"""Readers of comments, code spans and brackets. Each takes time in proportion to the text, however it is written."""

import re
from collections.abc import Callable, Iterator

COMMENT_START = "<!--"
COMMENT_END = "-->"
# What is never closed is a match, too, up to the end of the text: else each of its beginnings would be looked at anew.
COMMENT = re.compile(r"<!--(?:(.*?)-->|.*)", re.DOTALL)
BRACKETS = re.compile(r"\[[^\]]*+(\]?)")
BACKTICKS = re.compile(r"`+")
NOT_LINE_END = re.compile(r"[^\n]")


def comments(text: str) -> Iterator[re.Match[str]]:
    """The comments of HTML in the text, in order, without one that is never closed; group 1 is the inner text."""
    return (one for one in COMMENT.finditer(text) if one[1] is not None)


def without_comments(text: str) -> str:
    """The text without its comments."""
    return COMMENT.sub(lambda one: one[0] if one[1] is None else "", text)


def blanked_comments(text: str) -> str:
    """The text with spaces in place of its comments. Lines and positions stay."""
    return COMMENT.sub(lambda one: one[0] if one[1] is None else NOT_LINE_END.sub(" ", one[0]), text)


def without_brackets(text: str) -> str:
    """The text without each `[` and the characters up to the next `]`."""
    return BRACKETS.sub(lambda one: "" if one[1] else one[0], text)


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
