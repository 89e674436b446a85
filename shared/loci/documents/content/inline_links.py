"""The links of a paragraph, as CommonMark defines them: found in one pass, however the text is written.

markdown-it finds the same ones, but looks ahead again for every bracket, quote and tag that nothing closes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markdown_it.common.normalize_url import normalizeLink, validateLink
from markdown_it.common.utils import normalizeReference, unescapeAll

LONGEST_TAG = 2_000
LONGEST_DESTINATION = 4_000
"""A longer one leads to no document."""
DEEPEST_PARENTHESES = 32
SPECIAL = re.compile(r"[\\`<\[\]]|!\[")
BRACKET = re.compile(r"[\[\]]")
BACKTICKS = re.compile(r"`+")
# Possessive throughout: nothing is read twice.
TAG = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9-]*+"
    r"(?:\s++[a-zA-Z_:][a-zA-Z0-9:._-]*+(?:\s*+=\s*+(?:[^\"'=<>`\x00-\x20]++|'[^']*+'|\"[^\"]*+\"))?+)*+\s*+/?>"
    r"|/[A-Za-z][A-Za-z0-9-]*+\s*+>"
    r"|[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*+>"
    r"|[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]++@[A-Za-z0-9.-]++>)"
)
# What else begins with `<`, and its end.
MARKUP = (("<!--", 2, "-->"), ("<![CDATA[", 9, "]]>"), ("<!", 3, ">"), ("<?", 2, "?>"))
SPACES = re.compile(r"[ \t\n]*+")
IN_ANGLES = re.compile(r"<((?:[^<>\n\\]|\\[\s\S])*+)>")
OF_DESTINATION = re.compile(r"[^\x00-\x20\x7f()\\]++|\\[^ ]|\\\Z|[()]")
TITLE = re.compile(
    r"\"(?:[^\"\\]|\\[\s\S])*+\"|'(?:[^'\\]|\\[\s\S])*+'|\((?:[^()\\]|\\[\s\S])*+\)",
)


@dataclass(frozen=True, slots=True)
class _Opener:
    """A `[` or `![` that may begin a link or an image."""

    at: int
    is_image: bool
    found: int
    """The number of links found before it."""
    inactive: int
    """The brackets before this one, counted from the bottom, that contain a link already."""

    @property
    def inner(self) -> int:
        return self.at + 1 + self.is_image


def inline_links(text: str, references: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[int, str]]:
    """The destination of each link in the text, and the number of line ends before the link."""
    line = counted = 0
    for at, destination in _InlineLinks(text, references).found():
        line += text.count("\n", counted, at)
        counted = at
        yield line, destination


def destinations(text: str) -> list[tuple[int, int, str]]:
    """The start and the end of each `(destination)` in the text, also of images, and what it means, decoded."""
    links = _InlineLinks(text, {})
    links.found()
    return links.places


class _InlineLinks:
    def __init__(self, text: str, references: Mapping[str, Mapping[str, str]]) -> None:
        self._text = text
        self._references = references
        self._open: list[_Opener] = []
        self._inactive = 0
        self._last_bracket = -1
        self._found: list[tuple[int, str]] = []
        self.places: list[tuple[int, int, str]] = []
        """The places in the text where their destinations are written."""
        self._absent = set[str]()
        """Ends of markup that no longer follow."""
        self._runs: dict[int, list[int]] = {}
        """The ends of the runs of backticks, by their length, the last first."""
        if "`" in text:
            for run in reversed([*BACKTICKS.finditer(text)]):
                self._runs.setdefault(run.end() - run.start(), []).append(run.end())

    def found(self) -> list[tuple[int, str]]:
        text, at = self._text, 0
        while special := SPECIAL.search(text, at):
            at = special.start()
            match special[0]:
                case "\\":
                    at += 2
                case "`":
                    at = self._after_code(at)
                case "<":
                    at = self._after_markup(at)
                case "]":
                    at = self._close(at)
                case mark:
                    self._open.append(_Opener(at, mark == "![", len(self._found), self._inactive))
                    at = special.end()
                    self._last_bracket = at - 1
        return self._found

    def _after_code(self, at: int) -> int:
        run = BACKTICKS.match(self._text, at)
        end = run.end() if run else at + 1
        ends = self._runs.get(end - at, [])
        while ends and ends[-1] <= end:
            ends.pop()
        return ends[-1] if ends else end

    def _after_markup(self, at: int) -> int:
        text = self._text
        for start, shortest, end in MARKUP:
            if text.startswith(start, at):
                if start == "<!" and not text[at + 2 : at + 3].isalpha():
                    break
                place = -1 if end in self._absent else text.find(end, at + shortest)
                if place < 0:
                    self._absent.add(end)
                    break
                return place + len(end)
        tag = TAG.match(text, at, at + LONGEST_TAG)
        return tag.end() if tag else at + 1

    def _close(self, at: int) -> int:
        """The position after the link or image that ends with this bracket; if there is none, after the bracket."""
        is_plain = bool(self._open) and self._last_bracket == self._open[-1].inner - 1
        self._last_bracket = at
        if not self._open:
            return at + 1
        opener = self._open.pop()
        is_active = opener.is_image or len(self._open) >= self._inactive
        self._inactive = min(self._inactive, len(self._open))
        if not is_active:
            return at + 1
        ended = self._inline(at + 1) or self._reference(opener, at, is_plain=is_plain)
        if ended is None:
            return at + 1
        end, destination = ended
        if opener.is_image:
            del self._found[opener.found :]
            self._inactive = min(opener.inactive, len(self._open))
        else:
            self._found.append((opener.at, destination))
            self._inactive = len(self._open)
        return end

    def _inline(self, at: int) -> tuple[int, str] | None:
        """The end and the destination of `(destination "title")`."""
        text = self._text
        if not text.startswith("(", at):
            return None
        at = self._after_spaces(at + 1)
        target = self._destination(at)
        destination, place = "", None
        if target is not None:
            end, written = target
            destination = normalizeLink(unescapeAll(written)) if len(written) <= LONGEST_DESTINATION else ""
            if not validateLink(destination):
                return None
            start = at + text.startswith("<", at)
            place = (start, end - (start > at), destination)
            at = self._after_spaces(end)
            if at != end and (title := TITLE.match(text, at)):
                at = self._after_spaces(title.end())
        if not text.startswith(")", at):
            return None
        if place:
            self.places.append(place)
        return at + 1, destination

    def _destination(self, at: int) -> tuple[int, str] | None:
        text = self._text
        if text.startswith("<", at):
            found = IN_ANGLES.match(text, at)
            return found and (found.end(), found[1])
        start, depth = at, 0
        while part := OF_DESTINATION.match(text, at):
            depth += (part[0] == "(") - (part[0] == ")")
            if depth < 0:
                break
            if depth > DEEPEST_PARENTHESES:
                return None
            at = part.end()
        return (at, text[start:at]) if at > start and depth <= 0 else None

    def _reference(self, opener: _Opener, at: int, *, is_plain: bool) -> tuple[int, str] | None:
        """The end and the destination of `[text][label]`, `[label][]` or `[label]`."""
        if not self._references:
            return None
        text, end, label = self._text, at + 1, ""
        if text.startswith("[", end) and (bracket := BRACKET.search(text, end + 1)):
            if bracket[0] == "[":
                return None
            label, end = text[end + 1 : bracket.start()], bracket.end()
        if not label and not is_plain:  # no definition has a bracket in its label
            return None
        known = self._references.get(normalizeReference(label or text[opener.inner : at]))
        return (end, known["href"]) if known else None

    def _after_spaces(self, at: int) -> int:
        spaces = SPACES.match(self._text, at)
        return spaces.end() if spaces else at
