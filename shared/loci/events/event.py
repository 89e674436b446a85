"""An event, and its place in the log of its owner."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from loci.core.json import JsonObject

MISSED: Final = "missed"
"""The kind of the event that says that others are missing. No filter leaves it out."""
_ID: Final = re.compile(r"(\d{1,12})\.(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that has happened."""

    kind: str
    at: float
    fields: JsonObject

    def as_json(self) -> JsonObject:
        """The event as clients read it."""
        return {"kind": self.kind, "at": iso_time(self.at), **self.fields}


def iso_time(at: float) -> str:
    """The time as clients read it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Place:
    """An event in the log, up to which somebody has read: its batch, and its number in that."""

    batch: int
    event: int = 0
    is_last: bool = field(default=False, compare=False)
    """True: nothing follows in the batch. False: perhaps something does."""

    @property
    def id(self) -> str:
        """As the `id` of server-sent events."""
        return f"{self.batch}.{self.event}"

    @staticmethod
    def of(id: str) -> "Place | None":
        """The place with this id; None if it is no id of an event."""
        found = _ID.fullmatch(id)
        return Place(int(found[1]), int(found[2])) if found else None


START: Final = Place(0, is_last=True)


@dataclass(frozen=True, slots=True)
class Read:
    """The next events of a log."""

    events: tuple[tuple[Place, Event], ...]
    place: Place
    """Of the last one; the place before if there are none."""
    has_gap: bool = False
    """True: before them, events are missing that the log does not keep any more."""
    is_more: bool = False
