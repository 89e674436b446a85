"""Shows the values of cells as a person would read them, and sorts them into kinds."""

import datetime
import re
from collections.abc import Callable
from typing import Any

DIGITS = 15
"""Spreadsheets keep this many digits of a number."""
NUMBER = re.compile(r"[-+(]?\s?[$€£¥]?\s?[-+]?\d[\d.,' ]*(?:[eE][-+]?\d+)?\s?[%$€£¥]?\)?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d{2}\S*)?|\d{1,2}:\d{2}(?::\d{2})?")
QUOTED = re.compile(r'"[^"]*"?|\\.|_.|\*.')
"""The parts of a number format that are written as they are."""
YEARS = range(1900, 2101)


def shown(cell: Any) -> str:
    """The text of a cell."""
    show = SHOWN.get(cell.__class__)
    return show(cell) if show else str(cell)


def shown_number(number: float) -> str:
    """The number without the noise of its binary form: 0.3 for 0.30000000000000004."""
    if number.is_integer() and abs(number) < 10**DIGITS:
        return str(int(number))
    return f"{number:.{DIGITS}g}"


def shown_percent(number: float) -> str:
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


SHOWN: dict[type, Callable[[Any], str]] = {
    str: lambda text: text if text and not text.isspace() else "",
    float: shown_number,
    int: str,
    bool: lambda value: "TRUE" if value else "FALSE",
    type(None): lambda _: "",
    datetime.datetime: _moment,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    datetime.timedelta: _duration,
}
