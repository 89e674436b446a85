"""An event, its position in the log of its owner, and the port of the log."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

from loci.core.identity import Owner
from loci.core.json import JsonObject

MISSED: Final = "missed"
"""The kind of the event that says that events are missing. No filter leaves it out."""
_ID: Final = re.compile(r"(\d{1,16})\.(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that has happened."""

    kind: str
    at: float
    fields: JsonObject

    def as_json(self) -> JsonObject:
        """The event as clients read it."""
        return {"kind": self.kind, "at": iso_time(self.at), **self.fields}

    def stored(self) -> dict[str, Any]:
        """The event as a log keeps it."""
        return {"kind": self.kind, "at": self.at, "fields": self.fields}

    @staticmethod
    def from_stored(stored: object) -> "Event | None":
        """The event that a log has kept; None if the value is no event."""
        match stored:
            case {"kind": str(kind), "at": float() | int() as at, "fields": dict()}:
                return Event(kind, float(at), cast("dict[str, Any]", stored)["fields"])
            case _:
                return None


def iso_time(at: float) -> str:
    """The time as clients read it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, order=True)
class EventPosition:
    """The position of a reader in the log: two numbers that only the log understands."""

    part: int
    at: int

    @property
    def id(self) -> str:
        """The place as the `id` of server-sent events."""
        return f"{self.part}.{self.at}"

    @staticmethod
    def parse(id: str) -> "EventPosition | None":
        """The position with this id; None if it is no id of an event."""
        found = _ID.fullmatch(id)
        return EventPosition(int(found[1]), int(found[2])) if found else None


START: Final = EventPosition(0, 0)
"""The position before all kept events."""


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The next events of a log, each with its place."""

    events: Sequence[tuple[EventPosition, Event]]
    place: EventPosition
    """The position to continue from."""
    has_gap: bool = False
    """True: events before them are missing, because the log does not keep them any more or is another log."""
    is_more: bool = False


class EventLog(Protocol):
    """The events of each owner, which all processes write and read. Raises `LociError` if the store fails."""

    def append(self, owner: Owner, events: Sequence[Event]) -> None:
        """Write the events. A log may leave out calls that nobody follows."""
        ...

    def end(self, owner: Owner) -> EventPosition:
        """The place where a reader begins who wants only what comes."""
        ...

    def since(self, owner: Owner, at: float) -> EventPosition:
        """A position before all kept events since that time. Some older events may come first."""
        ...

    def after(self, owner: Owner, place: EventPosition) -> EventBatch:
        """Return the next events after the position, or after a gap if the position is not kept any more."""
        ...
