"""Ranges of days as people write them, and questions for the newest."""

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from loci.core.errors import Refused
from loci.markdown.dates import NUMBER_OF, days_in

DateRange = tuple[date | None, date | None]
"""First and last day. None: open on that side."""

NAMED_RANGES: dict[str, Callable[[date], DateRange]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - timedelta(1), today - timedelta(1)),
    "this week": lambda today: (today - timedelta(today.weekday()), today),
    "last week": lambda today: (today - timedelta(today.weekday() + 7), today - timedelta(today.weekday() + 1)),
    "this month": lambda today: (today.replace(day=1), today),
    "last month": lambda today: _month(today.replace(day=1) - timedelta(1)),
    "this year": lambda today: (date(today.year, 1, 1), today),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
    "any time": lambda _: (None, None),
}
DAYS_IN = {"day": 1, "week": 7, "month": 30, "year": 365}
LAST_DAYS = re.compile(r"(?:the )?(?:last|past) (\d{1,4}) (day|week|month|year)s?")
OPEN_RANGE = re.compile(r"(since|from|after|until|till|to|before) (\S.*)", re.DOTALL)
LEADING = re.compile(r"(?:in|during|from|between) (\S.*)", re.DOTALL)
BETWEEN = ("..", " to ", " until ", " till ", " through ", " and ", " - ", " – ", " — ")  # noqa: RUF001
YEAR_MONTH_DAY = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")
DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?")
MONTHS = [name.lower() for name in calendar.month_name][1:]
LONGEST = 100
NEWEST = re.compile(r"\s*(?:the\s+)?(?:newest|latest|most\s+recent|recent)\s+(\S.*)", re.IGNORECASE | re.DOTALL)

NAMED_MONTH = re.compile(r"\b([^\W\d_]{3,12})\.?,?\s(?:(?:of|de|del)\s)?((?:19|20)\d\d)\b")
NUMBERED_MONTH = re.compile(r"(?<![\w-])((?:19|20)\d\d)-(0[1-9]|1[0-2])(?![\w-])")
CHINESE_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)年(\d{1,2})月")
QUARTER = re.compile(r"\bQ([1-4])[ /-]?((?:19|20)\d\d)\b|(?<![\w-])((?:19|20)\d\d)[ /-]?Q([1-4])\b", re.IGNORECASE)
LONGEST_QUESTION = 2_000
"""Characters of a question in which a time is looked for."""


def time_named(question: str) -> tuple[str, str] | None:
    """First and last day of the time that a question names: days, months with their years, or quarters.

    A year alone is none: it belongs to a name or to a topic as often as it says when a text was written.
    """
    text = question[:LONGEST_QUESTION]
    days = days_in(text) or [day for month in _months_named(text) for day in _month(month)]
    return (min(days).isoformat(), max(days).isoformat()) if days else None


def _months_named(text: str) -> Iterator[date]:
    """The first days of the months, and of the first and last months of the quarters."""
    for found in NAMED_MONTH.finditer(text):
        if month := NUMBER_OF.get(found[1].casefold()):
            yield date(int(found[2]), month, 1)
    for found in (*NUMBERED_MONTH.finditer(text), *CHINESE_MONTH.finditer(text)):
        year, month = int(found[1]), int(found[2])
        if month in range(1, 13) and month != year % 100 + 1:  # 2001-02 may be a season
            yield date(year, month, 1)
    for found in QUARTER.finditer(text):
        year, quarter = int(found[2] or found[3]), int(found[1] or found[4])
        yield from (date(year, 3 * quarter - 2, 1), date(year, 3 * quarter, 1))


def asked_for_newest(query: str) -> str | None:
    """The rest of a question that begins with `newest`, `latest` or `most recent`; None if it does not."""
    found = NEWEST.match(query)
    return found[1] if found else None


def parse_date_range(text: str, today: date) -> tuple[str | None, str | None]:
    """First and last day, as YYYY-MM-DD, of a range such as `June 2024`, `2026-01-01..2026-01-31` or `last week`."""
    try:
        first, last = _range(" ".join(text[: LONGEST + 1].lower().replace(",", " ").split()), today)
    except (ValueError, OverflowError):
        raise Refused(
            f"{text[:LONGEST]!r} is not a date range",
            "Write June 2024, March to May 2024, 2026-01-01..2026-01-31, since March, last week, last 30 days or any"
            " time",
            code="BAD_DATE_RANGE",
        ) from None
    if first and last and first > last:
        raise Refused(f"The range {text!r} ends before it begins", "Give the earlier date first", code="BAD_DATE_RANGE")
    return first and first.isoformat(), last and last.isoformat()


@dataclass(frozen=True, slots=True)
class _Calendar:
    """A year, a month or a day. A month may lack its year."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def days(self, year: int) -> DateRange:
        """The first and last day; in this year, if it names no year."""
        year = self.year or year
        if self.month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if self.day is None:
            return _month(date(year, self.month, 1))
        return date(year, self.month, self.day), date(year, self.month, self.day)


def _range(text: str, today: date) -> DateRange:
    if match := LAST_DAYS.fullmatch(text):
        return today - timedelta(int(match[1]) * DAYS_IN[match[2]]), today
    if text in NAMED_RANGES:
        return NAMED_RANGES[text](today)
    bare = found[1] if (found := LEADING.fullmatch(text)) else text
    for between in BETWEEN:
        first, found_between, last = bare.partition(between)
        if found_between and len(text) <= LONGEST:
            return _from_to(first.strip(), last.strip(), today)
    if match := OPEN_RANGE.fullmatch(text):
        return _open_range(match[1], _days(match[2], today))
    return _days(bare, today)


def _from_to(first: str, last: str, today: date) -> DateRange:
    """The days from `first` to `last`. A month without a year is in the year of the other one, or next to it."""
    if not first or not last or first in NAMED_RANGES or last in NAMED_RANGES:
        return _days(first, today)[0] if first else None, _days(last, today)[1] if last else None
    begins, ends = _calendar(first), _calendar(last)
    year = ends.year or begins.year or _year_of(ends, today)
    first_day, last_day = begins.days(year)[0], ends.days(year)[1]
    if first_day and last_day and first_day > last_day:
        if not ends.year and begins.year:
            last_day = ends.days(year + 1)[1]
        elif not begins.year:
            first_day = begins.days(year - 1)[0]
    return first_day, last_day


def _open_range(word: str, limit: DateRange) -> DateRange:
    first, last = limit
    match word:
        case "since" | "from":
            return first, None
        case "after":
            return last and last + timedelta(1), None
        case "before":
            return None, first and first - timedelta(1)
        case _:
            return None, last


def _days(text: str, today: date) -> DateRange:
    """The days of a name, a year, a month, or one day. A month without a year is the last one that has begun."""
    if text in NAMED_RANGES:
        return NAMED_RANGES[text](today)
    found = _calendar(text)
    return found.days(_year_of(found, today))


def _year_of(found: _Calendar, today: date) -> int:
    is_later = ((found.month or 0), (found.day or 0)) > (today.month, today.day)
    return found.year or (today.year - 1 if is_later else today.year)


def _calendar(text: str) -> _Calendar:
    if match := YEAR_MONTH_DAY.fullmatch(text):
        year, month, day = match.groups()
        return _Calendar(int(year), int(month) if month else None, int(day) if day else None)
    return _named_month([word for word in text.split() if word != "of"])


def _named_month(words: Sequence[str]) -> _Calendar:
    """`june 2024`, `3 june 2024`, `june 3rd`."""
    year = int(words[-1]) if len(words) > 1 and YEAR_MONTH_DAY.fullmatch(words[-1]) else None
    rest = words if year is None else words[:-1]
    days = [match[1] for word in rest if (match := DAY.fullmatch(word))]
    names = [word.rstrip(".") for word in rest if not DAY.fullmatch(word)]
    if len(names) != 1 or len(days) > 1 or len(names[0]) < 3:
        raise ValueError(words)
    months = [number for number, month in enumerate(MONTHS, 1) if month.startswith(names[0])]
    if not months:
        raise ValueError(words)
    return _Calendar(year, months[0], int(days[0]) if days else None)


def _month(day: date) -> tuple[date, date]:
    return day.replace(day=1), day.replace(day=calendar.monthrange(day.year, day.month)[1])
