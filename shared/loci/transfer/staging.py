"""Bytes that are on their way in, piece by piece: a content that is too large for one request."""

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from loci.core.errors import NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.layout import LEFT_DAYS
from loci.core.stores import BlobStore

FOLDER: Final = "transfer/"
PIECE_KEY: Final = re.compile(r"([0-9a-f]{64})/(\d{1,12})-(\d{1,12})-(\d{1,12})", re.ASCII)
FULL: Final = "ARRIVING_FULL"
"""The code of the error if there is no room for more."""
BUSY_SECONDS: Final = 3600.0
"""A content that got a piece since then is perhaps still on its way."""
MOST_BYTES: Final = 1 << 30
MOST_CONTENTS: Final = 64
"""On their way at once. A document with all its earlier texts has 21."""
LEAST: Final = 1 << 18
"""A piece counts for at least so many bytes, so that one list of all is short."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A piece that comes in."""

    sha256: str
    """Of the whole."""
    begin: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece that is here. Its key says all of this, so one list tells what is on its way."""

    key: str
    sha256: str
    begin: int
    bytes: int
    came: int
    """Seconds since 1970."""


class Staging:
    """Pieces of contents, by the hash of the whole. What is whole is checked before it is used."""

    def __init__(self, blobs: BlobStore, clock: Callable[[], float] = time.time, most_bytes: int = MOST_BYTES) -> None:
        """`most_bytes`: of all that an owner has here."""
        self._blobs = blobs
        self._clock = clock
        self._most_bytes = most_bytes

    def put(self, owner: Owner, pieces: Iterable[Sent]) -> None:
        """Keep pieces. Raises `Refused` if the owner would have too much here; then none of them stays.

        One that is here already is not kept again. What others send at the same moment is counted once all is written:
        so all that stays is never too much, whoever was first.
        """
        before = [*self._pieces(owner)]
        here = {(one.sha256, one.begin, one.bytes) for one in before}
        new: dict[tuple[str, int], Sent] = {}
        for one in pieces:
            if (one.sha256, one.begin, len(one.content)) not in here:
                new[one.sha256, one.begin] = one
        if not new:
            return
        now = int(self._clock())
        keys = {_key(one.sha256, one.begin, len(one.content), now): one.content for one in new.values()}
        self._check_room([*(one for one in before if _place(one) not in new), *map(_piece, keys)])
        for key, content in keys.items():
            self._blobs.write(owner, key, content, durable=False)
        after = [*self._pieces(owner)]
        newest = _newest(after)
        older = {one.key for one in after if _place(one) in new and newest[_place(one)] != one}
        for key in older:
            self._blobs.remove(owner, key)
        try:
            self._check_room(one for one in after if one.key not in older)
        except Refused:
            for key in keys:
                self._blobs.remove(owner, key)
            raise

    def held(self, owner: Owner, hashes: Sequence[str]) -> dict[str, list[int]]:
        """The beginnings of the pieces that are here, by the hash of the whole. Those that were left go first."""
        self.drop_left(owner)
        begins = {one: set[int]() for one in hashes}
        for piece in self._pieces(owner):
            if piece.sha256 in begins:
                begins[piece.sha256].add(piece.begin)
        return {one: sorted(found) for one, found in begins.items()}

    def whole(self, owner: Owner, sha256: str, size: int) -> bytes:
        """The content with this hash and size. Raises `Unavailable` if a piece is missing, `Refused` if one is wrong.

        Either way it begins anew: what is missing may have been used by another import.
        """
        content = b"".join(self._contents(owner, sha256, size))
        if len(content) == size and hashlib.sha256(content).hexdigest() == sha256:
            return content
        self.drop(owner, sha256)
        kind = Unavailable if len(content) < size else Refused
        raise kind("A content did not arrive whole", "Run the same command again", code="NOT_WHOLE")

    def _contents(self, owner: Owner, sha256: str, size: int) -> Iterator[bytes]:
        """Of each piece that begins where the one before ends: pieces that overlap are never more than the whole."""
        pieces = {one.begin: one for one in _newest(self._pieces(owner, f"{sha256}/")).values()}
        end = 0
        while end < size and end in pieces:
            try:
                yield self._blobs.read(owner, pieces[end].key)
            except NotFound:
                return
            end += pieces[end].bytes

    def drop(self, owner: Owner, sha256: str) -> None:
        """Remove the pieces of this content."""
        for key in self._blobs.list(owner, f"{FOLDER}{sha256}/"):
            self._blobs.remove(owner, key)

    def left(self, owner: Owner, seconds: float) -> list[Piece]:
        """The pieces of contents that got none for so long."""
        pieces, since = [*self._pieces(owner)], self._clock() - seconds
        busy = {one.sha256 for one in pieces if one.came >= since}
        return [one for one in pieces if one.sha256 not in busy]

    def age(self, came: int) -> float:
        """The seconds since then."""
        return self._clock() - came

    def drop_left(self, owner: Owner, seconds: float = LEFT_DAYS * 86_400) -> None:
        """Remove those pieces."""
        for one in self.left(owner, seconds):
            self._blobs.remove(owner, one.key)

    def _check_room(self, pieces: Iterable[Piece]) -> None:
        held = [*pieces]
        if len({one.sha256 for one in held}) > MOST_CONTENTS:
            raise _full(f"More than {MOST_CONTENTS} contents would be on their way in at once")
        if sum(max(one.bytes, LEAST) for one in held) > self._most_bytes:
            what = f"More than {self._most_bytes >> 20:,} MB would be on their way in at once"
            raise _full(what, ". Its setting arriving_mb allows more")

    def _pieces(self, owner: Owner, below: str = "") -> Iterator[Piece]:
        for key in self._blobs.list(owner, FOLDER + below):
            if PIECE_KEY.fullmatch(key.removeprefix(FOLDER)) and (piece := _piece(key)).bytes:
                yield piece


def _key(sha256: str, begin: int, size: int, came: int) -> str:
    return f"{FOLDER}{sha256}/{begin:012}-{size}-{came}"


def _piece(key: str) -> Piece:
    sha256, _, numbers = key.removeprefix(FOLDER).partition("/")
    return Piece(key, sha256, *map(int, numbers.split("-")))


def _place(one: Piece) -> tuple[str, int]:
    return one.sha256, one.begin


def _newest(pieces: Iterable[Piece]) -> dict[tuple[str, int], Piece]:
    """The piece of each place. Of two, the last one: they came at the same moment, or are cut in another way."""
    return {_place(one): one for one in sorted(pieces, key=lambda one: (one.came, one.key))}


def _full(what: str, more: str = "") -> Refused:
    advice = (
        "Let another import end first, or finish one that was interrupted: run its command again. What nobody goes on"
        f" with is forgotten {LEFT_DAYS} days after it came, or earlier by loci doctor --fix on that machine{more}"
    )
    return Refused(what, advice, code=FULL)
