"""`DocumentIndex` in an S3 bucket: the laptop's SQLite index, one an owner, searched in a copy on this machine."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, replace

from loci.adapters.s3_index.changes import IndexChange
from loci.adapters.s3_index.copies import Copies
from loci.adapters.s3_index.owner_copy import OwnerCopy, busy
from loci.core.background import FairQueues
from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.stores import WriteLocks
from loci.search.document_index import IndexRoom
from loci.search.inference import Embedding
from loci.search.ranking import Candidate, Chunk, IndexCounts, QueryVector, TagsAndDate, Where

LOCK = "search index"
LOCK_WAIT = 5.0
"""Seconds. A writer that has no lock by then writes all the same: a killed process may have it, and S3 refuses to
overwrite content that the writer has not read. The lock only spares writers the repetition."""
WAIT = 20.0
"""Seconds that a write waits for the others of this process."""
THREADS = ThreadPoolExecutor(thread_name_prefix="question")


@dataclass(eq=False, slots=True)
class _Waiting:
    """A change that waits to be written, alone or with others."""

    change: IndexChange
    is_written: bool = False


class S3Index:
    """A call sees everything that others wrote before it. Changes that come at once are written together."""

    def __init__(self, copies: Copies, locks: WriteLocks) -> None:
        self._copies = copies
        self._locks = locks
        self._turns = FairQueues()
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._guard = threading.Lock()
        self._found = threading.local()

    def put(
        self,
        owner: Owner,
        collection: str,
        document: str,
        chunks: Sequence[Chunk],
        tags_and_date: TagsAndDate,
        *,
        is_new: bool = False,  # noqa: ARG002 (every write is visible at once)
    ) -> None:
        self._write(owner, IndexChange(collection, document, chunks, tags_and_date))

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()  # a record must not come before its passages

    def remove(self, owner: Owner, collection: str, document: str) -> None:
        self._write(owner, IndexChange(collection, document))

    def embeddings(self, owner: Owner, model: str, hashes: Sequence[str]) -> dict[str, Embedding]:
        # A text has one embedding by a model: what others wrote meanwhile would only save work.
        return self._copy(owner).recent().embeddings(owner, model, hashes)

    def candidates(
        self,
        owner: Owner,
        collection: str,
        words: Sequence[str],
        vector: QueryVector | None,
        *,
        limit: int,
        where: Where,
    ) -> list[Candidate]:
        # The model runs while S3 answers.
        asked = vector and replace(vector, values=THREADS.submit(copy_context().run, vector.values).result)
        index = self._copy(owner).current()
        found = index.candidates(owner, collection, words, asked, limit=limit, where=where)
        self._found.last = owner.key, collection, {one.chunk for one in found}
        return found

    def chunks(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, Chunk]:
        copy = self._copy(owner)
        # A search reads the texts of what it has just found: as it found them, without asking S3 again.
        key, of, found = self._found.__dict__.pop("last", ("", "", set[str]()))
        if (key, of) == (owner.key, collection) and found.issuperset(ids):
            held = copy.recent().chunks(owner, collection, ids)
            if len(held) == len(set(ids)):
                return held
        return copy.current().chunks(owner, collection, ids)

    def passages(self, owner: Owner, collection: str) -> Iterator[Chunk]:
        yield from self._copy(owner).current().passages(owner, collection)

    def counts(self, owner: Owner, collection: str) -> IndexCounts:
        return self._copy(owner).current().counts(owner, collection)

    def state(self, owner: Owner, collection: str) -> str:  # noqa: ARG002 (it changes with the writes of all collections)
        return self._copy(owner).state()

    def documents(self, owner: Owner, collection: str, among: Sequence[str] | None = None) -> dict[str, int]:
        return self._copy(owner).current().documents(owner, collection, among)

    def room(self, owner: Owner) -> IndexRoom:
        copy = self._copy(owner)
        return IndexRoom(copy.passages(), self._copies.most_passages, copy.bytes())

    def _copy(self, owner: Owner) -> OwnerCopy:
        copy = self._copies.for_owner(owner)
        self._copies.make_room()
        return copy

    def _write(self, owner: Owner, change: IndexChange) -> None:
        mine = _Waiting(change)
        with self._guard:
            waiting = self._waiting.setdefault(owner.key, deque())
            waiting.append(mine)
        try:
            with self._turns.turn(owner.key, WAIT) as is_first:
                if mine.is_written:
                    return
                if not is_first:
                    raise busy()
                self._write_all(owner, waiting, mine)
        finally:
            with self._guard:
                waiting.remove(mine)
                if not waiting:
                    self._waiting.pop(owner.key, None)

    def _write_all(self, owner: Owner, waiting: deque[_Waiting], mine: _Waiting) -> None:
        """Write everything that waits: one lock and one upload for all."""
        with self._locks.take(owner, LOCK, LOCK_WAIT):
            with self._guard:
                together = [one for one in waiting if not one.is_written]
            copy = self._copy(owner)
            try:
                copy.write([one.change for one in together])
            except Refused:
                if len(together) == 1:
                    raise
                together = [mine]  # each of the others is refused or written in its turn
                copy.write([mine.change])
        for one in together:
            one.is_written = True
