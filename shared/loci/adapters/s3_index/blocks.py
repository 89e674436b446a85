"""The blocks of a SQLite file, all of one size, and their hashes: equal hashes need not be sent again."""

import hashlib
import os
import struct
from pathlib import Path
from types import TracebackType

BLOCK = 16 << 10
"""Bytes: a few pages. Smaller ones make the list of the blocks long; larger ones hold more that did not change."""
HASH = 16
"""Bytes of SHA-256 that are kept."""
EMPTY = bytes(HASH)
"""The stand-in for the hash of a block of zeros, which is never sent."""
ZEROS = bytes(BLOCK)
# https://www.sqlite.org/fileformat.html: the size of a page; the first page with a list of free pages, and their number
PAGE_SIZE, FREE = struct.Struct(">16xH"), struct.Struct(">32xII")


class Blocks:
    """Reads a file that is not written meanwhile. Free pages are read as zeros: their content is of no use."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self.size = path.stat().st_size
        self._page, self._free = self._free_pages()

    def __enter__(self) -> "Blocks":
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._file.close()

    def hashes(self) -> list[bytes]:
        """The hash of each block, in their order."""
        return [_hash(self.read(number)) for number in range(-(-self.size // BLOCK))]

    def read(self, number: int) -> bytes:
        """The block with this number. The last one is filled up with zeros."""
        # Several threads read at once.
        content = os.pread(self._file.fileno(), BLOCK, number * BLOCK).ljust(BLOCK, b"\0")
        first, count = number * BLOCK // self._page, BLOCK // self._page
        free = [page for page in range(first, first + count) if page in self._free]
        if not free:
            return content
        blanked = bytearray(content)
        for page in free:
            at = (page - first) * self._page
            blanked[at : at + self._page] = bytes(self._page)
        return bytes(blanked)

    def _free_pages(self) -> tuple[int, frozenset[int]]:
        """The size of a page, and the free pages, counted from 0. Pages that list free pages are left out."""
        header = self._file.read(FREE.size)
        if len(header) < FREE.size:
            return BLOCK, frozenset()
        [page], [lists, most] = PAGE_SIZE.unpack_from(header), FREE.unpack_from(header)
        if not page or page > BLOCK:
            return BLOCK, frozenset()  # 1 stands for 65,536
        found: list[int] = []
        while lists and most > 0:
            self._file.seek((lists - 1) * page)
            content = self._file.read(page)
            lists, count = struct.unpack_from(">II", content)
            found += struct.unpack_from(f">{count}I", content, 8)
            most -= 1 + count
        return page, frozenset(number - 1 for number in found)


def _hash(content: bytes) -> bytes:
    return EMPTY if content == ZEROS else hashlib.sha256(content).digest()[:HASH]
