"""Ranges of dates as people write them."""

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta

from loci.core.errors import Refused

Range = tuple[date | None, date | None]
"""First and last day; None: open on that side."""

NAMES: dict[str, Callable[[date], Range]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - timedelta(1), today - timedelta(1)),
    "this week": lambda today: (_monday(today), today),
    "last week": lambda today: (_monday(today) - timedelta(7), _monday(today) - timedelta(1)),
    "this month": lambda today: (today.replace(day=1), today),
    "last month": lambda today: _month((today.replace(day=1) - timedelta(1)).year, _month_before(today)),
    "this year": lambda today: (date(today.year, 1, 1), today),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
}
DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
LAST = re.compile(r"(?:the )?(?:last|past) (\d{1,4}) (day|week|month|year)s?")
SINCE = re.compile(r"(since|from|after|until|to|before) (\S+)")
PART = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")


def period(text: str, today: date) -> tuple[str | None, str | None]:
    """First and last day as YYYY-MM-DD, of `2026-01-17`, `2026-01`, `2026-01-01..2026-01-31`, `last week`, …"""
    try:
        first, last = _range(" ".join(text.lower().split()), today)
    except (ValueError, OverflowError):
        raise _unreadable(text) from None
    if first and last and first > last:
        raise Refused(f"The range {text!r} ends before it begins", "Give the earlier date first", code="BAD_DATE_RANGE")
    return first and first.isoformat(), last and last.isoformat()


def _range(text: str, today: date) -> Range:
    if named := NAMES.get(text):
        return named(today)
    if match := LAST.fullmatch(text):
        return today - timedelta(int(match[1]) * DAYS[match[2]]), today
    if match := SINCE.fullmatch(text):
        return _open(match[1], _part(match[2]))
    first, dots, last = text.partition("..")
    if not dots:
        return _part(text)
    return (_part(first.strip())[0] if first.strip() else None, _part(last.strip())[1] if last.strip() else None)


def _open(word: str, part: Range) -> Range:
    first, last = part
    match word:
        case "since" | "from":
            return first, None
        case "after":
            return last and last + timedelta(1), None
        case "before":
            return None, first and first - timedelta(1)
        case _:
            return None, last


def _part(text: str) -> Range:
    """The days of a year, of a month, or one day."""
    match = PART.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day = int(match[1]), match[2], match[3]
    if month is None:
        return date(year, 1, 1), date(year, 12, 31)
    if day is None:
        return _month(year, int(month))
    return date(year, int(month), int(day)), date(year, int(month), int(day))


def _month(year: int, month: int) -> Range:
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _month_before(today: date) -> int:
    return 12 if today.month == 1 else today.month - 1


def _monday(today: date) -> date:
    return today - timedelta(today.weekday())


def _unreadable(text: str) -> Refused:
    return Refused(
        f"{text!r} is no range of dates",
        "Write 2026-01-01..2026-01-31, 2026-01, since 2026-01-01, last week or last 30 days",
        code="BAD_DATE_RANGE",
    )
