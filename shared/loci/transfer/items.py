"""An item of an export, the outcome of its import, and the base class of the kinds of items."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from loci.core.errors import Conflict, LociError, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject, shape_fault, string
from loci.core.stores import Record, RecordStore

LONGEST_KEY: Final = 2000
MOST_BLOBS: Final = 200
DEEPEST: Final = 200
MOST_DIGITS: Final = 300
MOST_VALUES: Final = 100_000
"""The most values in the JSON of one item. No request has more, and Loci writes far fewer."""
DAMAGED: Final = "DAMAGED_ARCHIVE"
Word = Literal["taken", "same", "conflict", "left out", "failed", "later"]


@dataclass(frozen=True, slots=True)
class Item:
    """A thing that an owner has: a record, and the names of its blobs."""

    kind: str
    key: str
    value: JsonObject
    blobs: Mapping[str, str] = field(default_factory=dict[str, str])
    """The SHA-256 of each blob, by its name; empty until the item is in an archive."""

    @staticmethod
    def from_line(kind: str, line: object) -> "Item":
        """Parse a line of an archive. Raises `ValueError`, or a similar error, if it is not an item."""
        fields = cast("dict[str, Any]", line)
        key, value = string(fields["key"]), fields["value"]
        blobs = {name: checked_hash(one) for name, one in cast("dict[str, Any]", fields["blobs"]).items()}
        if not isinstance(value, dict) or len(key) > LONGEST_KEY or len(blobs) > MOST_BLOBS:
            raise ValueError(key[:80])
        return Item(kind, key, cast("JsonObject", value), blobs)

    @property
    def line(self) -> JsonObject:
        """The item as a line in an archive."""
        return {"key": self.key, "value": self.value, "blobs": dict(self.blobs)}


@dataclass(frozen=True, slots=True)
class Loaded:
    """An item, and the function that reads its blobs."""

    item: Item
    load: Callable[[str], bytes]

    @property
    def only_blob(self) -> bytes:
        """The bytes of the item's one blob."""
        [name] = self.item.blobs
        return self.load(name)


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """An item that cannot be exported, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of importing an item into a target that may have data already."""

    word: Word
    why: str = ""


TAKEN, SAME = Outcome("taken"), Outcome("same")


@dataclass(frozen=True, slots=True)
class Receiver:
    """The owner who receives an import, and how far the import is trusted."""

    owner: Owner
    programs: bool = False
    """True: also import tool servers that start a program of this machine, or get a value that is set here."""
    from_afar: bool = False
    """True: the import came over HTTP, and nobody at this machine has checked it."""


class Kind(ABC):
    """A kind of item: how its items are exported and imported."""

    name: str
    largest: int = 0
    """The most bytes of a blob."""

    @abstractmethod
    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        """All items after the key `after`, in the order of their keys."""

    @abstractmethod
    def label(self, item: Item) -> str:
        """The name of the item for people."""

    @abstractmethod
    def check(self, item: Item) -> None:
        """Raise `ValueError`, or a similar error, if the item is not valid for this kind."""

    @abstractmethod
    def preview(self, to: Receiver, item: Item) -> Outcome:
        """The outcome that `store` would have."""

    @abstractmethod
    def put(self, to: Receiver, one: Loaded) -> None:
        """Store an item that does not exist yet."""

    def store(self, to: Receiver, some: Sequence[Loaded]) -> list[Outcome]:
        """Store the items that do not exist yet. An error is the outcome of its item alone."""
        return [self._store_one(to, one) for one in some]

    def _store_one(self, to: Receiver, one: Loaded) -> Outcome:
        try:
            if (outcome := self.preview(to, one.item)) == TAKEN:
                self.put(to, one)
        except Conflict as error:  # another import was faster: what is here now?
            outcome = self.preview(to, one.item)
            return outcome_of(error) if outcome == TAKEN else outcome
        except LociError as error:
            return outcome_of(error)
        return outcome


def outcome_of(error: LociError) -> Outcome:
    """The outcome for an item that could not be stored."""
    return Outcome("later" if isinstance(error, Unavailable) else "failed", str(error))


def check(kind: Kind, item: Item) -> None:
    """Raise `Refused` if the item is not valid for its kind."""
    try:
        kind.check(item)
    except (LociError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f" ({error.what})" if isinstance(error, LociError) else ""
        what = f"One of the {kind.name} is not valid{why}. Nothing was changed"
        raise Refused(what, "Export it again", code=DAMAGED) from None


def parsed(raw: bytes, most: int = MOST_VALUES) -> object:
    """Parse this JSON. Raises `ValueError` if it would take too much memory, or has values that no store can keep.

    Such values are NaN, infinite numbers and lone surrogates.
    """
    if (fault := shape_fault(raw, most, DEEPEST)) is not None:
        raise ValueError(fault)
    # Decoded first: `json` also accepts other encodings, in which the values would be counted wrongly.
    value = json.loads(raw.decode(), parse_float=_finite, parse_int=_number, parse_constant=_finite)
    if b"\\u" in raw:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text[:80])
    return number


def _number(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(text[:80])
    return int(text)


def checked_hash(value: object) -> str:
    """Check that the value is a SHA-256. Raises `ValueError` otherwise."""
    text = string(cast("Any", value))
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise ValueError(text[:80])
    return text


def records_after(records: RecordStore, owner: Owner, kind: str, after: str | None) -> Iterator[Record]:
    """The records of a kind after that key, in the order of their keys."""
    while True:
        page = records.list(owner, kind, limit=500, after=after)
        yield from page.records
        after = page.next
        if after is None:
            return
