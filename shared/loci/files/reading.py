"""A reading: what was read out of a file.

The reading of a file with a parser comes from behind the wall, so it is checked before anything uses it. Plain texts,
markdown and tables of text are read here: their parsers cannot be attacked by a file, so they need no wall.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from loci.core.errors import Refused

LONGEST_NAME = 500
MOST_COLUMNS = 16_384
MOST_TITLE_CELLS = 9
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Number = Annotated[int, Field(ge=1)]
"""Counts from 1."""
Index = Annotated[int, Field(ge=0)]
Part = Annotated[float, Field(ge=-1, le=2)]
WithText = Literal["xlsx", "xls", "ods", "csv", "tsv", "pdf", "txt", "md", "html", "docx", "pptx", "json"]
Format = Literal[WithText, "png", "jpg", "gif", "webp", "svg"]
PLAIN: dict[str, Format] = {"txt": "txt", "text": "txt", "log": "txt", "md": "md", "markdown": "md"}
TABLES: dict[str, Format] = {"csv": "csv", "tsv": "tsv", "tab": "tsv"}
HEADING = re.compile(r"^(#{1,6}) ([^\n]*)", re.MULTILINE)
LONGEST_HEADING = 500
MOST_HEADINGS = 50_000
"""Headings after these are read as text: a file has fewer passages."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TextSection(Strict):
    """A piece of running text, with the place where it stands."""

    kind: Literal["text"] = "text"
    text: str
    heading: tuple[Name, ...] = ()
    page: Number | None = None
    box: tuple[Part, Part, Part, Part] | None = None
    """Left, top, right, bottom, as parts of the page."""
    slide: Number | None = None
    first_line: Number | None = None
    """The first line of the section, in a text file."""
    recognised: bool = False
    """True if the text was recognised in a picture, perhaps with mistakes."""


class TablePart(Strict):
    """The rows of a table from one on, which stand on a page of their own."""

    first: Index
    page: Number
    box: tuple[Part, Part, Part, Part] | None = None


class TableSection(Strict):
    """A table: its header and its rows, with the place of its top left cell."""

    kind: Literal["table"] = "table"
    title: Name = ""
    """The words above the table."""
    title_cells: Annotated[tuple[tuple[Index, Index, str], ...], Field(max_length=MOST_TITLE_CELLS)] = ()
    """The cells of a sheet that are the title: row and column, counted from 0, and text."""
    sheet: Name | None = None
    """Empty in a table of text: it has cells, and no sheet. None: it has no cells."""
    page: Number | None = None
    box: tuple[Part, Part, Part, Part] | None = None
    parts: tuple[TablePart, ...] = ()
    """The pages on which the table goes on."""
    slide: Number | None = None
    first_row: Index = 0
    """The row of the header in its sheet, counted from 0; of the first row if there is no header."""
    first_column: Index = 0
    header_rows: Annotated[int, Field(ge=1, le=9)] = 1
    """The number of rows that the header takes in the sheet, if there is one."""
    header: Annotated[tuple[str, ...], Field(max_length=MOST_COLUMNS)] = ()
    rows: tuple[tuple[str, ...], ...]

    @property
    def has_cells(self) -> bool:
        """True if its rows and columns have names, as in a workbook."""
        return self.sheet is not None

    @property
    def label(self) -> str:
        """The name of the table in a summary."""
        return self.title or self.sheet or (f"page {self.page}" if self.page else "")

    def part(self, row: int) -> TablePart | None:
        """The part with this row, if it stands on a page after the first."""
        return next((one for one in reversed(self.parts) if one.first <= row), None)

    @property
    def below_header(self) -> int:
        """The row of `rows[0]` in its sheet, counted from 0."""
        return self.first_row + (self.header_rows if self.header else 0)


Section = Annotated[TextSection | TableSection, Field(discriminator="kind")]


class Reading(Strict):
    """Everything that was read out of one file."""

    format: Format
    sections: tuple[Section, ...]
    sheets: tuple[Name, ...] = ()
    """All sheets of a workbook, also empty ones."""
    pages: int | None = None
    figures: Annotated[int, Field(ge=0)] = 0
    remarks: tuple[Name, ...] = ()
    """The parts that could not be read or were left out, and why."""

    @field_validator("sections")
    @classmethod
    def _without_sheet(cls, sections: tuple[Section, ...], facts: ValidationInfo) -> tuple[Section, ...]:
        """Take the sheet from a table of text: in readings of before it is called Sheet1."""
        if facts.data.get("format") not in TABLES.values():
            return sections
        return tuple(one.model_copy(update={"sheet": ""}) if one.kind == "table" else one for one in sections)

    @property
    def tables(self) -> tuple[TableSection, ...]:
        """The tables, in the order of the file."""
        return tuple(one for one in self.sections if isinstance(one, TableSection))


class Answer(Strict):
    """The answer of the program behind the wall: a reading, or the reason why the file could not be read."""

    reading: Reading | None = None
    unreadable: Name | None = None
    advice: Name | None = None
    code: Annotated[str | None, Field(pattern="^[A-Z_]{1,40}$")] = None


ENDED = {
    "time": "It takes too long to read",
    "memory": "It needs too much memory to be read",
    "disk": "Too much was read out of it",
}


def checked(said: bytes) -> Reading:
    """The reading in this answer. Raises `Refused` with the reason if nothing could be read."""
    try:
        answer = Answer.model_validate_json(said)
    except ValidationError:
        answer = Answer()
    if answer.reading is None:
        raise Refused(
            answer.unreadable or "The program that reads the file gave no valid answer",
            answer.advice or "Save it again in its own program",
            code=answer.code or "FILE_UNREADABLE",
        )
    return answer.reading


def stopped(why: str) -> Refused:
    """The error of a file whose program was ended."""
    told = ENDED.get(why)
    return Refused(
        told or "The program that reads it has crashed",
        "Split it into smaller files" if told else "Open it in its own program and save it again",
        code="FILE_TOO_LARGE" if told else "FILE_UNREADABLE",
    )


def is_plain(name: str, content: bytes) -> bool:
    """True if the file is a plain text by its name, and nothing in its content says otherwise."""
    return _ending(name) in PLAIN and not content[:1024].lstrip().startswith(b"%PDF-") and not _has_zeros(content)


def is_table(name: str, content: bytes) -> bool:
    """True if the file is a table of text by its name, and nothing in its content says otherwise."""
    begin = content[:1024]
    return _ending(name) in TABLES and not (b"%PDF-" in begin or b"<?xml" in begin or _has_zeros(content))


def has_text_name(name: str) -> bool:
    """True if a file with this name ought to be a plain text or a table of text."""
    return _ending(name) in PLAIN or _ending(name) in TABLES


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _has_zeros(content: bytes) -> bool:
    """True for packed files, pictures and programs. In a text only UTF-16 has zeros, which its mark says."""
    return b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff"))


def read_text(name: str, content: bytes) -> Reading:
    """The reading of a file that is a plain text or a table of text."""
    if _ending(name) in PLAIN:
        return read_plain(name, content)
    from loci.files.extract.delimited import rows_of  # a server that only lists its files does without
    from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

    try:
        said = rows_of(content, ReadingLimits())
    except UnreadableFile as error:
        raise Refused(str(error), error.advice, code=error.code) from None
    return Reading.model_validate({"format": TABLES[_ending(name)], **said})


@dataclass(frozen=True, slots=True)
class PlainHeading:
    """A heading of a markdown text."""

    start: int
    end: int
    line: int
    """Counted from 1."""
    path: tuple[str, ...]
    """The title with the titles above it."""
    level: int


def headings_in(text: str) -> Iterator[PlainHeading]:
    """The headings of a markdown text, in order."""
    line, counted = 1, 0
    path: tuple[str, ...] = ()
    for one in HEADING.finditer(text):
        line += text.count("\n", counted, one.start())
        counted, level = one.start(), len(one[1])
        title = one[2][: 2 * LONGEST_HEADING].strip().rstrip("#").strip()[:LONGEST_HEADING]
        path = (*path[: level - 1], title)
        yield PlainHeading(one.start(), one.end(), line, path, level)


def read_plain(name: str, content: bytes) -> Reading:
    """The text, below each of its headings."""
    text, format = decoded(content), PLAIN[_ending(name)]
    headings = headings_in(text) if format == "md" else ()
    sections: list[TextSection] = []
    remarks: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    begin, line, level = 0, 1, 0  # of the text below the last heading

    def flush(end: int, next_level: int) -> None:
        body = text[begin:end]
        if body and not body.isspace():
            sections.append(TextSection(text=body, heading=above, first_line=line))
        elif 0 < next_level <= level and above[-1]:  # nothing below the heading has its words
            sections.append(TextSection(text=above[-1], heading=above[:-1], first_line=line - 1))

    for number, one in enumerate(headings):
        if number == MOST_HEADINGS:
            remarks = (f"Only the first {MOST_HEADINGS:,} headings were read as such",)
            break
        flush(max(begin, one.start - 1), one.level)
        above, level = one.path, one.level
        begin, line = one.end + 1, one.line + 1
    flush(len(text), 1)
    if not sections:
        raise Refused("The file is empty", "Add it again with text in it", code="FILE_EMPTY")
    return Reading(format=format, sections=tuple(sections), remarks=remarks)


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 with its mark, else Latin-1; every kind of line end becomes a line feed."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", "replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
