"""The base of an owner's index: a SQLite file in blocks, and in which piece in the bucket each of them is.

A fold writes the blocks that changed as new pieces, and the blocks of a few pieces that hold little else of use. So no
write sends the whole file, however large it is.
"""

import json
import secrets
import struct
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from loci.adapters.batches import batches
from loci.adapters.s3_index.blocks import EMPTY, HASH
from loci.adapters.s3_index.changes import unreadable

FORMAT = b"loci-base-1\n"
LENGTH = struct.Struct(">I")
PLACE = struct.Struct(">II")
PIECE = 512
"""Blocks in a piece at most: 8 MB."""
MOST_WASTE = 0.5
"""Of the blocks in use: with more that are not, pieces are emptied."""
MOST_MOVED = 512
"""Blocks that a fold sends again to empty pieces, 8 MB: about as many as it leaves unused."""


@dataclass(frozen=True, slots=True)
class Place:
    """The piece that holds a block, and how many blocks are before it there."""

    piece: str
    at: int


@dataclass(frozen=True, slots=True)
class Base:
    """A file as it was at one moment."""

    size: int = 0
    """In bytes."""
    hashes: Sequence[bytes] = ()
    places: Sequence[Place | None] = ()
    """None: the block is empty."""
    pieces: Mapping[str, int] = field(default_factory=dict[str, int])
    """The pieces, and how many blocks each has, with those that are not used any more."""

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
        new = {new_name(): numbers for numbers in batches(missing, PIECE)}
        for piece, numbers in new.items():
            places |= {number: Place(piece, at) for at, number in enumerate(numbers)}
        used = {place.piece for place in places.values()}
        sizes = {**self.pieces, **{piece: len(numbers) for piece, numbers in new.items()}}
        pieces = {piece: sizes[piece] for piece in sizes if piece in used}
        return Base(size, hashes, [places.get(number) for number in range(len(hashes))], pieces), new

    def _worn(self, kept: Collection[Place]) -> set[str]:
        """The pieces to empty: those with the least use, so that moving few blocks frees much."""
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
    def of(cls, content: bytes) -> "Base":
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
                None if one == EMPTY else Place(names[piece], block)
                for one, (piece, block) in zip(hashes, placed, strict=True)
            ]
            return cls(head["size"], hashes, places, dict(head["pieces"]))
        except (ValueError, KeyError, IndexError, TypeError, struct.error) as error:
            raise unreadable(f"its base is damaged: {error}") from error


def new_name() -> str:
    """A name that no other base and no other piece has."""
    return secrets.token_hex(16)
