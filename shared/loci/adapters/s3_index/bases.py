"""Fetches and writes the bases of one owner: several pieces at once, and only the blocks that are not there yet."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path

from loci.adapters.aws.index_objects import BASE, CHANGES, PIECE, IndexObjects
from loci.adapters.s3_index.base import Base
from loci.adapters.s3_index.blocks import BLOCK, Blocks
from loci.core.identity import Owner

AT_ONCE = 6
"""Pieces on their way. S3 serves one request with some 80 MB/s; boto3 has ten connections for all threads."""
GAP = 16
"""Blocks that are fetched in vain rather than by another request."""

Wanted = tuple[int, int]
"""A block's place in its piece, and its number in the file."""


class Bases:
    """The bases and pieces of an owner in the bucket. None of them is ever changed."""

    def __init__(self, owner: Owner, objects: IndexObjects) -> None:
        self._owner = owner
        self._objects = objects

    def read(self, name: str) -> Base:
        """The base; raise `NotFound` if it is gone."""
        return Base.of(self._objects.read(self._owner, BASE + name))

    def fetch(self, name: str, into: Path, near: Path | None) -> None:
        """Write the file of the base; raise `NotFound` if some of it is gone. Blocks that `near` has are copied."""
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
        """The names of all objects of bases, with those that killed writers left."""
        return [one for one in self._objects.names(self._owner) if one != CHANGES]

    def remove(self, names: Collection[str]) -> None:
        """Remove objects that nobody needs any more."""
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
