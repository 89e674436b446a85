"""JSON values, and points in time as clients read them."""

from datetime import UTC, datetime

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject = dict[str, Json]


def string(value: Json) -> str:
    """Return the value if it is a string, else raise `TypeError`."""
    if not isinstance(value, str):
        raise TypeError(f"this is no string but {type(value).__name__}")
    return value


def iso(seconds: float) -> str:
    """Return the time in UTC, to the second, such as 2026-01-17T12:34:56Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
