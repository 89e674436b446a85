"""The links of a document: wiki links, markdown links of every kind, and names in fields of its front matter."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Final, Literal
from urllib.parse import unquote

from markdown_it.common.normalize_url import normalizeLink, validateLink
from markdown_it.common.utils import normalizeReference, unescapeAll

from loci.markdown.front_matter import read_front_matter
from loci.markdown.nouns import RELATION_ALIASES, Form, Heading, Mention, Relation
from loci.markdown.outline import MarkdownOutline, is_plain_text, outline_of, prose_lines
from loci.markdown.scanners import blanked_comments, comments, without_code_spans
from loci.markdown.tags import TAGS_COMMENT

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
Style = Literal["wiki", "path", "field"]
"""`[[Name]]`, `[text](path)`, or a name in a field of the front matter such as `follows`."""
MOST_LINKS: Final = 2_000
LONGEST_TARGET: Final = 500
LONGEST_EVIDENCE: Final = 200
RELATION_FIELDS: Final[Mapping[str, Relation]] = {
    "follows": "follows",
    "brief": "follows",
    "implements": "implements",
    "references": "references",
    "related": "references",
    "see": "references",
    "links": "references",
    "supersedes": "supersedes",
    "superseded_by": "superseded_by",
    "replaces": "supersedes",
    "replaced_by": "superseded_by",
    "amends": "amends",
    "amended_by": "amended_by",
    "depends_on": "depends_on",
}
# Amalfa writes relations into a comment: [IMPLEMENTS: brief-auth].
COMMENT_RELATIONS: Final[Mapping[str, Relation]] = {**RELATION_FIELDS, **RELATION_ALIASES}
IN_COMMENT = re.compile(r"\[\s*+([A-Za-z_]++)\s*+:\s*+([^\[\]\n]++)\s*+\]")
WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
STATUS = re.compile(r"status\s*+:[\s\"']*+(\w++\s++by)\s++(.+)", re.IGNORECASE)
STATUS_TEXT = re.compile(
    r"[\s>*_-]*(?:status[\s*_:]+)?((?:superseded|replaced|obsoleted)\s+by)\s+([A-Z]{2,6}[ -]?\d{1,6})[\s.*_]*",
    re.IGNORECASE,
)
"""A status in the text of a decision, such as `Superseded by ADR-0123`, without a link."""
STATUS_LINES: Final = 60
"""Lines of the text in which a status is read."""
NOT_A_LETTER = re.compile(r"[ -]")
FIELD = re.compile(r"\A([A-Za-z_ -]++)\s*+:")
# The Open Knowledge Format lists under `sources` what a document comes from: paths, web addresses, and plain words.
SOURCES = re.compile(r"sources\s*+:")
SOURCE = re.compile(
    r"(?:^|(?<=[\s{,-]))resource[ \t]*+:[ \t]*+(?:\"([^\"\n]*+)\"|'([^'\n]*+)'|([^\s,{}\[\]\"'#][^,{}\[\]\n#]*+))"
)
OF_A_DOCUMENT = re.compile(r"\.(?:md|markdown|mdx|txt)\Z", re.IGNORECASE)
# Not a footnote: its text is text like any other.
DEFINITION = re.compile(r" {0,3}\[(?!\^)([^\[\]]+)\]:\s*(?:<([^<>]*)>|(\S+))")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
IMPLEMENTS = re.compile(r"implement(?:s|ed|ation)?(?: of)?\b", re.IGNORECASE)
LONGEST_BEFORE = 300
"""Characters before a link in which its relation is looked for."""
PHRASES: Final[Mapping[str, Relation]] = {
    "superseded by": "superseded_by",
    "replaced by": "superseded_by",
    "obsoleted by": "superseded_by",
    "deprecated by": "superseded_by",
    "deprecated in favor of": "superseded_by",
    "deprecated in favour of": "superseded_by",
    "amended by": "amended_by",
    "updated by": "amended_by",
    "supersedes": "supersedes",
    "replaces": "supersedes",
    "obsoletes": "supersedes",
    "amends": "amends",
    "updates": "amends",
    "depends on": "depends_on",
    "implements": "implements",
    "follows": "follows",
}
PHRASE = re.compile(r"\b(" + "|".join(PHRASES) + r")\b", re.IGNORECASE)
END_OF_SENTENCE = re.compile(r"[.!?;](?=\s)|\n\s*\n|\n\s*(?:[-*+]|\d{1,3}[.)]|#{1,6}|\|)\s")
WRITTEN_LINK = re.compile(r"!?\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?")
# A line of an index, such as `- [ADR 4](four.md), superseded by`, speaks of the document that it links to first.
OF_ANOTHER = re.compile(r"[\s>|*+\d.()-]*+\[[^\[\]]++\]\([^()]*+\)")
# Between the phrase and the link: "Supersedes the sections of RFC [1] and [2]".
BETWEEN = re.compile(
    r"\W*the(?:\s+\w+){1,4}\s+(?:in|of|from)\W*(?:(?:rfc|adr)\W*)?"
    r"|(?:\W|\b(?:the|a|an|our|and|or|by|in|of|part|parts|both|sections?|document|note|decision|record|adr|rfc|no|\d+)\b)*+"
)
# Before it: nothing, a label such as "Status:", or a subject that is this document.
SUBJECT = re.compile(
    r"\W*(?:[^\W\d_][^:]{0,30}:\W*)?(?:(?:this|it|we|and|note|rfc|adr|decision|document|record|proposal|partially|partly"
    r"|later|now|also|was|is|has|been|updates|amends|supersedes|replaces|in|part|\d[\d.-]*)\b[\W_]*)*+"
)


@dataclass(frozen=True, slots=True)
class InlineLink:
    """A link or an image. Positions count in the text."""

    at: int
    destination: str
    """The address that it means, decoded."""
    is_image: bool
    place: tuple[int, int] | None
    """The start and the end of the destination in the text; None if it is not written there."""


def inline_links(text: str, references: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[int, str, int]]:
    """The destination of each link in the text, the number of line ends before the link, and where it begins."""
    line = counted = 0
    for link in sorted(found_links(text, references), key=lambda one: one.at):
        if not link.is_image:
            line += text.count("\n", counted, link.at)
            counted = link.at
            yield line, link.destination, link.at


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


@dataclass(frozen=True, slots=True)
class LinkPlace:
    """A target as it is written. Positions count in the lines, joined by LF."""

    start: int
    end: int
    written: str
    style: Style
    target: str
    """The target that it means, decoded."""
    anchor: str | None = None
    """The heading or `^block` of a name."""
    tail: str = ""
    """The rest of `written` after the target: a heading that cannot be told apart from it."""

    @property
    def mention(self) -> Mention:
        """The form in which names are resolved."""
        return Mention(self.target, "path" if self.style == "path" else "name", "references", 0, "")


def mentions_in(lines: Sequence[str], outline: MarkdownOutline, skip: int, *, is_markdown: bool) -> tuple[Mention, ...]:
    """All links in the order of their lines, each once a line. The first `skip` lines are front matter."""
    prose = prose_lines(lines, outline, skip)
    relations = _relations(outline, len(lines))

    @cache
    def evidence(at: int) -> str:
        plain = " ".join(lines[at].split())
        return plain if len(plain) <= LONGEST_EVIDENCE else f"{plain[: LONGEST_EVIDENCE - 1]}…"

    unique: dict[tuple[int, str, Relation], Mention] = {}
    for at, said, (form, target, anchor) in _written(lines, prose, outline, skip, is_markdown=is_markdown):
        one = Mention(target, form, said or relations[at], at + 1, evidence(at), anchor)
        unique.setdefault((one.line, target.casefold(), one.relation), one)
    return tuple(sorted(unique.values(), key=lambda one: one.line)[:MOST_LINKS])


def _written(
    lines: Sequence[str], prose: Sequence[str], outline: MarkdownOutline, skip: int, *, is_markdown: bool
) -> Iterator[tuple[int, Relation | None, tuple[Form, str, str | None]]]:
    """The links, each with its line, from 0, its relation if the link itself says one, its form, target and anchor."""
    for at, relation, place in (*_in_fields(lines[:skip]), *_in_comments("\n".join(prose))):
        yield at, relation, (place.mention.form, place.target, place.anchor)
    yield from _in_status(lines[:skip])
    shown = blanked_comments("\n".join(prose)).split("\n")  # nobody sees a link in one
    for at, line in enumerate(shown[skip : skip + STATUS_LINES], skip):
        if (status := STATUS_TEXT.fullmatch(line)) and (said := PHRASES.get(" ".join(status[1].casefold().split()))):
            yield at, said, ("name", status[2].upper(), None)
    for at, line in enumerate(shown):
        if "[[" in line:
            plain = without_code_spans(line)
            for place in _wiki(plain, 0):
                yield (
                    at,
                    relation_before(plain[: plain.rindex("[[", 0, place.start)]),
                    ("name", place.target, place.anchor),
                )
    for at, destination, before in _destinations(shown, outline) if is_markdown else ():
        path, anchor = _path_of(destination)
        if path:
            yield at, relation_before(before), ("path", path, anchor)


def link_places(path: str, lines: Sequence[str]) -> list[LinkPlace]:
    """The places where links name their targets, in their order, without links in code and comments."""
    skip = read_front_matter(lines).lines
    outline = outline_of(path, lines, skip)
    blank = list(lines)
    for first, end in ((0, skip), *outline.code):
        blank[first:end] = [" " * len(line) for line in lines[first:end]]
    text = blanked_comments("\n".join(without_code_spans(line, lambda span: " " * len(span)) for line in blank))
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    found = [*(place for _, _, place in _in_fields(lines[:skip])), *_wiki(text, 0)]
    for first, end in () if is_plain_text(path, lines) else _spans(outline):
        at = starts[first]
        part = text[at : starts[end] - 1]
        said = [(*one.place, one.destination) for one in found_links(part, {}) if one.place]
        for number in range(first, end):
            begin = starts[number] - at
            if definition := DEFINITION.match(part[begin : starts[number + 1] - 1 - at]):
                group = 2 if definition[2] is not None else 3
                start, stop = definition.span(group)
                said.append((begin + start, begin + stop, definition[group]))
        found += [place for start, stop, to in said if (place := _by_path(text, at + start, at + stop, to))]
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


def _relations(outline: MarkdownOutline, lines: int) -> list[Relation]:
    """The relation of a link on each line: `implements` below a heading such as Implements, else `references`."""
    relations: list[Relation] = ["references"] * lines
    level = 0
    for heading, following in zip(outline.headings, (*outline.headings[1:], None), strict=False):
        if not level or heading.level <= level:
            level = heading.level if IMPLEMENTS.match(heading.title) else 0
        if level:
            end = following.line - 1 if following else lines
            implements: list[Relation] = ["implements"] * (end - heading.line)
            relations[heading.line : end] = implements
    return relations


def _in_fields(lines: Sequence[str]) -> Iterator[tuple[int, Relation, LinkPlace]]:
    """Wiki links in any field, and the names in fields such as `follows`, which are about other documents."""
    relation: Relation | None = None
    is_of_sources = False
    start = len(lines[0]) + 1 if lines else 0
    for number, line in enumerate(lines[1:-1], 1):
        if field := FIELD.match(line):
            relation = RELATION_FIELDS.get(NOT_A_LETTER.sub("_", field[1].strip().lower()))
        if line[:1].strip(" \t-#"):
            is_of_sources = SOURCES.match(line) is not None
        at = field.end() if field else 0
        places = [*_wiki(line[at:], start + at)]
        if is_of_sources:
            places, relation = [*places, *_sources(line, start)], "source"
        if relation and not (places or is_of_sources):
            for piece in line[at:].split(","):
                name = piece.strip().strip("[]").removeprefix("- ").strip(" '\"")
                if name and not name.startswith("#"):
                    places += _by_name(name, start + at + piece.index(name), "field")
                at += len(piece) + 1
        for place in places:
            yield number, relation or "references", place
        start += len(line) + 1


def _sources(line: str, offset: int) -> Iterator[LinkPlace]:
    """The documents that the line names as sources. A web address or words, such as `all queries of X`, name none."""
    for found in SOURCE.finditer(line):
        start, end = next(found.span(one) for one in (1, 2, 3) if found[one] is not None)
        written = line[start:end].rstrip()
        target, anchor = _path_of(written)
        if OF_A_DOCUMENT.search(target):
            end = start + len(written.partition("#")[0].partition("?")[0])
            yield LinkPlace(offset + start, offset + end, line[start:end], "path", target, anchor)


def _in_status(lines: Sequence[str]) -> Iterator[tuple[int, Relation, tuple[Form, str, str | None]]]:
    """The decision in a status such as `superseded by ADR-0123`, which may be a markdown link."""
    for number, line in enumerate(lines):
        if (said := STATUS.match(line)) and (relation := PHRASES.get(" ".join(said[1].casefold().split()))):
            path = next((link.destination for link in found_links(said[2], {})), "")
            form: Form = "path" if path else "name"
            target, anchor = _path_of(path) if path else (said[2].strip(" .\"'"), None)
            if 0 < len(target) <= LONGEST_TARGET and "[[" not in target:
                yield number, relation, (form, target, anchor)


def _in_comments(text: str) -> Iterator[tuple[int, Relation, LinkPlace]]:
    line, counted = 0, 0
    for comment in comments(text):
        for said in IN_COMMENT.finditer(comment[1]) if TAGS_COMMENT.fullmatch(comment[1]) else ():
            at = comment.start(1) + said.start()
            line, counted = line + text.count("\n", counted, at), at
            if relation := COMMENT_RELATIONS.get(said[1].lower()):
                for place in _by_name(said[2], at, "wiki"):
                    yield line, relation, place


def _wiki(text: str, offset: int) -> Iterator[LinkPlace]:
    for link in WIKI.finditer(text):
        yield from _by_name(link[1], offset + link.start(1), "wiki")


def _by_name(link: str, at: int, style: Style) -> Iterator[LinkPlace]:
    """The place for `Name#Heading|label` or `Name^block`. `#Heading` is the document itself, so no place."""
    name, _, anchor = link.partition("|")[0].removesuffix("\\").partition("#")
    if not anchor and "^" in name:
        name, _, block = name.partition("^")
        anchor = f"^{block}"
    target = name.strip()
    if target and len(target) <= LONGEST_TARGET and not SCHEME.match(target):
        start = at + len(name) - len(name.lstrip())
        yield LinkPlace(start, start + len(target), target, style, target, anchor.strip() or None)


def _destinations(prose: Sequence[str], outline: MarkdownOutline) -> Iterator[tuple[int, str, str]]:
    """The line and the destination of each markdown link, and the text before. `[label]: path` is not a link."""
    references: dict[str, dict[str, str]] = {}  # in the form markdown-it expects
    lines = list(prose)
    for at, line in enumerate(prose):
        if "]:" in line and (found := DEFINITION.match(line)):
            label = " ".join(found[1].split()).casefold().upper()
            references.setdefault(label, {"href": found[2] or found[3] or ""})  # the first one of a label counts
            lines[at] = ""
    for first, end in _spans(outline):
        text = "\n".join(lines[first:end])
        if "](" in text or ("[" in text and references):
            for offset, destination, start in inline_links(text, references):
                yield first + offset, destination, text[max(0, start - LONGEST_BEFORE) : start]


def _spans(outline: MarkdownOutline) -> Iterator[tuple[int, int]]:
    """The lines of each heading and each part: the first, and the one after the last."""
    for part in outline.parts:
        yield (part.line - 1, part.line) if isinstance(part, Heading) else (part.first, part.end)


def _path_of(destination: str) -> tuple[str, str | None]:
    """The path to a document and the heading in it. Empty for a web address, or a text that can be no path."""
    path, _, anchor = destination.partition("#")
    path = unquote(path.partition("?")[0]).strip()
    if len(path) > LONGEST_TARGET or "\0" in path or SCHEME.match(path):
        return "", None
    return path, unquote(anchor) or None


def _by_path(text: str, start: int, end: int, destination: str) -> LinkPlace | None:
    """The place of a path. `destination` is the text there, decoded as CommonMark does."""
    target, _ = _path_of(destination)
    written = text[start:end]
    if not target:
        return None
    if "\\" in written or "&" in written:
        tail = destination[len(destination.partition("#")[0].partition("?")[0]) :]
        return LinkPlace(start, end, written, "path", target, tail=tail)
    cut = min((at for at in (written.find("#"), written.find("?")) if at >= 0), default=len(written))
    return LinkPlace(start, start + cut, written[:cut], "path", target)


def relation_before(text: str) -> Relation | None:
    """The relation of a link that stands after this text; None if the sentence says none about this document."""
    start = max(0, len(text) - LONGEST_BEFORE)
    sentence = END_OF_SENTENCE.split(text[start:])[-1].casefold()
    if OF_ANOTHER.match(sentence):
        return None
    found = [*PHRASE.finditer(WRITTEN_LINK.sub("[]", sentence))]
    if not found:
        return None
    plain, last = found[-1].string, found[-1]
    before, between = plain[: last.start()], plain[last.end() :]
    is_about_this = SUBJECT.fullmatch(before.replace("[]", "§")) and BETWEEN.fullmatch(between)
    return PHRASES[last[1]] if is_about_this else None
