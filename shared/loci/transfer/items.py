"""The nouns of moving: an item, its contents, and what becomes of it in a place that has things already."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast, runtime_checkable

from loci.core.errors import Conflict, LociError, Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject, string
from loci.transfer.plain_values import check_plain

LONGEST_KEY: Final = 2000
MOST_CONTENTS: Final = 200
DAMAGED: Final = "DAMAGED_ARCHIVE"


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes of an item."""

    name: str
    """Which of its contents this is."""
    sha256: str
    size: int
    held: bytes | None = field(default=None, compare=False, repr=False)
    """The bytes themselves, if they were read anyway."""

    @staticmethod
    def of(name: str, held: bytes) -> "Content":
        """The content with these bytes."""
        return Content(name, hashlib.sha256(held).hexdigest(), len(held), held)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that an owner has."""

    part: str
    """The kind of thing, such as `documents`."""
    key: str
    """Its place in the order of its part."""
    about: JsonObject
    """The facts about it besides its contents."""
    contents: tuple[Content, ...] = ()

    def as_json(self) -> JsonObject:
        """The item without the bytes of its contents."""
        contents: list[Any] = [{"name": one.name, "sha256": one.sha256, "bytes": one.size} for one in self.contents]
        return {"part": self.part, "key": self.key, "about": self.about, "contents": contents}

    @staticmethod
    def from_json(value: object) -> "Item":
        """The item of such an object. Raises `Refused` if it is none."""
        try:
            check_plain(value)
            fields = cast("dict[str, Any]", value)
            contents = tuple(
                Content(string(one["name"]), checked_hash(one["sha256"]), _size(one["bytes"]))
                for one in fields["contents"]
            )
            about = fields["about"]
            key = string(fields["key"])
            if not isinstance(about, dict) or len(key) > LONGEST_KEY or len(contents) > MOST_CONTENTS:
                raise TypeError
            return Item(string(fields["part"]), key, cast("JsonObject", about), contents)
        except (KeyError, TypeError, ValueError):
            raise Refused("An item is not written as items are", "Export it again", code=DAMAGED) from None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A thing that cannot be taken along, and why."""

    name: str
    reason: str


Load = Callable[[str], bytes]
"""Gives the bytes of the content of this name."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An item, and how to get its contents."""

    item: Item
    load: Load


@dataclass(frozen=True, slots=True)
class New:
    """It is not here yet."""


@dataclass(frozen=True, slots=True)
class Same:
    """It is here already."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Something else is in its place."""

    why: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """It is not taken here."""

    why: str


Verdict = New | Same | Clash | LeftOut


@dataclass(frozen=True, slots=True)
class Wish:
    """A person's wishes for an import."""

    both: bool = False
    """True: what clashes comes too, in another place."""
    programs: bool = False
    """True: servers that start a program of this machine, or get a value that is set here, come too."""
    from_afar: bool = False
    """True: the request came over HTTP. Nobody at this machine has looked at what it brings."""


class Part(Protocol):
    """One kind of thing: what an owner has of it, and how it is taken back."""

    @property
    def name(self) -> str: ...

    def items(self, owner: Owner, after: str | None, /) -> Iterator[Item | Unreadable]:
        """All items in the order of their keys, those behind `after`."""
        ...

    def read(self, owner: Owner, key: str, content: str, /) -> bytes:
        """The bytes of a content. Raises `NotFound` if it is gone."""
        ...

    def link(self, owner: Owner, key: str, content: str, /) -> str | None:
        """A URL that gives the bytes of a large content; None if there is none."""
        ...

    def check(self, item: Item, /) -> None:
        """Raise `Refused`, or what reading it wrongly raises, if the item is not written as this part writes them."""
        ...

    def label(self, item: Item, /) -> str:
        """The name of the item for people."""
        ...

    def place(self, item: Item, content: Content, /) -> str:
        """The path of the content in an archive."""
        ...

    def largest(self, item: Item, /) -> int:
        """The most bytes that a content may have."""
        ...

    def look(self, owner: Owner, item: Item, wish: Wish, /) -> Verdict:
        """The verdict on the item: what would become of it."""
        ...

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish, /) -> list[LociError | None]:
        """Take items in whose place is free, or as `wish` says. The error of each that could not be taken."""
        ...


@runtime_checkable
class ReadsContents(Protocol):
    """A part that parses the contents of its items: those of an archive are checked before anything is taken."""

    def check_contents(self, loaded: Loaded, /) -> None:
        """Raise `Refused` if they are not written as this part writes them."""
        ...


def taken_each(some: Sequence[Loaded], take: Callable[[Loaded], None]) -> list[LociError | None]:
    """Take items in one after the other. The error of each that could not be taken, as `Part.take` returns them."""
    errors: list[LociError | None] = []
    for one in some:
        try:
            take(one)
        except LociError as error:
            errors.append(error)
        else:
            errors.append(None)
    return errors


def check(part: Part, item: Item) -> None:
    """Raise `Refused` if the item is not written as its part writes them."""
    try:
        part.check(item)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise Refused(f"One of the {part.name} is not written as they are", "Export it again", code=DAMAGED) from None
    most = part.largest(item)
    if any(one.size > most for one in item.contents):
        raise Refused(f"{part.label(item)} is larger than anything that Loci takes", "Leave it out", code=DAMAGED)


def clashes(clash: Clash) -> Conflict:
    """The error for an item in whose place something else is."""
    return Conflict(clash.why, "Import it with --keep both, or change what is here")


def checked_hash(value: object) -> str:
    """The hash, if it is one. Raises `ValueError` if it is none."""
    text = string(cast("Any", value))
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise ValueError(text)
    return text


def _size(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(value)
    return value
