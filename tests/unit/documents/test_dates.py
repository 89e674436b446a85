"""Days and ranges of days, as people write them."""

from datetime import date

import pytest

from loci.core.errors import Refused
from loci.markdown.date_ranges import asked_for_newest, parse_date_range, time_named
from loci.markdown.dates import first_day, labelled_day
from tests.support.each import each

SATURDAY = date(2026, 1, 17)


@each(
    "text",
    [
        "2026-01-17",
        "2026-01-17T08:00:00+01:00",
        "20260117-standup.md",
        "2026_01_17_x",
        "2026/01/17",
        "17.1.2026",
        "Treffen am 17. 01. 2026",
        "2026年1月17日",
        "17 January 2026",
        "January 17, 2026",
        "Meeting of 17th Jan 2026",
        "jan. 17th 2026",
        "2026-13-45 or 2026-01-17",
    ],
)
def test_a_day_is_told_in_one_form(text: str) -> None:
    assert first_day(text) == "2026-01-17"


@each(
    "text",
    [
        "",
        "2026",
        "2026-02-30",
        "12026-01-17",
        "1.2.3",
        "v2026.1.1",
        "v1.2.2026",
        "1.2.3.2026",
        "31 February 2026",
        "May 2026",
    ],
)
def test_what_is_no_day_is_none(text: str) -> None:
    assert first_day(text) is None


@each(
    ("text", "day"),
    [
        ("Date: 2017-07-04", "2017-07-04"),
        ("- Start Date: (fill me in with today's date, 2014-03-11)", "2014-03-11"),
        ("Released on 2020/10/26", "2020-10-26"),
        ("<small>Released December 23, 2022</small>", "2022-12-23"),
        ("* **Date:** July 4, 2017", "2017-07-04"),
        ("| Date | 2017-07-04 |", "2017-07-04"),
        ("## Date\n\n2017-07-04", "2017-07-04"),
        ("Meeting 2020/1/5", "2020-01-05"),
        ("Stand: 3. März 2024", "2024-03-03"),
        ("Publié le 17 janvier 2026", "2026-01-17"),
        ("Fecha de publicación: 1 de mayo de 2024", "2024-05-01"),
        ("Дата: 5 мая 2021", "2021-05-05"),
        ("发布于 2024-03-05", "2024-03-05"),
        ("Last updated: 2024-05-01\nCreated: 2023-01-02", "2023-01-02"),
        ("Due date: 2024-05-01", None),
        ("Date of birth: 1980-01-01", None),
        ("We released 2.0 on 2020-10-26.", None),
        ("The date was 2020-01-01", None),
        ("Date: soon, see the notes of the meeting in the archive of the old office, 2020-01-01", None),
        ("word\n" * 60 + "Date: 2020-01-01", None),
    ],
)
def test_a_line_that_labels_a_day_dates_its_document(text: str, day: str | None) -> None:
    assert labelled_day(text.split("\n")) == day


@each(
    ("text", "first", "last"),
    [
        ("2026-01-17", "2026-01-17", "2026-01-17"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("2025-12 .. 2026-01", "2025-12-01", "2026-01-31"),
        ("2026-01-10..", "2026-01-10", None),
        ("..2026-01-10", None, "2026-01-10"),
        ("since 2026-01", "2026-01-01", None),
        ("after 2025", "2026-01-01", None),
        ("before 2026", None, "2025-12-31"),
        ("until 2025", None, "2025-12-31"),
        ("Yesterday", "2026-01-16", "2026-01-16"),
        ("this week", "2026-01-12", "2026-01-17"),
        ("last  week", "2026-01-05", "2026-01-11"),
        ("last month", "2025-12-01", "2025-12-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("the past 2 weeks", "2026-01-03", "2026-01-17"),
        ("last 1 day", "2026-01-16", "2026-01-17"),
        ("any time", None, None),
        ("June 2024", "2024-06-01", "2024-06-30"),
        ("in sept. 2024", "2024-09-01", "2024-09-30"),
        ("3 June 2024", "2024-06-03", "2024-06-03"),
        ("June 3rd, 2024", "2024-06-03", "2024-06-03"),
        ("December", "2025-12-01", "2025-12-31"),
        ("since March", "2025-03-01", None),
        ("since 3 March 2024", "2024-03-03", None),
        ("before June 2024", None, "2024-05-31"),
        ("March to May 2024", "2024-03-01", "2024-05-31"),
        ("from November to February 2024", "2023-11-01", "2024-02-29"),
        ("November 2023 to February", "2023-11-01", "2024-02-29"),
        ("March 2024 - May 2024", "2024-03-01", "2024-05-31"),
        ("2024-01-03 to 2024-02-01", "2024-01-03", "2024-02-01"),
        ("between 2024 and 2025", "2024-01-01", "2025-12-31"),
        ("3 June to today", "2025-06-03", "2026-01-17"),
    ],
)
def test_a_range_has_a_first_and_a_last_day(text: str, first: str | None, last: str | None) -> None:
    assert parse_date_range(text, SATURDAY) == (first, last)


@each(
    "text",
    [
        "",
        "soon",
        "mayor 2024",
        "2024 June May",
        "June 31 2024",
        "2026-13",
        "2026-02-30",
        "2026-02..2026-01",
        "last 9999 years",
        "since",
    ],
)
def test_what_is_not_a_range_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_date_range(text, SATURDAY)
    assert refusal.value.code == "BAD_DATE_RANGE"


@each(
    ("query", "rest"),
    [
        ("newest notes on tides", "notes on tides"),
        ("The latest releases", "releases"),
        ("most recent work", "work"),
        ("latest", None),
        ("notes on the latest", None),
    ],
)
def test_a_question_for_what_is_newest_begins_with_that_word(query: str, rest: str | None) -> None:
    assert asked_for_newest(query) == rest


@each(
    ("question", "first", "last"),
    [
        ("What did we decide in May 2023?", "2023-05-01", "2023-05-31"),
        ("Was haben wir im März 2024 beschlossen?", "2024-03-01", "2024-03-31"),
        ("¿Qué pasó en marzo de 2024?", "2024-03-01", "2024-03-31"),
        ("the minutes of 2024-02", "2024-02-01", "2024-02-29"),
        ("2024年3月的会议", "2024-03-01", "2024-03-31"),
        ("what changed in Q3 2023", "2023-07-01", "2023-09-30"),
        ("2023-Q1 revenue", "2023-01-01", "2023-03-31"),
        ("the call of October 13, 2023", "2023-10-13", "2023-10-13"),
        ("between 8 May 2023 and 2023-07-02", "2023-05-08", "2023-07-02"),
        ("from May 2023 to Aug. 2023", "2023-05-01", "2023-08-31"),
    ],
)
def test_a_question_names_a_time_by_a_day_a_month_of_a_year_or_a_quarter(question: str, first: str, last: str) -> None:
    assert time_named(question) == (first, last)


@each(
    "question",
    [
        "What caused the 2008 crisis?",
        "the plan for 2024",
        "what happened last June",
        "the team of the 2001-02 season",
        "CVE-2023-05 and release 2023-05-1",
        "version 2023-13",
        "in room 2024",
        "may 20234",
        "",
    ],
)
def test_a_year_alone_or_a_number_names_no_time(question: str) -> None:
    assert time_named(question) is None
