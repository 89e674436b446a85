"""Moments as clients read them."""

from datetime import UTC, datetime


def iso(seconds: float) -> str:
    """The moment in UTC, to the second, as in 2026-01-17T12:34:56Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
