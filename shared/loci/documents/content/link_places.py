"""The places in a text where links name their targets, so that the names can be replaced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote

from loci.documents.content.front_matter import read_front_matter
from loci.documents.content.inline_links import destinations
from loci.documents.content.links import DEFINITION, FIELD, RELATION_FIELDS, SCHEME, WIKI, spans
from loci.documents.content.markdown import PLAIN_SUFFIXES, outline_of
from loci.documents.content.scanners import blanked_comments, without_code_spans
from loci.documents.document_links import Mention

Style = Literal["wiki", "path", "field"]
"""`[[Name]]`, `[text](path)`, or a name in a field of the front matter such as `follows`."""


@dataclass(frozen=True, slots=True)
class LinkPlace:
    """A target as it is written. Positions count in the lines, joined by LF."""

    start: int
    end: int
    written: str
    style: Style
    target: str
    """The target that it means, decoded."""
    tail: str = ""
    """The rest of `written` after the target: a heading that cannot be told apart from it."""

    @property
    def mention(self) -> Mention:
        """As names are resolved."""
        return Mention(self.target, "path" if self.style == "path" else "name", "references", 0, "")


def link_places(path: str, lines: Sequence[str]) -> list[LinkPlace]:
    """All of them, in their order, but those in code and comments."""
    skip = read_front_matter(lines).lines
    outline = outline_of(path, lines, skip)
    blank = list(lines)
    for first, end in ((0, skip), *outline.code):
        blank[first:end] = [" " * len(line) for line in lines[first:end]]
    text = blanked_comments("\n".join(without_code_spans(line, lambda span: " " * len(span)) for line in blank))
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    found = [*_in_fields(lines[:skip], starts), *_wiki(text, 0)]
    if PurePosixPath(path).suffix.lower() not in PLAIN_SUFFIXES:
        for first, end in spans(outline):
            at = starts[first]
            part = text[at : starts[end] - 1]
            if "](" in part:
                found += [
                    one
                    for start, end, said in destinations(part)
                    if (one := _by_path(text, at + start, at + end, said))
                ]
            found += _definitions(text, starts, first, end)
    unique = {one.start: one for one in found}
    return [unique[start] for start in sorted(unique)]


def with_targets(text: str, places: Sequence[LinkPlace], new: Mapping[tuple[Style, str], str]) -> str:
    """The text with new targets, by their style and as they were written."""
    parts, at = list[str](), 0
    for one in places:
        if (wanted := new.get((one.style, one.written))) is not None:
            parts += (text[at : one.start], wanted)
            at = one.end
    return "".join((*parts, text[at:]))


def _wiki(text: str, offset: int) -> Iterator[LinkPlace]:
    for link in WIKI.finditer(text):
        inner = link[1].partition("|")[0].removesuffix("\\")
        name, _, anchor = inner.partition("#")
        if not anchor:
            name = name.partition("^")[0]
        if place := _by_name(name, offset + link.start(1), "wiki"):
            yield place


def _in_fields(lines: Sequence[str], starts: Sequence[int]) -> Iterator[LinkPlace]:
    is_relation = False
    for number, line in enumerate(lines[1:-1], 1):
        if field := FIELD.match(line):
            is_relation = field[1].strip().lower() in RELATION_FIELDS
        begin = field.end() if field else 0
        links = [*_wiki(line[begin:], starts[number] + begin)]
        yield from links
        if is_relation and not links:
            at = begin
            for piece in line[begin:].split(","):
                plain = piece.strip().strip("[]").removeprefix("- ").strip(" '\"")
                if plain and not plain.startswith("#"):
                    inside = at + piece.index(plain)
                    if place := _by_name(plain, starts[number] + inside, "field"):
                        yield place
                at += len(piece) + 1


def _by_name(name: str, at: int, style: Style) -> LinkPlace | None:
    target = name.strip()
    if not target or SCHEME.match(target):
        return None
    start = at + len(name) - len(name.lstrip())
    return LinkPlace(start, start + len(target), target, style, target)


def _definitions(text: str, starts: Sequence[int], first: int, end: int) -> Iterator[LinkPlace]:
    for number in range(first, end):
        line = text[starts[number] : starts[number + 1] - 1]
        if "]:" in line and (found := DEFINITION.match(line)):
            group = 2 if found[2] is not None else 3
            start, stop = (starts[number] + one for one in found.span(group))
            if place := _by_path(text, start, stop, found[group]):
                yield place


def _by_path(text: str, start: int, end: int, destination: str) -> LinkPlace | None:
    """The place of a path. `destination` is what is written there, decoded as CommonMark does."""
    path, _, _ = destination.partition("#")
    path, _, _ = path.partition("?")
    target, written = unquote(path).strip(), text[start:end]
    if not target or "\0" in target or SCHEME.match(target):
        return None
    if "\\" in written or "&" in written:
        return LinkPlace(start, end, written, "path", target, destination[len(path) :])
    cut = min((at for at in (written.find("#"), written.find("?")) if at >= 0), default=len(written))
    return LinkPlace(start, start + cut, written[:cut], "path", target)
