"""The day that a document is of, wherever it is written."""

import re
from datetime import date

FIELDS = ("date", "created", "created_at", "published", "day", "updated", "updated_at", "modified")
NUMBERS = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_/.]?)(\d\d)\2(\d\d)(?!\d)")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = rf"({'|'.join(MONTHS)})[a-z]*\.?"
DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\.?\s+{MONTH},?\s+((?:19|20)\d\d)\b", re.IGNORECASE)
MONTH_FIRST = re.compile(rf"\b{MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)\b", re.IGNORECASE)


def day_in(text: str) -> str | None:
    """The first day of the calendar that the text names, as YYYY-MM-DD: 2026-01-17, 20260117, 17 January 2026, …"""
    for found in NUMBERS.finditer(text):
        if day := _day(found[1], found[3], found[4]):
            return day
    for found in DAY_FIRST.finditer(text):
        if day := _day(found[3], _month(found[2]), found[1]):
            return day
    for found in MONTH_FIRST.finditer(text):
        if day := _day(found[3], _month(found[1]), found[2]):
            return day
    return None


def _month(name: str) -> int:
    return MONTHS.index(name.lower()[:3]) + 1


def _day(year: str, month: str | int, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None
