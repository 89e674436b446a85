"""A reading: what was read out of a file. It comes from behind the wall, so it is checked before anything uses it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loci.core.errors import Refused

LONGEST_NAME = 500
MOST_COLUMNS = 16_384
MOST_TITLE_CELLS = 9
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Number = Annotated[int, Field(ge=1)]
"""Counts from 1."""
Index = Annotated[int, Field(ge=0)]
Part = Annotated[float, Field(ge=-1, le=2)]
Format = Literal["xlsx", "xls", "ods", "csv", "tsv", "pdf", "txt", "md", "html", "docx", "pptx", "json"]


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
    """Of a text file."""


class TableSection(Strict):
    """A table: its header and its rows, with the place of its top left cell."""

    kind: Literal["table"] = "table"
    title: Name = ""
    """The words above the table."""
    title_cells: Annotated[tuple[tuple[Index, Index, str], ...], Field(max_length=MOST_TITLE_CELLS)] = ()
    """The cells of a sheet that are the title: row and column, counted from 0, and text."""
    sheet: Name | None = None
    page: Number | None = None
    box: tuple[Part, Part, Part, Part] | None = None
    slide: Number | None = None
    first_row: Index = 0
    """The row of the header in its sheet, counted from 0; of the first row if there is no header."""
    first_column: Index = 0
    header_rows: Annotated[int, Field(ge=1, le=9)] = 1
    """How many rows of the sheet the header takes, if there is one."""
    header: Annotated[tuple[str, ...], Field(max_length=MOST_COLUMNS)] = ()
    rows: tuple[tuple[str, ...], ...]

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

    @property
    def tables(self) -> tuple[TableSection, ...]:
        """The tables, in the order of the file."""
        return tuple(one for one in self.sections if isinstance(one, TableSection))


class Answer(Strict):
    """The answer of the program behind the wall: a reading, or why there is none."""

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
            answer.unreadable or "The program that reads it gave no valid answer",
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
