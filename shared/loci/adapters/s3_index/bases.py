"""The bases of an owner's index in the bucket: a base is a SQLite file in blocks, and the piece that holds each block.

A fold writes the blocks that changed as new pieces, and the blocks of a few pieces that hold little else of use. So no
write sends the whole file, however large it is.
"""

import json
import os
import secrets
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from loci.adapters.aws.index_objects import BASE, CHANGES, PIECE, IndexObjects
from loci.adapters.batches import batches
from loci.adapters.s3_index.blocks import BLOCK, EMPTY, HASH, Blocks
from loci.adapters.s3_index.changes import unreadable
from loci.core.identity import Owner

FORMAT = b"loci-base-1\n"
LENGTH = struct.Struct(">I")
PLACE = struct.Struct(">II")
BLOCKS_OF_PIECE = 512
"""The most blocks in a piece: 8 MB."""
MOST_WASTE = 0.5
"""Pieces are emptied if there are more unused blocks than this share of the used ones."""
MOST_MOVED = 512
"""Blocks that a fold sends again to empty pieces, 8 MB: about as many as it leaves unused."""
AT_ONCE = 6
"""Pieces on their way. S3 serves one request with some 80 MB/s; boto3 has ten connections for all threads."""
GAP = 16
"""Blocks that are fetched in vain rather than by another request."""

Wanted = tuple[int, int]
"""A block's place in its piece, and its number in the file."""


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """The piece that holds a block, and how many blocks are before it there."""

    piece: str
    at: int


@dataclass(frozen=True, slots=True)
class Base:
    """A file as it was at one moment."""

    size: int = 0
    """Bytes of the file."""
    hashes: Sequence[bytes] = ()
    places: Sequence[BlockPlace | None] = ()
    """The place of each block; None if the block is empty."""
    pieces: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of blocks of each piece, with blocks that are not used any more."""

    def followed_by(
        self, size: int, hashes: Sequence[bytes], there: Collection[str]
    ) -> tuple["Base", Mapping[str, Sequence[int]]]:
        """The base of a file with these blocks, and the numbers of the blocks to send for each new piece.

        `there`: the pieces that are in the bucket. Others were lost.
        """
        kept = {
            number: place
            for number, (held, place, wanted) in enumerate(zip(self.hashes, self.places, hashes, strict=False))
            if place is not None and held == wanted and place.piece in there
        }
        worn = self._worn(kept.values())
        places = {number: place for number, place in kept.items() if place.piece not in worn}
        missing = [number for number, one in enumerate(hashes) if one != EMPTY and number not in places]
        new = {new_name(): numbers for numbers in batches(missing, BLOCKS_OF_PIECE)}
        for piece, numbers in new.items():
            places |= {number: BlockPlace(piece, at) for at, number in enumerate(numbers)}
        used = {place.piece for place in places.values()}
        sizes = {**self.pieces, **{piece: len(numbers) for piece, numbers in new.items()}}
        pieces = {piece: sizes[piece] for piece in sizes if piece in used}
        return Base(size, hashes, [places.get(number) for number in range(len(hashes))], pieces), new

    def _worn(self, kept: Collection[BlockPlace]) -> set[str]:
        """The pieces to empty: the least used ones, so that moving few blocks frees much."""
        used = Counter(place.piece for place in kept)
        waste = sum(self.pieces[piece] - count for piece, count in used.items())
        found: set[str] = set()
        moved = 0
        for piece in sorted(used, key=lambda one: used[one] / self.pieces[one]):
            moved += used[piece]
            if waste <= MOST_WASTE * len(kept) or moved > MOST_MOVED:
                break
            found.add(piece)
            waste -= self.pieces[piece] - used[piece]
        return found

    def to_bytes(self) -> bytes:
        """The base as an object."""
        numbers = {piece: number for number, piece in enumerate(self.pieces)}
        head = json.dumps({"size": self.size, "blocks": len(self.hashes), "pieces": [*self.pieces.items()]}).encode()
        places = [PLACE.pack(numbers[one.piece], one.at) if one else bytes(PLACE.size) for one in self.places]
        return b"".join([FORMAT, LENGTH.pack(len(head)), head, *self.hashes, *places])

    @classmethod
    def from_bytes(cls, content: bytes) -> "Base":
        """The base in the object."""
        if not content.startswith(FORMAT):
            raise unreadable("another version of Loci wrote its base, or it is damaged")
        try:
            [length] = LENGTH.unpack_from(content, len(FORMAT))
            at = len(FORMAT) + LENGTH.size
            head = json.loads(content[at : at + length])
            at += length
            end = at + head["blocks"] * HASH
            hashes = [content[one : one + HASH] for one in range(at, end, HASH)]
            names = [piece for piece, _ in head["pieces"]]
            placed = PLACE.iter_unpack(content[end:])
            places = [
                None if one == EMPTY else BlockPlace(names[piece], block)
                for one, (piece, block) in zip(hashes, placed, strict=True)
            ]
            return cls(head["size"], hashes, places, dict(head["pieces"]))
        except (ValueError, KeyError, IndexError, TypeError, struct.error) as error:
            raise unreadable(f"its base is damaged: {error}") from error


def new_name() -> str:
    """A name that no other base and no other piece has."""
    return secrets.token_hex(16)


class Bases:
    """The bases and pieces of an owner in the bucket. None of them is ever changed."""

    def __init__(self, owner: Owner, objects: IndexObjects) -> None:
        self._owner = owner
        self._objects = objects

    def read(self, name: str) -> Base:
        """The base; raise `NotFound` if it is gone."""
        return Base.from_bytes(self._objects.read(self._owner, BASE + name))

    def fetch(self, name: str, into: Path, near: Path | None) -> None:
        """Write the file of the base; raise `NotFound` if an object is gone. Blocks that `near` has are copied."""
        base = self.read(name)
        with into.open("xb") as file:
            copied = _copy(base, near, file.fileno()) if near else ()
            _all(partial(self._fetch_span, *span, file.fileno()) for span in _spans(base, copied))
            file.truncate(base.size)

    def write(self, name: str, before: Base, blocks: Blocks, there: Collection[str]) -> set[str]:
        """Store the file as a base that shares blocks with the one before, and return the names of its objects.

        `there`: the names of all objects. Pieces of the base before that are not among them were lost.
        """
        pieces = {one.removeprefix(PIECE) for one in there if one.startswith(PIECE)}
        base, new = before.followed_by(blocks.size, blocks.hashes(), pieces)
        _all(partial(self._write_piece, piece, numbers, blocks) for piece, numbers in new.items())
        self._objects.write(self._owner, BASE + name, base.to_bytes())
        return {BASE + name, *(PIECE + piece for piece in base.pieces)}

    def names(self) -> list[str]:
        """The names of all objects of bases, with objects that killed writers left."""
        return [one for one in self._objects.names(self._owner) if one != CHANGES]

    def remove(self, names: Collection[str]) -> None:
        """Remove objects that are not needed any more."""
        _all(partial(self._objects.remove, self._owner, one) for one in names)

    def _fetch_span(self, piece: str, wanted: Sequence[Wanted], into: int) -> None:
        first, last = wanted[0][0], wanted[-1][0]
        content = self._objects.read(self._owner, PIECE + piece, (first * BLOCK, (last + 1) * BLOCK))
        for at, number in wanted:
            os.pwrite(into, content[(at - first) * BLOCK : (at - first + 1) * BLOCK], number * BLOCK)

    def _write_piece(self, piece: str, numbers: Sequence[int], blocks: Blocks) -> None:
        self._objects.write(self._owner, PIECE + piece, b"".join(map(blocks.read, numbers)))


def _copy(base: Base, near: Path, into: int) -> set[int]:
    """Copy the blocks that are the same, and return their numbers."""
    copied: set[int] = set()
    with Blocks(near) as blocks:
        for number, (here, wanted) in enumerate(zip(blocks.hashes(), base.hashes, strict=False)):
            if here == wanted and base.places[number]:
                os.pwrite(into, blocks.read(number), number * BLOCK)
                copied.add(number)
    return copied


def _spans(base: Base, copied: Collection[int]) -> Iterator[tuple[str, Sequence[Wanted]]]:
    """The blocks to fetch by one request each."""
    by_piece: defaultdict[str, list[Wanted]] = defaultdict(list)
    for number, place in enumerate(base.places):
        if place is not None and number not in copied:
            by_piece[place.piece].append((place.at, number))
    for piece, wanted in by_piece.items():
        span: list[Wanted] = []
        for one in sorted(wanted):
            if span and one[0] - span[-1][0] > GAP:
                yield piece, span
                span = []
            span.append(one)
        yield piece, span


def _all(calls: Iterator[Callable[[], object]]) -> None:
    """Make the calls, several at once, and wait for all that have begun, even if one fails."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pieces") as threads:
        asked = [threads.submit(copy_context().run, call) for call in calls]
        try:
            for one in asked:
                one.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
