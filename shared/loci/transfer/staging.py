"""Bytes that are on their way in, piece by piece: a content that is too large for one request."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.stores import BlobStore

FOLDER: Final = "transfer/"


class Staging:
    """Pieces of contents, by the hash of the whole. What is whole is checked before it is used."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def put(self, owner: Owner, sha256: str, begin: int, piece: bytes) -> None:
        """Keep a piece."""
        self._blobs.write(owner, f"{FOLDER}{sha256}/{begin:012}", piece, durable=False)

    def held(self, owner: Owner, hashes: Sequence[str]) -> dict[str, list[int]]:
        """The beginnings of the pieces that are here, by the hash of the whole."""
        return {
            one: [int(key.rpartition("/")[2]) for key in self._blobs.list(owner, f"{FOLDER}{one}/")] for one in hashes
        }

    def whole(self, owner: Owner, sha256: str, size: int) -> bytes:
        """The content with this hash and size. Raises `Refused` if a piece is missing, or wrong."""
        content = b"".join(self._pieces(owner, sha256, size))
        if len(content) != size or hashlib.sha256(content).hexdigest() != sha256:
            self.drop(owner, sha256)
            raise Refused("A content did not arrive whole", "Run the same command again", code="NOT_WHOLE")
        return content

    def _pieces(self, owner: Owner, sha256: str, size: int) -> Iterator[bytes]:
        """Each piece that begins where the one before ends: pieces that overlap are never more than the whole."""
        end = 0
        for key in self._blobs.list(owner, f"{FOLDER}{sha256}/"):
            if int(key.rpartition("/")[2]) != end or end > size:
                return
            try:
                piece = self._blobs.read(owner, key)
            except NotFound:
                return
            end += len(piece)
            yield piece

    def drop(self, owner: Owner, sha256: str = "") -> None:
        """Remove the pieces of this content, or of all."""
        for key in self._blobs.list(owner, f"{FOLDER}{sha256}"):
            self._blobs.remove(owner, key)
