"""The links that one document writes, without the graph of all: the names of documents are kept, and follow writes."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.index_writer import COLLECTION
from loci.graph.graph import resolved_links
from loci.graph.graphs import MAX_OWNERS
from loci.graph.link_resolution import DocumentNames
from loci.graph.neighbourhood import DocumentLink, open_link, seen_from
from loci.search.document_index import DocumentIndex

MOST_STEPS = 2
"""Records of documents that one write puts. If there were more, another writer was there, too."""
MOST_SECONDS = 300.0
"""All names are read again after so long: another process leaves no trace of a document without a passage."""
NamesState = tuple[str, int]
"""The state of the index, and how often this process wrote records. It stays the same until a document is written."""


@dataclass(slots=True)
class _KnownNames:
    """All that the documents of one owner can be called, in a state of the library."""

    names: DocumentNames | None = None
    state: NamesState | None = None
    read_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class OwnLinks:
    """Resolves the links of a document that was just written.

    The names of all documents are read at an owner's first write, and again after somebody else has written: another
    process, or an ingestion. A write inside `following` changes only its own names.
    """

    def __init__(self, catalog: Catalog, index: DocumentIndex, clock: Callable[[], float] = time.monotonic) -> None:
        self._catalog = catalog
        self._index = index
        self._clock = clock
        self._known: OrderedDict[Owner, _KnownNames] = OrderedDict()
        self._lock = threading.Lock()

    def of_document(self, owner: Owner, document: Document) -> list[DocumentLink]:
        """The links that a document writes, by line, also links to documents that do not exist."""
        written = self._catalog.mentions_of(owner, document.id)
        known = self._of_owner(owner)
        with known.lock:
            state, now = self._state(owner), self._clock()
            names = known.names
            if names is None or known.state != state or now - known.read_at > MOST_SECONDS:
                aliases = {id: one.aliases for id, one in self._catalog.mentions(owner).items()}
                names = DocumentNames(self._catalog.documents(owner), aliases)
                known.names, known.state, known.read_at = names, state, now
            links, unresolved = resolved_links(names, document, written)
            found = [seen_from(names.documents, link, "outgoing", link.target) for link in links]
        return sorted([*found, *map(open_link, unresolved)], key=lambda link: link.line or 0)

    @contextmanager
    def following(self, owner: Owner, id: str) -> Generator[None]:
        """Take over the names that the block gives to this document, if nothing else was written meanwhile."""
        known = self._of_owner(owner)
        before = known.state
        try:
            is_current = before is not None and self._state(owner) == before
        except Unavailable:
            is_current = False
        yield
        if before is None or not is_current:
            return
        with suppress(Unavailable), known.lock:  # without them, the next one reads all names again
            after = self._state(owner)
            if known.names and known.state == before and after[1] - before[1] <= MOST_STEPS:
                document = self._catalog.document(owner, id)
                known.names.replace(id, document, self._catalog.mentions_of(owner, id).aliases)
                known.state = after

    def _of_owner(self, owner: Owner) -> _KnownNames:
        with self._lock:
            known = self._known.setdefault(owner, _KnownNames())
            self._known.move_to_end(owner)
            if len(self._known) > MAX_OWNERS:
                self._known.popitem(last=False)
        return known

    def _state(self, owner: Owner) -> NamesState:
        # The index comes first: a write that this misses then changes the state of the next look.
        index = self._index.state(owner, COLLECTION)
        return index, self._catalog.writes
