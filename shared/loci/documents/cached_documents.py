"""Each owner's documents in memory: tags, folders and moved uploads are found without reading every record."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.graph.owner_cache import OwnerCache

MAX_OWNERS = 50
TEXTS_SECONDS = 300.0
"""Shorter than the catalog's notes on new texts last: whatever is not in the one is in the other."""
MAX_SECONDS = 60.0
"""Another process sees a document without any passage after so long at most: it leaves no trace in the index."""


@dataclass(frozen=True, slots=True)
class CacheState:
    """Stays the same while nobody writes documents."""

    index: str
    """A token that changes with the passages, whichever process writes them."""
    writes: int
    """The number of times that this process wrote records of documents."""
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
        self._by_text: OwnerCache[int, dict[str, list[str]]] = OwnerCache(MAX_OWNERS)

    def of(self, owner: Owner) -> DocumentSnapshot:
        """The owner's documents as they are now."""
        try:
            return self._current.get(owner, lambda: self._state(owner), lambda state, _: self._read(owner, state))
        except Unavailable:  # records can be read without the index
            return self._read(owner, None)

    def with_text(self, owner: Owner, sha256: str) -> Sequence[str]:
        """The ids of the documents that had a text with this hash some minutes ago.

        Many removals, in several processes, then read all documents only a few times.
        """
        period = int(self._clock() // TEXTS_SECONDS)
        by_text = self._by_text.get(owner, lambda: period, lambda _, __: self._texts(owner))
        return by_text.get(sha256, ())

    def _texts(self, owner: Owner) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for one in self._catalog.documents(owner):
            found.setdefault(one.sha256, []).append(one.id)
        return found

    def _read(self, owner: Owner, state: CacheState | None) -> DocumentSnapshot:
        return DocumentSnapshot({one.id: one for one in self._catalog.documents(owner)}, state)

    def _state(self, owner: Owner) -> CacheState:
        # The index comes first: a write that this misses then changes the state of the next look.
        index = self._index_state(owner)
        return CacheState(index, self._catalog.writes, int(self._clock() // MAX_SECONDS))
