"""Bytes that are on their way in, piece by piece: a content that is too large for one request."""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.settings import LEFT_DAYS
from loci.core.stores import BlobStore

FOLDER: Final = "transfer/"
PIECE_KEY: Final = re.compile(r"([0-9a-f]{64})/(\d{1,12})-(\d{1,12})-(\d{1,12})", re.ASCII)


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

    def __init__(self, blobs: BlobStore, clock: Callable[[], float] = time.time) -> None:
        self._blobs = blobs
        self._clock = clock

    def put(self, owner: Owner, sha256: str, begin: int, piece: bytes) -> None:
        """Keep a piece."""
        key = f"{FOLDER}{sha256}/{begin:012}-{len(piece)}-{int(self._clock())}"
        self._blobs.write(owner, key, piece, durable=False)

    def held(self, owner: Owner, hashes: Sequence[str]) -> dict[str, list[int]]:
        """The beginnings of the pieces that are here, by the hash of the whole. Those that were left go first."""
        self.drop_left(owner)
        return {one: [*self._newest(owner, one)] for one in hashes}

    def whole(self, owner: Owner, sha256: str, size: int) -> bytes:
        """The content with this hash and size. Raises `Refused` if a piece is missing, or wrong."""
        content = b"".join(self._contents(owner, sha256, size))
        if len(content) != size or hashlib.sha256(content).hexdigest() != sha256:
            self.drop(owner, sha256)
            raise Refused("A content did not arrive whole", "Run the same command again", code="NOT_WHOLE")
        return content

    def _contents(self, owner: Owner, sha256: str, size: int) -> Iterator[bytes]:
        """Of each piece that begins where the one before ends: pieces that overlap are never more than the whole."""
        end = 0
        for begin, piece in self._newest(owner, sha256).items():
            if begin != end or end > size:
                return
            try:
                yield self._blobs.read(owner, piece.key)
            except NotFound:
                return
            end += piece.bytes

    def drop(self, owner: Owner, sha256: str = "") -> None:
        """Remove the pieces of this content, or of all."""
        for key in self._blobs.list(owner, f"{FOLDER}{sha256}"):
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

    def _newest(self, owner: Owner, sha256: str) -> dict[int, Piece]:
        """The pieces of a content in their order. Of one that came twice, the last."""
        pieces = sorted(self._pieces(owner, f"{sha256}/"), key=lambda one: (one.begin, one.came))
        return {one.begin: one for one in pieces}

    def _pieces(self, owner: Owner, below: str = "") -> Iterator[Piece]:
        for key in self._blobs.list(owner, FOLDER + below):
            if found := PIECE_KEY.fullmatch(key.removeprefix(FOLDER)):
                sha256, *numbers = found.groups()
                yield Piece(key, sha256, *map(int, numbers))
