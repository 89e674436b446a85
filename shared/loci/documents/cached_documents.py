"""Each owner's documents in memory: tags, folders and moved uploads are found without reading every record."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.graph.owner_cache import OwnerCache

MAX_OWNERS = 50
MAX_SECONDS = 60.0
"""Another process sees a document without any passage after so long at most: it leaves no trace in the index."""


@dataclass(frozen=True, slots=True)
class CacheState:
    """Stays the same while nobody writes documents."""

    index: str
    """A token that changes with the passages, whichever process writes them."""
    writes: int
    """How often this process has written records of documents."""
    period: int


@dataclass(frozen=True, slots=True)
class DocumentSnapshot:
    """An owner's documents by id, and the state before they were read (None: the index could not be asked)."""

    documents: Mapping[str, Document]
    state: CacheState | None


class CachedDocuments:
    """The documents of the owners that asked last. Their records are read again after somebody has written one."""

    def __init__(
        self, catalog: Catalog, index_state: Callable[[Owner], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._catalog = catalog
        self._index_state = index_state
        self._clock = clock
        self._current: OwnerCache[CacheState, DocumentSnapshot] = OwnerCache(MAX_OWNERS)
        self._carried_over: OwnerCache[CacheState, DocumentSnapshot] = OwnerCache(MAX_OWNERS)

    def of(self, owner: Owner) -> DocumentSnapshot:
        """The owner's documents as they are now."""
        try:
            return self._current.get(owner, lambda: self._state(owner), lambda state, _: self._read(owner, state))
        except Unavailable:  # records can be read without the index
            return self._read(owner, None)

    def before_removal(self, owner: Owner) -> DocumentSnapshot:
        """The owner's documents; carried over if only `removing` has changed them since they were read."""
        return self._carried_over.get(owner, lambda: self._state(owner), lambda _, __: self.of(owner))

    @contextmanager
    def removing(
        self, owner: Owner, id: str, before: DocumentSnapshot, rewritten: Sequence[Document]
    ) -> Generator[None]:
        """Carry the other documents over to the next removal, if nobody else writes while the block removes this one.

        `rewritten` are those whose records this process has written since `before`.
        """
        state = before.state and replace(before.state, writes=before.state.writes + len(rewritten))
        is_known = state == self._state(owner)
        yield
        if state is None or not is_known:
            return
        with suppress(Unavailable):
            after = self._state(owner)
            if (after.writes, after.period) == (state.writes + 1, state.period):
                others = {**before.documents, **{one.id: one for one in rewritten}}
                others.pop(id, None)
                self._carried_over.get(owner, lambda: after, lambda _, __: DocumentSnapshot(others, after))

    def _read(self, owner: Owner, state: CacheState | None) -> DocumentSnapshot:
        return DocumentSnapshot({one.id: one for one in self._catalog.documents(owner)}, state)

    def _state(self, owner: Owner) -> CacheState:
        # The index comes first: a write that this misses then changes the state of the next look.
        index = self._index_state(owner)
        return CacheState(index, self._catalog.writes, int(self._clock() // MAX_SECONDS))
