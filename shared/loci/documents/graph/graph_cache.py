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
        self._kept: OwnerCache[tuple[str, float], Graph] = OwnerCache(MOST_OWNERS)

    def of(self, owner: Owner) -> Graph:
        """The owner's documents and links as they are now."""

        def made(_: tuple[str, float], before: Graph | None) -> Graph:
            return graph_of(self._catalog.documents(owner), self._catalog.said(owner), before)

        def state() -> tuple[str, float]:
            return self._index.state(owner, COLLECTION), self._clock() // LONGEST_SECONDS

        return self._kept.get(owner, state, made)
