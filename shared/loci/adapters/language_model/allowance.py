"""The daily allowance of tokens that all instances share."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from loci.core.errors import Conflict, Unavailable
from loci.core.identity import SYSTEM
from loci.core.layout import LANGUAGE_TOKENS
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none

TWO_DAYS = 2 * 24 * 3600
ATTEMPTS = 50
"""Whenever one instance loses the race, another has won it. So this is the most that may write at once."""


class DailyAllowance:
    """One counter for each day (UTC), in the store that the instances share."""

    def __init__(self, records: RecordStore, most_tokens: int, clock: Callable[[], float]) -> None:
        self._records = records
        self._most = most_tokens
        self._clock = clock

    def reserve(self, tokens: int, of_day: float = 1.0) -> str:
        """Take the tokens from this share of today's allowance, and return the day.

        Raises `Unavailable` if too few are left.
        """
        day = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        self._add(day, tokens, most=int(self._most * of_day))
        return day

    def correct(self, day: str, tokens: int) -> None:
        """Add tokens to those of that day; a negative number gives some back."""
        # If this fails, the reservation stays: better to count too many tokens than too few.
        with suppress(Unavailable):
            self._add(day, tokens, most=None)

    def _add(self, day: str, tokens: int, *, most: int | None) -> None:
        for _ in range(ATTEMPTS):
            record = self._records.get(SYSTEM, LANGUAGE_TOKENS, day)
            spent = read_or_none(record, spent_tokens) or 0
            if most is not None and spent + tokens > most:
                kind = "" if most == self._most else " for work that nobody waits for"
                raise Unavailable(
                    f"The language model's {most:,} tokens for today{kind} are spent",
                    "Wait until midnight UTC, or raise LOCI_LANGUAGE_MODEL_DAILY_TOKENS",
                )
            with suppress(Conflict):
                self._records.put(
                    SYSTEM,
                    LANGUAGE_TOKENS,
                    day,
                    {"tokens": max(0, spent + tokens)},
                    expect_version=record.version if record else ABSENT,
                    expires_at=self._clock() + TWO_DAYS,
                    durable=False,
                )
                return
        raise Unavailable("Too many requests use the language model at once", "Try again")


def spent_tokens(record: Record) -> int:
    """The tokens that a day's record counts."""
    return int(str(record.value["tokens"]))
