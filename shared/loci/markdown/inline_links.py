"""The links of a paragraph, as CommonMark defines them: found in one pass, however the text is written.

markdown-it finds the same ones, but looks ahead again for every bracket and quote that nothing closes. Links inside of
links, of pictures and of tags count here, too.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markdown_it.common.normalize_url import normalizeLink, validateLink
from markdown_it.common.utils import normalizeReference, unescapeAll

LONGEST_DESTINATION = 4_000
"""A longer one leads to no document."""
DEEPEST_PARENTHESES = 32
SPECIAL = re.compile(r"\\|`+|!?\[|\]")
BRACKET = re.compile(r"[\[\]]")
BACKTICKS = re.compile(r"`+")
# Possessive throughout: nothing is read twice.
SPACES = re.compile(r"[ \t\n]*+")
IN_ANGLES = re.compile(r"<((?:[^<>\n\\]|\\[\s\S])*+)>")
OF_DESTINATION = re.compile(r"[^\x00-\x20\x7f()\\]++|\\[^ ]|\\\Z|[()]")
TITLE = re.compile(r"\"(?:[^\"\\]|\\[\s\S])*+\"|'(?:[^'\\]|\\[\s\S])*+'|\((?:[^()\\]|\\[\s\S])*+\)")


@dataclass(frozen=True, slots=True)
class InlineLink:
    """A link or an image. Positions count in the text."""

    at: int
    destination: str
    """The address that it means, decoded."""
    is_image: bool
    place: tuple[int, int] | None
    """The start and the end of the destination in the text; None if it is not written there."""


def inline_links(text: str, references: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[int, str]]:
    """The destination of each link in the text, and the number of line ends before the link."""
    line = counted = 0
    for link in sorted(found_links(text, references), key=lambda one: one.at):
        if not link.is_image:
            line += text.count("\n", counted, link.at)
            counted = link.at
            yield line, link.destination


def found_links(text: str, references: Mapping[str, Mapping[str, str]]) -> Iterator[InlineLink]:
    """The links and images in the text, by their ends. A definition `[label]: path` is in `references`."""
    runs: dict[int, list[int]] = {}  # the ends of the runs of backticks, by their length, the last first
    for run in reversed([*BACKTICKS.finditer(text)] if "`" in text else []):
        runs.setdefault(run.end() - run.start(), []).append(run.end())
    open_brackets: list[tuple[int, bool]] = []
    at, last_bracket = 0, -1
    while special := SPECIAL.search(text, at):
        start, at = special.span()
        match special[0]:
            case "\\":
                at += 1
            case "[" | "![" as mark:
                open_brackets.append((start, mark == "!["))
                last_bracket = at - 1
            case "]":
                if open_brackets:
                    opener, is_image = open_brackets.pop()
                    # No definition has a bracket in its label.
                    label = text[opener + 1 + is_image : start] if last_bracket == opener + is_image else ""
                    if target := _inline(text, at) or _by_reference(text, at, label, references):
                        at, destination, place = target
                        yield InlineLink(opener, destination, is_image, place)
                last_bracket = start
            case _:  # backticks, which begin code if as many follow
                ends = runs.get(at - start, [])
                while ends and ends[-1] <= at:
                    ends.pop()
                at = ends[-1] if ends else at


Target = tuple[int, str, tuple[int, int] | None]
"""The end of a link, and its destination with the place where it is written."""


def _inline(text: str, at: int) -> Target | None:
    """The target in `(destination "title")`."""
    if not text.startswith("(", at):
        return None
    at = _after_spaces(text, at + 1)
    destination = ""
    if place := _place_of_destination(text, at):
        start, end = place
        written = text[start:end]
        destination = normalizeLink(unescapeAll(written)) if len(written) <= LONGEST_DESTINATION else ""
        if not validateLink(destination):
            return None
        end += start > at  # the closing angle
        at = _after_spaces(text, end)
        if at != end and (title := TITLE.match(text, at)):
            at = _after_spaces(text, title.end())
    return (at + 1, destination, place) if text.startswith(")", at) else None


def _place_of_destination(text: str, at: int) -> tuple[int, int] | None:
    if text.startswith("<", at):
        found = IN_ANGLES.match(text, at)
        return found and found.span(1)
    start, depth = at, 0
    while part := OF_DESTINATION.match(text, at):
        depth += (part[0] == "(") - (part[0] == ")")
        if depth < 0:
            break
        if depth > DEEPEST_PARENTHESES:
            return None
        at = part.end()
    return (start, at) if at > start and depth <= 0 else None


def _by_reference(text: str, at: int, label: str, references: Mapping[str, Mapping[str, str]]) -> Target | None:
    """The target of `[text][label]`, `[label][]` or `[label]`."""
    if references and text.startswith("[", at) and (bracket := BRACKET.search(text, at + 1)):
        if bracket[0] == "[":
            return None
        label, at = text[at + 1 : bracket.start()] or label, bracket.end()
    known = references.get(normalizeReference(label)) if label and references else None
    return (at, known["href"], None) if known else None


def _after_spaces(text: str, at: int) -> int:
    spaces = SPACES.match(text, at)
    return spaces.end() if spaces else at
