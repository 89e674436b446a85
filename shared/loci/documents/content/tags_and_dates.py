"""The tags and the dates of documents, wherever they are written, and ranges of dates as people write them."""

import calendar
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta

from loci.core.errors import Refused
from loci.documents.content.scanners import comments, without_brackets, without_code_spans, without_comments

MOST_TAGS = 100
LONGEST_TAG = 64
# A longer line is not prose: what looks like a tag in it is one by accident.
LONGEST_LINE = 10_000
SPACE = re.compile(r"\s+")
TAGS_COMMENT = re.compile(r"\s*tags\s*:(.*)", re.DOTALL | re.IGNORECASE)
# After a space or an opening bracket, so not in an address, a link or [[note#heading]]; with a letter, so not a number.
HASHTAG = re.compile(r"(?:(?<=^)|(?<=\s)|(?<=(?<!\])\())#(?=[\d_/-]*[^\W\d_])([\w/-]+)")
COLOUR = re.compile(r"(?=.*\d)(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)


def tags_of(given: Iterable[str], prose: str) -> tuple[str, ...]:
    """Each tag once: the given ones of the front matter first, then those in `prose`, the text without code blocks."""
    found = [*_split(given), *_in_comments(prose), *_hashtags(prose)]
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, found) if tag))[:MOST_TAGS]


def normal_tag(tag: str) -> str:
    """The form in which tags are stored and compared: lower case, without `#`, `web-sites` for `Web  Sites`."""
    plain = unicodedata.normalize("NFC", tag).strip(" \t\n\r\"'#,;").lower()
    return SPACE.sub("-", plain)[:LONGEST_TAG]


def without_inline_code(prose: str) -> str:
    """The text with spaces in place of `code` within a line."""
    if "`" not in prose:
        return prose
    return "\n".join(
        without_code_spans(line, lambda span: " " * len(span)) if len(line) <= LONGEST_LINE else line
        for line in prose.split("\n")
    )


def _split(values: Iterable[str]) -> Iterator[str]:
    """Single tags: `a, b` is two, and so is `#a #b`, but `machine learning` is one."""
    for value in values:
        for part in value.split(","):
            yield from part.split() if part.strip().startswith("#") else [part]


def _in_comments(prose: str) -> Iterator[str]:
    if "<!--" not in prose:
        return
    for comment in comments(without_inline_code(prose)):
        if tags := TAGS_COMMENT.fullmatch(comment.inner):
            # Amalfa writes relations into the same comment: [implements: brief-auth].
            yield from _split([without_brackets(tags[1])])


def _hashtags(prose: str) -> Iterator[str]:
    if "#" not in prose:
        return
    for line in without_comments(prose).split("\n"):
        if "#" in line and len(line) <= LONGEST_LINE:
            found = HASHTAG.findall(without_code_spans(line))
            yield from (tag.strip("/-") for tag in found if not COLOUR.fullmatch(tag))


DateRange = tuple[date | None, date | None]
"""First and last day. None: open on that side."""

NUMERIC_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_/.]?)(\d\d)\2(\d\d)(?!\d)")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = rf"({'|'.join(MONTHS)})[a-z]*\.?"
DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\.?\s+{MONTH},?\s+((?:19|20)\d\d)\b", re.IGNORECASE)
MONTH_FIRST = re.compile(rf"\b{MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)\b", re.IGNORECASE)

NAMED_RANGES: dict[str, Callable[[date], DateRange]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - timedelta(1), today - timedelta(1)),
    "this week": lambda today: (_monday(today), today),
    "last week": lambda today: (_monday(today) - timedelta(7), _monday(today) - timedelta(1)),
    "this month": lambda today: (today.replace(day=1), today),
    "last month": lambda today: _month((today.replace(day=1) - timedelta(1)).year, _month_before(today)),
    "this year": lambda today: (date(today.year, 1, 1), today),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
}
DAYS_IN = {"day": 1, "week": 7, "month": 30, "year": 365}
LAST_DAYS = re.compile(r"(?:the )?(?:last|past) (\d{1,4}) (day|week|month|year)s?")
OPEN_RANGE = re.compile(r"(since|from|after|until|to|before) (\S+)")
YEAR_MONTH_DAY = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")


def first_day(text: str) -> str | None:
    """The first valid day in the text, as YYYY-MM-DD. It reads 2026-01-17, 20260117, 17 January 2026 and the like."""
    for found in NUMERIC_DAY.finditer(text):
        if day := _iso_day(found[1], found[3], found[4]):
            return day
    for found in DAY_FIRST.finditer(text):
        if day := _iso_day(found[3], _month_number(found[2]), found[1]):
            return day
    for found in MONTH_FIRST.finditer(text):
        if day := _iso_day(found[3], _month_number(found[1]), found[2]):
            return day
    return None


def parse_date_range(text: str, today: date) -> tuple[str | None, str | None]:
    """First and last day, as YYYY-MM-DD, of a range such as `2026-01`, `2026-01-01..2026-01-31` or `last week`."""
    try:
        first, last = _range(" ".join(text.lower().split()), today)
    except (ValueError, OverflowError):
        raise _unreadable(text) from None
    if first and last and first > last:
        raise Refused(f"The range {text!r} ends before it begins", "Give the earlier date first", code="BAD_DATE_RANGE")
    return first and first.isoformat(), last and last.isoformat()


def _month_number(name: str) -> int:
    return MONTHS.index(name.lower()[:3]) + 1


def _iso_day(year: str, month: str | int, day: str) -> str | None:
    """The day as YYYY-MM-DD. None if the calendar has no such day."""
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _range(text: str, today: date) -> DateRange:
    if named := NAMED_RANGES.get(text):
        return named(today)
    if match := LAST_DAYS.fullmatch(text):
        return today - timedelta(int(match[1]) * DAYS_IN[match[2]]), today
    if match := OPEN_RANGE.fullmatch(text):
        return _open_range(match[1], _calendar_range(match[2]))
    first, dots, last = text.partition("..")
    if not dots:
        return _calendar_range(text)
    return (
        _calendar_range(first.strip())[0] if first.strip() else None,
        _calendar_range(last.strip())[1] if last.strip() else None,
    )


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


def _calendar_range(text: str) -> DateRange:
    """The days of a year, of a month, or one day."""
    match = YEAR_MONTH_DAY.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day = int(match[1]), match[2], match[3]
    if month is None:
        return date(year, 1, 1), date(year, 12, 31)
    if day is None:
        return _month(year, int(month))
    return date(year, int(month), int(day)), date(year, int(month), int(day))


def _month(year: int, month: int) -> DateRange:
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _month_before(today: date) -> int:
    return 12 if today.month == 1 else today.month - 1


def _monday(today: date) -> date:
    return today - timedelta(today.weekday())


def _unreadable(text: str) -> Refused:
    return Refused(
        f"{text!r} is not a date range",
        "Write 2026-01-01..2026-01-31, 2026-01, since 2026-01-01, last week or last 30 days",
        code="BAD_DATE_RANGE",
    )
