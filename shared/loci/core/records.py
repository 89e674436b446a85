"""A small stored document, and what may be its key."""

from dataclasses import dataclass

from loci.core.errors import Refused
from loci.core.json import JsonObject

LONGEST_KEY = 512


@dataclass(frozen=True, slots=True)
class Record:
    """One document under a key. Each write gives it another version."""

    key: str
    value: JsonObject
    version: str
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Records in the order of their keys, and where the next page starts (None: there is none)."""

    records: tuple[Record, ...]
    next: str | None


def checked_key(key: str) -> str:
    """The key as given, if every store can hold it."""
    try:
        size = len(key.encode("utf-8"))
    except UnicodeEncodeError:
        raise Refused(
            "A key holds half of a surrogate pair", "Use text that UTF-8 can encode", code="BAD_KEY"
        ) from None
    if not 0 < size <= LONGEST_KEY:
        raise Refused(f"A key has 1 to {LONGEST_KEY} bytes, this one has {size}", "Use a shorter key", code="BAD_KEY")
    return key
