"""The nouns of moving: an item, what becomes of it, and the kinds of things that travel."""

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
"""In the JSON of one item. No request brings more, and Loci writes far fewer."""
DAMAGED: Final = "DAMAGED_ARCHIVE"
Word = Literal["taken", "same", "conflict", "left out", "failed", "later"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that an owner has: a record, and the names of its blobs."""

    kind: str
    key: str
    value: JsonObject
    blobs: Mapping[str, str] = field(default_factory=dict[str, str])
    """The SHA-256 of each blob, by its name; empty until an archive has it."""

    @staticmethod
    def of(kind: str, line: object) -> "Item":
        """The item of a line in an archive. Raises `ValueError`, or an error like it, if it is not one."""
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
    """An item, and the way to the bytes of its blobs."""

    item: Item
    load: Callable[[str], bytes]

    @property
    def only_blob(self) -> bytes:
        """The bytes of the item's one blob."""
        [name] = self.item.blobs
        return self.load(name)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A thing that cannot be taken along, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fate of an item in a place that has things already."""

    word: Word
    why: str = ""


TAKEN, SAME = Outcome("taken"), Outcome("same")


@dataclass(frozen=True, slots=True)
class Receiver:
    """The owner who takes things, and whom this owner trusts."""

    owner: Owner
    programs: bool = False
    """True: tool servers that start a program of this machine, or get a value that is set here, come too."""
    from_afar: bool = False
    """True: the things came over HTTP. Nobody at this machine has looked at them."""


class Kind(ABC):
    """One kind of thing: what an owner has of it, and how it is taken back."""

    name: str
    largest: int = 0
    """The most bytes of a blob."""

    @abstractmethod
    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | Unreadable]:
        """All items in the order of their keys, those behind `after`."""

    @abstractmethod
    def label(self, item: Item) -> str:
        """The name of the item for people."""

    @abstractmethod
    def check(self, item: Item) -> None:
        """Raise `ValueError`, or an error like it, if the item is not written as this kind is."""

    @abstractmethod
    def look(self, to: Receiver, item: Item) -> Outcome:
        """The outcome that `take` would have."""

    @abstractmethod
    def put(self, to: Receiver, one: Loaded) -> None:
        """Take an item whose place is free."""

    def take(self, to: Receiver, some: Sequence[Loaded]) -> list[Outcome]:
        """Take the items whose places are free; an error is the outcome of its item alone."""
        return [self._taken(to, one) for one in some]

    def _taken(self, to: Receiver, one: Loaded) -> Outcome:
        try:
            if (outcome := self.look(to, one.item)) == TAKEN:
                self.put(to, one)
        except Conflict as error:  # another import was faster: what is here now?
            outcome = self.look(to, one.item)
            return outcome_of(error) if outcome == TAKEN else outcome
        except LociError as error:
            return outcome_of(error)
        return outcome


def outcome_of(error: LociError) -> Outcome:
    """The outcome for an item that could not be taken."""
    return Outcome("later" if isinstance(error, Unavailable) else "failed", str(error))


def check(kind: Kind, item: Item) -> None:
    """Raise `Refused` if the item is not written as its kind is."""
    try:
        kind.check(item)
    except (LociError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f" ({error.what})" if isinstance(error, LociError) else ""
        what = f"One of the {kind.name} is not written as they are{why}. Nothing was changed"
        raise Refused(what, "Export it again", code=DAMAGED) from None


def parsed(raw: bytes, most: int = MOST_VALUES) -> object:
    """The value of this JSON. Raises `ValueError` for what would take much memory, and for what no store can keep.

    No store can keep NaN, endless numbers, and half a character.
    """
    if (fault := shape_fault(raw, most, DEEPEST)) is not None:
        raise ValueError(fault)
    # Not the bytes: `json` takes other encodings, too, in which they would have to be counted in another way.
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
    """The SHA-256, if the value is one. Raises `ValueError` otherwise."""
    text = string(cast("Any", value))
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise ValueError(text[:80])
    return text


def records_after(records: RecordStore, owner: Owner, kind: str, after: str | None) -> Iterator[Record]:
    """The records of a kind behind that key, in the order of their keys."""
    while True:
        page = records.list(owner, kind, limit=500, after=after)
        yield from page.records
        after = page.next
        if after is None:
            return
