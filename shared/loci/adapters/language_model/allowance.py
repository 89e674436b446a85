"""The daily allowance of tokens that all instances share."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from loci.core.errors import Conflict, Unavailable
from loci.core.identity import SYSTEM
from loci.core.json import JsonObject
from loci.core.storage_keys import LANGUAGE_TOKENS
from loci.core.stores import Record, RecordStore, read_or_none, update

TWO_DAYS = 2 * 24 * 3600


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
        def added(record: Record | None) -> JsonObject:
            spent = read_or_none(record, spent_tokens) or 0
            if most is not None and spent + tokens > most:
                kind = "" if most == self._most else " for work that nobody waits for"
                raise Unavailable(
                    f"The language model's {most:,} tokens for today{kind} are spent",
                    "Wait until midnight UTC, or raise LOCI_LANGUAGE_MODEL_DAILY_TOKENS",
                )
            return {"tokens": max(0, spent + tokens)}

        try:
            until = self._clock() + TWO_DAYS
            update(self._records, SYSTEM, LANGUAGE_TOKENS, day, added, expires_at=until, durable=False)
        except Conflict:
            raise Unavailable("Too many requests use the language model at once", "Try again") from None


def spent_tokens(record: Record) -> int:
    """The tokens that a day's record counts."""
    return int(str(record.value["tokens"]))
