"""Pieces of archives that are larger than one request, on their way in or out."""

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.storage_keys import LEFT_DAYS
from loci.core.stores import BlobStore

PIECE: Final = 2_500_000
"""Bytes of a piece. As base64, with the rest of the request or answer, it is below the limit of Lambda."""
FOLDER: Final = "transfer/"
PIECE_KEY: Final = re.compile(r"([0-9a-f]{64})/(\d{1,12})-(\d{1,12})-(\d{1,12})", re.ASCII)
FULL: Final = "ARRIVING_FULL"
"""The code of the error if there is no room for more pieces."""
NOT_WHOLE: Final = "NOT_WHOLE"
ARRIVING_BYTES: Final = 1 << 30
"""The most bytes of all pieces of an owner. The largest archive always has room."""
LEAST: Final = 1 << 18
"""The fewest bytes that a piece counts for, so that the list of all pieces stays short."""


@dataclass(frozen=True, slots=True)
class ArchivePiece:
    """A stored piece. All fields come from its key."""

    key: str
    sha256: str
    """The hash of the whole archive."""
    begin: int
    bytes: int
    came: int
    """Seconds since 1970."""


class Staging:
    """Pieces of archives, by the hash of the whole. A whole archive is checked before it is used."""

    def __init__(self, blobs: BlobStore, most_bytes: int, clock: Callable[[], float] = time.time) -> None:
        """`most_bytes` is the limit for all pieces of one owner."""
        self._blobs = blobs
        self._most_bytes = most_bytes
        self._clock = clock

    def put(self, owner: Owner, sha256: str, begin: int, content: bytes) -> None:
        """Store a piece unless it exists. Raises `Refused` if the owner would have too many bytes."""
        here = [*self._pieces(owner)]
        if any((one.sha256, one.begin, one.bytes) == (sha256, begin, len(content)) for one in here):
            return
        if sum(max(one.bytes, LEAST) for one in here) + max(len(content), LEAST) > self._most_bytes:
            advice = (
                "Let another import end first, and try again then. Pieces that nobody goes on with are"
                f" removed {LEFT_DAYS} days after they came"
            )
            what = f"More than {self._most_bytes >> 20:,} MB would be on their way at once"
            raise Refused(what, advice, code=FULL)
        key = f"{FOLDER}{sha256}/{begin:012}-{len(content)}-{int(self._clock())}"
        self._blobs.write(owner, key, content, durable=False)

    def put_whole(self, owner: Owner, content: bytes) -> str:
        """Store this content in pieces, and return its hash."""
        sha256 = hashlib.sha256(content).hexdigest()
        for begin in range(0, len(content), PIECE):
            self.put(owner, sha256, begin, content[begin : begin + PIECE])
        return sha256

    def read(self, owner: Owner, sha256: str, begin: int) -> bytes:
        """Read the piece that begins at this byte. Raises `NotFound` if it is gone."""
        for one in self._pieces(owner, sha256):
            if one.begin == begin:
                return self._blobs.read(owner, one.key)
        raise NotFound("A piece of the archive is gone", "Run the same command again")

    def whole(self, owner: Owner, sha256: str, size: int) -> bytes:
        """Join the pieces of an archive. Raises `Refused` if it is not whole, and must be sent again."""
        content = b"".join(self._contents(owner, sha256, size))
        if len(content) == size and hashlib.sha256(content).hexdigest() == sha256:
            return content
        self.drop(owner, sha256)
        raise Refused("An archive did not arrive whole", "Run the same command again", code=NOT_WHOLE)

    def _contents(self, owner: Owner, sha256: str, size: int) -> Iterator[bytes]:
        """Read the pieces that follow each other without overlap, so that they never exceed the size of the archive."""
        pieces = {one.begin: one for one in self._pieces(owner, sha256)}
        end = 0
        while end < size and end in pieces:
            try:
                yield self._blobs.read(owner, pieces[end].key)
            except NotFound:
                return
            end += pieces[end].bytes

    def drop(self, owner: Owner, sha256: str) -> None:
        """Remove the pieces of this archive."""
        for one in self._pieces(owner, sha256):
            self._blobs.remove(owner, one.key)

    def remove_old(self, owner: Owner) -> None:
        """Remove old pieces. On AWS a rule of the bucket does that."""
        for one in self._pieces(owner):
            if one.came < self._clock() - LEFT_DAYS * 86_400:
                self._blobs.remove(owner, one.key)

    def _pieces(self, owner: Owner, sha256: str = "") -> Iterator[ArchivePiece]:
        for key in self._blobs.list(owner, f"{FOLDER}{sha256 and sha256 + '/'}"):
            if found := PIECE_KEY.fullmatch(key.removeprefix(FOLDER)):
                yield ArchivePiece(key, found[1], int(found[2]), int(found[3]), int(found[4]))
