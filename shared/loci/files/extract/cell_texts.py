"""Cells of tables: their texts as a person would read them, their kinds, and their names."""

import datetime
import re
from collections.abc import Callable
from typing import Any

CELL_NAME = re.compile(r"([A-Z]+)(\d+)")
DIGITS = 15
"""Spreadsheets keep this many digits of a number."""
NUMBER = re.compile(r"[-+(]?\s?[$€£¥]?\s?[-+]?\d[\d.,' ]*(?:[eE][-+]?\d+)?\s?[%$€£¥]?\)?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d{2}\S*)?|\d{1,2}:\d{2}(?::\d{2})?")
QUOTED = re.compile(r'"[^"]*"?|\\.|_.|\*.')
"""The parts of a number format that are written as they are."""
YEARS = range(1900, 2101)


def cell_text(cell: Any) -> str:
    """The text of a cell."""
    show = TEXTS.get(cell.__class__)
    return show(cell) if show else str(cell)


def number_text(number: float) -> str:
    """The number without the noise of its binary form: 0.3 for 0.30000000000000004."""
    if number.is_integer() and abs(number) < 10**DIGITS:
        return str(int(number))
    return f"{number:.{DIGITS}g}"


def percent_text(number: float) -> str:
    """25.6% for 0.256."""
    return f"{number * 100:.{DIGITS - 3}g}%"


def shows_percent(format: str) -> bool:
    """True if a number format shows a number as a percentage: a sign in quotation marks is only written behind it."""
    return "%" in QUOTED.sub("", format)


def kind(value: Any) -> str:
    """The kind of a cell: e for empty, s for a text, n for a number, d for a date or a time, y for a year."""
    if isinstance(value, str):
        return "s" if value.strip() else "e"
    if isinstance(value, bool):
        return "b"
    if isinstance(value, int | float):
        return "y" if value in YEARS else "n"
    return "e" if value is None else "d"


def kind_of_text(text: str) -> str:
    """The kind of a cell that has no type of its own, as in a CSV file."""
    text = text.strip()
    if not text:
        return "e"
    if text.isdecimal() and len(text) == 4 and int(text) in YEARS:
        return "y"
    if DATE.fullmatch(text):
        return "d"
    return "n" if NUMBER.fullmatch(text) else "s"


def _moment(value: datetime.datetime) -> str:
    return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")


def _duration(value: datetime.timedelta) -> str:
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


TEXTS: dict[type, Callable[[Any], str]] = {
    str: lambda text: text if text and not text.isspace() else "",
    float: number_text,
    int: str,
    bool: lambda value: "TRUE" if value else "FALSE",
    type(None): lambda _: "",
    datetime.datetime: _moment,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    datetime.timedelta: _duration,
}


def place_of(row: int, column: int) -> str:
    """The name of the cell in this row and column, counted from 0."""
    letters, number = "", column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


def column_number(letters: str) -> int:
    """1 for A, 26 for Z, 27 for AA."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def position(place: str, row: int, column: int) -> tuple[int, int]:
    """The distances of the cell below the row and right of the column; -1 if the text is no cell's name."""
    found = CELL_NAME.fullmatch(place)
    if found is None:
        return -1, -1
    return int(found.group(2)) - 1 - row, column_number(found.group(1)) - 1 - column
