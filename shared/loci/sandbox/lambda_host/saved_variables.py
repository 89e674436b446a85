"""An executor's variables on their way to the bucket and back: as bytes, which nobody opens on the way."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loci.sandbox.lambda_host import signed_objects
from loci.sandbox.lambda_host.signed_objects import ObjectError

PIECE = 16 << 20


class Saved:
    """Takes what an executor says, and writes it once all is said: an executor that is cut off could not go on."""

    def __init__(self) -> None:
        self._content = bytearray()

    @property
    def size(self) -> int:
        return len(self._content)

    def take(self, content: bytes) -> None:
        """The next bytes."""
        self._content += content

    def write(self, links: Sequence[str]) -> list[str]:
        """Put them where the links lead, and get the hashes of the pieces; `ObjectError` where that fails."""
        pieces = [bytes(self._content[at : at + PIECE]) for at in range(0, len(self._content), PIECE)]
        if len(pieces) > len(links):
            raise ObjectError("there are more pieces than links")
        for piece, link in zip(pieces, links, strict=False):
            signed_objects.write(link, piece)
        return [hashlib.sha256(piece).hexdigest() for piece in pieces]


def read(pieces: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    """The pieces; `ObjectError` where one is gone, or is another than was written."""
    for piece in pieces:
        content = signed_objects.read(piece["get"], 2 * PIECE)
        if hashlib.sha256(content).hexdigest() != piece["sha256"]:
            raise ObjectError("it is damaged")
        yield content
