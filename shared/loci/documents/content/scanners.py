"""Scanners for what a regular expression would read in more than linear time: comments, code spans, brackets.

Each looks at a character a bounded number of times, however the text is written.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMMENT_START = "<!--"
COMMENT_END = "-->"
BACKTICKS = re.compile(r"`+")
RELATED_HEAD = re.compile(r"\[\s*+([A-Za-z_]++)\s*+:\s*+")
BLANK = re.compile(r"\s*+")
NOT_LINE_END = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of HTML, with its positions in the text."""

    start: int
    end: int
    inner: str
    """The text between `<!--` and `-->`."""

    @property
    def inner_start(self) -> int:
        return self.start + len(COMMENT_START)


class NextPlace:
    """Finds the next place of a string in a text. Asked for rising positions, it reads the text once."""

    def __init__(self, text: str, wanted: str) -> None:
        self._text = text
        self._wanted = wanted
        self._from, self._found = 0, -2

    def after(self, at: int) -> int:
        """The first place at or after this position; -1 if there is none."""
        is_known = self._from <= at and (self._found == -1 or at <= self._found)
        if not is_known:
            self._from, self._found = at, self._text.find(self._wanted, at)
        return self._found


def comments(text: str) -> Iterator[Comment]:
    """The comments of the text, in order. One that is never closed is none."""
    at = text.find(COMMENT_START)
    while at >= 0:
        end = text.find(COMMENT_END, at + len(COMMENT_START))
        if end < 0:
            return
        yield Comment(at, end + len(COMMENT_END), text[at + len(COMMENT_START) : end])
        at = text.find(COMMENT_START, end + len(COMMENT_END))


def without_comments(text: str) -> str:
    """The text without its comments."""
    if COMMENT_START not in text:
        return text
    parts, at = list[str](), 0
    for one in comments(text):
        parts.append(text[at : one.start])
        at = one.end
    return "".join((*parts, text[at:]))


def blanked_comments(text: str) -> str:
    """The text with spaces in place of its comments. Lines and positions stay."""
    if COMMENT_START not in text:
        return text
    parts, at = list[str](), 0
    for one in comments(text):
        parts += (text[at : one.start], NOT_LINE_END.sub(" ", text[one.start : one.end]))
        at = one.end
    return "".join((*parts, text[at:]))


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


def without_brackets(text: str) -> str:
    """The text without each `[` and what follows it up to the next `]`."""
    parts, at = list[str](), 0
    while (start := text.find("[", at)) >= 0 and (end := text.find("]", start)) >= 0:
        parts.append(text[at:start])
        at = end + 1
    return "".join((*parts, text[at:]))


def related(text: str) -> Iterator[tuple[int, str, str]]:
    """Each `[name: target]` with its position. The target ends with its line."""
    close, line_end = NextPlace(text, "]"), NextPlace(text, "\n")
    at = 0
    while head := RELATED_HEAD.search(text, at):
        begin = head.end()
        end = close.after(begin)
        if end < 0:
            return
        stop = line_end.after(begin)
        if 0 <= stop < end:
            blank = BLANK.match(text, stop)
            is_whole = blank is not None and blank.end() == end
        else:
            stop, is_whole = end, True
        target = text[begin:stop].strip() if is_whole else ""
        if target:
            yield head.start(), head[1], target
        at = end + 1 if target else head.start() + 1


def without_links(text: str) -> str:
    """The text with the label in place of each `[[target|label]]` and `[label](target)`."""
    close, bar, parenthesis = NextPlace(text, "]"), NextPlace(text, "|"), NextPlace(text, ")")
    parts, at, start = list[str](), 0, text.find("[")
    while start >= 0 and (end := close.after(start + 1)) >= 0:
        label, following = "", 0
        if text.startswith("[[", start) and text.startswith("]]", end):
            cut = bar.after(start + 2)
            begin = cut + 1 if 0 <= cut < end else start + 2
            if text.find("|", begin, end) < 0:
                label, following = text[begin:end], end + 2
        if not following and text.startswith("](", end) and (last := parenthesis.after(end + 2)) >= 0:
            label, following = text[start + 1 : end], last + 1
        if following:
            first = start - (text[start - 1 : start] == "!" and start > at)
            parts += (text[at:first], label)
            at = following
        start = text.find("[", following or start + 1)
    return "".join((*parts, text[at:]))
