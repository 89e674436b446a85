"""The links of a document: wiki links, markdown links of every kind, and fields of its front matter."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final
from urllib.parse import unquote

from loci.documents.content.inline_links import inline_links
from loci.documents.content.outline import Outline, prose_lines
from loci.documents.content.scanners import blanked_comments, comments, related, without_code_spans
from loci.documents.content.tags_and_dates import TAGS_COMMENT
from loci.documents.document import Heading
from loci.documents.document_links import RELATION_ALIASES, Mention, Relation

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
}
# Amalfa writes relations into a comment: [IMPLEMENTS: brief-auth].
COMMENT_RELATIONS: Final[Mapping[str, Relation]] = {**RELATION_FIELDS, **RELATION_ALIASES}
WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
FIELD = re.compile(r"\A([A-Za-z_ -]++)\s*+:")
# Not a footnote: its text is text like any other.
DEFINITION = re.compile(r" {0,3}\[(?!\^)([^\[\]]+)\]:\s*(?:<([^<>]*)>|(\S+))")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
Evidence = Callable[[int], str]
"""The text of the line at that position, counted from 0, as a mention quotes it. Each line is cut once."""
IMPLEMENTS = re.compile(r"implement(?:s|ed|ation)?(?: of)?\b", re.IGNORECASE)


def mentions_in(lines: Sequence[str], outline: Outline, skip: int, *, is_markdown: bool) -> tuple[Mention, ...]:
    """All links in the order of their lines, each once a line. The first `skip` lines are front matter."""
    prose = prose_lines(lines, outline, skip)
    relations = _relations(outline, len(lines))

    @cache
    def evidence(at: int) -> str:
        return _short(lines[at])

    found = [*_in_fields(lines[:skip], evidence), *_in_comments(prose, evidence)]
    prose = blanked_comments("\n".join(prose)).split("\n")  # nobody sees a link in one
    found += _wiki_links(prose, relations, evidence)
    if is_markdown:
        found += _markdown_links(prose, outline, relations, evidence)
    unique: dict[tuple[int, str, Relation], Mention] = {}
    for one in found:
        unique.setdefault((one.line, one.target.casefold(), one.relation), one)
    return tuple(sorted(unique.values(), key=lambda one: one.line)[:MOST_LINKS])


def _relations(outline: Outline, lines: int) -> list[Relation]:
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


def _in_fields(lines: Sequence[str], evidence: Evidence) -> Iterator[Mention]:
    """Wiki links in any field, and the names in fields such as `follows`, which are about other documents."""
    relation: Relation | None = None
    for number, line in enumerate(lines[1:-1], 2):
        if field := FIELD.match(line):
            relation = RELATION_FIELDS.get(field[1].strip().lower())
        value = line[field.end() :] if field else line
        links = WIKI.findall(value)
        for link in links:
            yield from _by_name(link, relation or "references", number, evidence)
        if relation and not links:
            for name in value.strip().strip("[]").split(","):
                plain = name.strip().removeprefix("- ").strip(" '\"")
                if plain and not plain.startswith("#"):
                    yield from _by_name(plain, relation, number, evidence)


def _in_comments(prose: Sequence[str], evidence: Evidence) -> Iterator[Mention]:
    text = "\n".join(prose)
    if "<!--" not in text:
        return
    line, counted = 1, 0
    for comment in comments(text):
        if TAGS_COMMENT.fullmatch(comment.inner):
            for start, name, target in related(comment.inner):
                if relation := COMMENT_RELATIONS.get(name.lower()):
                    at = comment.inner_start + start
                    line, counted = line + text.count("\n", counted, at), at
                    yield from _by_name(target, relation, line, evidence)


def _wiki_links(prose: Sequence[str], relations: Sequence[Relation], evidence: Evidence) -> Iterator[Mention]:
    for at, line in enumerate(prose):
        if "[[" in line:
            for link in WIKI.findall(without_code_spans(line)):
                yield from _by_name(link, relations[at], at + 1, evidence)


def _by_name(link: str, relation: Relation, line: int, evidence: Evidence) -> Iterator[Mention]:
    """The mention for `Name#Heading|label` or `Name^block`. `#Heading` is the document itself, so no mention."""
    written = link.replace("\\|", "|").partition("|")[0]
    name, _, anchor = written.partition("#")
    if not anchor and "^" in name:
        name, _, block = name.partition("^")
        anchor = f"^{block}"
    name = name.strip()
    if name and len(name) <= LONGEST_TARGET and not SCHEME.match(name):
        yield Mention(name, "name", relation, line, evidence(line - 1), anchor.strip() or None)


def _markdown_links(
    prose: Sequence[str], outline: Outline, relations: Sequence[Relation], evidence: Evidence
) -> Iterator[Mention]:
    references = dict(_definitions(prose))
    if references:  # a definition is not a link
        prose = ["" if "]:" in line and DEFINITION.match(line) else line for line in prose]
    for first, end in spans(outline):
        text = "\n".join(prose[first:end])
        if "](" in text or ("[" in text and references):
            for offset, destination in inline_links(text, references):
                at = first + offset
                yield from _by_path(destination, relations[at], at + 1, evidence)


def spans(outline: Outline) -> Iterator[tuple[int, int]]:
    """The lines of each heading and each part: the first, and the one after the last."""
    for part in outline.parts:
        yield (part.line - 1, part.line) if isinstance(part, Heading) else (part.first, part.end)


def _definitions(prose: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The definitions `[label]: path`, in the form markdown-it expects. The first one of a label counts."""
    seen: set[str] = set()
    for line in prose:
        if "]:" in line and (found := DEFINITION.match(line)):
            label = " ".join(found[1].split()).casefold().upper()
            if label not in seen:
                seen.add(label)
                yield label, {"href": found[2] or found[3] or ""}


def _by_path(destination: str, relation: Relation, line: int, evidence: Evidence) -> Iterator[Mention]:
    """The mention for a path to a document. A web address is no mention."""
    path, _, anchor = destination.partition("#")
    path = unquote(path.partition("?")[0]).strip()
    if path and len(path) <= LONGEST_TARGET and "\0" not in path and not SCHEME.match(path):
        yield Mention(path, "path", relation, line, evidence(line - 1), unquote(anchor) or None)


def _short(line: str) -> str:
    plain = " ".join(line.split())
    return plain if len(plain) <= LONGEST_EVIDENCE else f"{plain[: LONGEST_EVIDENCE - 1]}…"
