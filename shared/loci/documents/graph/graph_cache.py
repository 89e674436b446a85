"""Each owner's graph, made anew where documents have changed since."""

import time
from collections.abc import Callable

from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.graph.graph import Graph, graph_of
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex

MOST_OWNERS = 50
LONGEST_SECONDS = 60.0
"""A document without a passage leaves no trace in the index."""


class Graphs:
    """The graphs that were asked for last."""

    def __init__(self, catalog: Catalog, index: DocumentIndex, clock: Callable[[], float] = time.monotonic) -> None:
        self._catalog = catalog
        self._index = index
        self._clock = clock
        self._kept: OwnerCache[Graph] = OwnerCache(MOST_OWNERS)

    def of(self, owner: Owner) -> Graph:
        """The owner's documents and links as they are now."""

        def made(before: Graph | None) -> Graph:
            graph = graph_of(self._catalog.documents(owner), self._catalog.mentions(owner), before)
            # The very same one where nothing has changed: what others made of it they then find at once.
            return before if before is not None and before == graph else graph

        state = self._index.state(owner, COLLECTION), self._clock() // LONGEST_SECONDS
        return self._kept.of(owner, state, made)
