"""The links that one document writes, without the graph of all: the names of documents are kept, and follow writes."""

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.document_links import Link, Relation
from loci.documents.graph.graph import MAX_OWNERS, debrief_link, kind_of, resolved_links, topic_of
from loci.documents.graph.link_resolution import DocumentNames
from loci.documents.graph.neighbourhood import DocumentLink, open_link, seen_from
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex

MOST_STEPS = 2
"""Records of documents that one write puts. If there were more, somebody else wrote, too."""
MOST_SECONDS = 300.0
"""All names are read again after so long: another process leaves no trace of a document without a passage."""


@dataclass(frozen=True, slots=True)
class NamesState:
    """Stays the same while nobody writes documents."""

    index: str
    writes: int
    """The number of times that this process wrote records of documents."""


class KnownNames:
    """The documents of one owner, all that they can be called, and the briefs by their topics."""

    def __init__(self) -> None:
        self.state: NamesState | None = None
        self.read_at = 0.0
        self.documents: dict[str, Document] = {}
        self.names = DocumentNames((), {})
        self.lock = threading.Lock()
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._briefs: dict[tuple[str, str], dict[str, Document]] = defaultdict(dict)

    def read(self, catalog: Catalog, owner: Owner, state: NamesState, now: float) -> None:
        """Read the names of all documents."""
        self.state, self.read_at = None, now
        self._aliases = {id: one.aliases for id, one in catalog.mentions(owner).items() if one.aliases}
        self.documents, self._briefs = {}, defaultdict(dict)
        self.names = DocumentNames((), {})
        for one in catalog.documents(owner):
            self._add(one)
        self.state = state

    def replace(self, id: str, document: Document | None, aliases: tuple[str, ...]) -> None:
        """Give the document the names that it has now. None: it is gone."""
        if before := self.documents.pop(id, None):
            self.names.remove(before, self._aliases.get(id, ()))
            self._briefs[topic_of(before)].pop(id, None)
        self._aliases.pop(id, None)
        if document:
            if aliases:
                self._aliases[id] = aliases
            self._add(document)

    def debrief_link(self, document: Document) -> Link | None:
        """The link of a debrief to its brief."""
        if kind_of(document) != "debrief":
            return None
        return debrief_link(document, self._briefs.get(topic_of(document), {}).values())

    def _add(self, document: Document) -> None:
        self.documents[document.id] = document
        self.names.add(document, self._aliases.get(document.id, ()))
        if kind_of(document) == "brief":
            self._briefs[topic_of(document)][document.id] = document


class OwnLinks:
    """Resolves the links of a document that was just written.

    The names of all documents are read at an owner's first write, and again after somebody else has written: another
    process, or an ingestion. A write inside `following` changes only its own names.
    """

    def __init__(self, catalog: Catalog, index: DocumentIndex, clock: Callable[[], float] = time.monotonic) -> None:
        self._catalog = catalog
        self._index = index
        self._clock = clock
        self._known: OrderedDict[Owner, KnownNames] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, owner: Owner, document: Document) -> list[DocumentLink]:
        """The links that it writes, by line, also those to documents that do not exist."""
        written = self._catalog.mentions_of(owner, document.id)
        known = self._of_owner(owner)
        with known.lock:
            state, now = self._state(owner), self._clock()
            if known.state != state or now - known.read_at > MOST_SECONDS:
                known.read(self._catalog, owner, state, now)
            resolved = resolved_links(known.names, document, written)
            links: dict[tuple[str, Relation], Link] = {(one.target, one.relation): one for one in resolved.links}
            if follows := known.debrief_link(document):
                links.setdefault((follows.target, follows.relation), follows)
            found = [seen_from(known.documents, link, "outgoing", link.target) for link in links.values()]
        return sorted([*found, *map(open_link, resolved.open)], key=lambda link: link.line or 0)

    @contextmanager
    def following(self, owner: Owner, id: str) -> Generator[None]:
        """Take over the names that the block gives to this document, if nothing else was written meanwhile."""
        known = self._of_owner(owner)
        before = known.state
        is_current = before is not None and self._stays(owner, before)
        yield
        if before is None or not is_current:
            return
        with suppress(Unavailable), known.lock:  # without them, the next one reads all names again
            after = self._state(owner)
            if known.state == before and after.writes - before.writes <= MOST_STEPS:
                document = self._catalog.document(owner, id)
                known.replace(id, document, self._catalog.mentions_of(owner, id).aliases)
                known.state = after

    def _stays(self, owner: Owner, state: NamesState) -> bool:
        try:
            return self._state(owner) == state
        except Unavailable:
            return False

    def _of_owner(self, owner: Owner) -> KnownNames:
        with self._lock:
            known = self._known.setdefault(owner, KnownNames())
            self._known.move_to_end(owner)
            if len(self._known) > MAX_OWNERS:
                self._known.popitem(last=False)
        return known

    def _state(self, owner: Owner) -> NamesState:
        # The index comes first: a write that this misses then changes the state of the next look.
        index = self._index.state(owner, COLLECTION)
        return NamesState(index, self._catalog.writes)
