"""The first day that a text names."""

import pytest

from loci.documents.content.dates import day_in


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-17",
        "2026-01-17T08:00:00+01:00",
        "20260117-standup.md",
        "2026_01_17_x",
        "2026/01/17",
        "17 January 2026",
        "January 17, 2026",
        "Meeting of 17th Jan 2026",
        "jan. 17th 2026",
        "2026-13-45 or 2026-01-17",
    ],
)
def test_a_day_is_told_in_one_form(text: str) -> None:
    assert day_in(text) == "2026-01-17"


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-02-30", "12026-01-17", "1.2.3", "v2026.1.1", "31 February 2026", "May 2026"]
)
def test_what_is_no_day_is_none(text: str) -> None:
    assert day_in(text) is None
