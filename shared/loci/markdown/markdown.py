"""Parses a document, markdown or plain text: its title, headings, tags, date, links and blocks."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from loci.markdown.dates import first_day, labelled_day
from loci.markdown.encodings import decode_text, encoding_of
from loci.markdown.front_matter import FrontMatter, read_front_matter
from loci.markdown.links import mentions_in
from loci.markdown.nouns import BOM, INDEX_FILES, DocumentDate, Heading, Problem, WrittenLinks
from loci.markdown.outline import (
    LONGEST_TITLE,
    MOST_LINES,
    PLAIN_SUFFIXES,
    blocks,
    is_plain_text,
    outline_of,
    prose_lines,
)
from loci.markdown.tags import tags_of
from loci.search.languages import language_of
from loci.search.names import name_word, parts_of_name
from loci.search.passages import Block
from loci.search.words import MARK, index_words

DATE_FIELDS = (
    *("date", "created", "created_at", "published", "day", "updated", "updated_at", "modified"),
    *("generated", "timestamp"),  # of the Open Knowledge Format
)
"""The fields that say the day of a document, the surest first."""
LIKE_A_DAY = re.compile(r"\d{4}[-/.]\d")
LONGEST_DAY = 40
ALIAS_FIELDS = ("aliases", "alias")
# For programs, or said elsewhere. Dates and numbers have no letters, and are left out, too.
NO_TEXT = frozenset(("title", *ALIAS_FIELDS, "cssclass", "cssclasses", "publish", "draft", "layout", "id", "uuid"))
SWITCHES = frozenset(("true", "false", "yes", "no", "on", "off"))
MOST_ALIASES = 50
MOST_WORDS = 300
"""Words of the front matter's texts that find the document."""
LONGEST_TEXT = 2_000
LONGEST_ALIAS = 200


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The text of a document and the facts in it. Lines count from 1 and include the front matter."""

    text: str
    """The text. Every line ends in LF, and NUL characters are replaced: no index can store them."""
    lines: int
    title: str
    headings: tuple[Heading, ...]
    tags: tuple[str, ...]
    date: DocumentDate | None
    """The day that it gives itself."""
    front_matter: FrontMatter
    blocks: tuple[Block, ...]
    problems: tuple[Problem, ...]
    said: WrittenLinks
    name_words: tuple[str, ...] = ()
    """The words of its names, folders and properties, which find it, too."""
    language: str | None = None
    """The language whose stems find it, too; None: English, or it is not known."""


def parse(path: str, content: bytes) -> ParsedDocument:
    """Parse the document at that path. It never fails: `problems` lists the faults of the document."""
    text, problems = decoded(content)
    lines = text.split("\n")
    name = PurePosixPath(path)
    matter = read_front_matter(lines)
    if matter.problem:
        problems.append(matter.problem)
    problems += _impossible_days(matter)
    is_plain = is_plain_text(path, lines)
    if is_plain and name.suffix.lower() not in PLAIN_SUFFIXES:
        problems.append(Problem(f"It has more than {MOST_LINES:,} lines: it was read as plain text"))
    outline = outline_of(path, lines, matter.lines)
    headings = outline.headings
    given, first = matter.first("title"), headings[0].title if headings else ""
    top = next((one.title for one in headings if one.level == 1 and one.title), None)
    title = (given or _with_folder(top or _stem_of(path), name))[:LONGEST_TITLE]
    # A name without a letter says nothing about the passages.
    is_above = title != first and (bool(given) or (not top and any(letter.isalpha() for letter in title)))
    found = blocks(lines, outline, title if is_above else None)
    if not found and matter.fields:
        found = [Block(0, sum(len(line) + 1 for line in lines[: matter.lines]) - 1, (title,), "lines")]
    language = language_of(text[found[0].start :] if found else text)
    prose = prose_lines(lines, outline, matter.lines)[matter.lines :]
    tags = [value for field in ("tags", "tag", "keywords") for value in matter.fields.get(field, ())]
    return ParsedDocument(
        text=text,
        lines=len(lines) - (not lines[-1]),
        title=title,
        headings=headings,
        tags=tags_of(tags, "\n".join(prose)),
        date=_date(matter, name.name, first, prose),
        front_matter=matter,
        blocks=tuple(found),
        problems=tuple(problems),
        said=WrittenLinks(
            aliases=_aliases_of(matter), mentions=mentions_in(lines, outline, matter.lines, is_markdown=not is_plain)
        ),
        name_words=tuple(_name_words(path, title, matter, language)),
        language=language,
    )


def decoded(content: bytes) -> tuple[str, list[Problem]]:
    """The bytes as text, and the problems found in them."""
    problems: list[Problem] = []
    text, is_exact = decode_text(content)
    text = text.removeprefix(BOM)
    if not is_exact:
        name = "UTF-8" if encoding_of(content).codec == "utf-8" else "UTF-16"
        line = text.count("\n", 0, text.find("\ufffd")) + 1
        problems.append(Problem(f"Some bytes are not {name}: they were replaced", line))
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        problems.append(Problem("It contains NUL characters: they were replaced", line))
        text = text.replace("\0", "\ufffd")
    return text.replace("\r\n", "\n").replace("\r", "\n"), problems


def _given_days(matter: FrontMatter) -> Iterator[tuple[str, str]]:
    """The fields for days with their values, the surest first."""
    return ((field, value) for field in DATE_FIELDS for value in matter.fields.get(field, ()))


def _impossible_days(matter: FrontMatter) -> list[Problem]:
    """Fields for days that have numbers in them, and no day of the calendar."""
    return [
        Problem(f"{value[:LONGEST_DAY]!r} in the field {field} is no day of the calendar: it was not read")
        for field, value in _given_days(matter)
        if LIKE_A_DAY.search(value) and not first_day(value)
    ]


def _date(matter: FrontMatter, name: str, heading: str, prose: Sequence[str]) -> DocumentDate | None:
    """Return the day in the front matter, else in the file name, the first heading, or a line that labels it."""
    for _, value in _given_days(matter):
        if day := first_day(value):
            return DocumentDate(day, "front matter")
    if day := first_day(name):
        return DocumentDate(day, "name")
    if day := first_day(heading):
        return DocumentDate(day, "heading")
    day = labelled_day(prose)
    return DocumentDate(day, "text") if day else None


def _stem_of(path: str) -> str:
    """The file's name without its suffix."""
    return unicodedata.normalize("NFC", PurePosixPath(path).stem)


def _with_folder(title: str, path: PurePosixPath) -> str:
    """The title, with the folder if every folder may have a document of that title: README (docs/setup)."""
    folders = path.parts[1:-1] or path.parts[:-1]  # the first one is the root's name
    return f"{title} ({'/'.join(folders)})" if title.casefold() in INDEX_FILES and folders else title


def _aliases_of(matter: FrontMatter) -> tuple[str, ...]:
    """The other names that the document gives itself."""
    return tuple(alias for field in ALIAS_FIELDS for alias in matter.fields.get(field, ()))


def _name_words(path: str, title: str, matter: FrontMatter, language: str | None) -> list[str]:
    """The words of its names, its folders and its properties, and a word for each whole name and for parts of it.

    They begin with the mark that ends the words of the text. Names count twice: they say what the document is about.
    """
    name, aliases = PurePosixPath(path), _aliases_of(matter)[:MOST_ALIASES]
    names = dict.fromkeys((title, _stem_of(path), *aliases))
    said = [word for one in names for word in index_words(one[:LONGEST_ALIAS], language)]
    folders = [word for one in name.parts[:-1] for word in index_words(one, language)]
    whole = dict.fromkeys(word for one in (*names, name.name) if (word := name_word(one)))
    parts = dict.fromkeys(word for one in names for word in parts_of_name(one))
    properties = [
        word
        for field, values in matter.fields.items()
        if field not in NO_TEXT
        for text in values
        if text.lower() not in SWITCHES and any(letter.isalpha() for letter in text)
        for word in index_words(text[:LONGEST_TEXT], language)
    ]
    return [MARK, *said, *said, *folders, *properties[:MOST_WORDS], *whole, *whole, *parts]
