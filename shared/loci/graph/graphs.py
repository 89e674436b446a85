"""Graphs, similarities and clusters of an owner's documents, kept for the owners that used them last."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.owner_cache import OwnerCache
from loci.graph.clusters import Clustering, Method, find_clusters
from loci.graph.contradictions import Contradiction, find_contradictions
from loci.graph.graph import Graph, Link, build_graph
from loci.graph.similarity import NeighboursIndex, Similarity, compared, minimum_similarity
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, EmbeddingModel

MAX_OWNERS: Final = 50
MAX_OWNERS_COMPARED: Final = 5
MAX_AGE_SECONDS: Final = 60.0
"""A document without a passage does not change the state of the index."""
MAX_SIMILAR: Final = 3
"""Links that are inferred of each document."""


class Graphs:
    """The links of each owner's documents, written and inferred, and their similarity.

    The same documents give the same objects. Nobody writes a `similar` link: Loci infers it if each of two documents is
    among the other's nearest neighbours.
    """

    def __init__(
        self, catalog: Catalog, index: DocumentIndex, embedder: Embedder, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.index = index
        self._catalog = catalog
        self._embedder = embedder
        self._clock = clock
        self._graphs: OwnerCache[tuple[str, float], Graph] = OwnerCache(MAX_OWNERS)
        self._similarities: OwnerCache[tuple[str, EmbeddingModel | None], Similarity] = OwnerCache(MAX_OWNERS_COMPARED)
        self._neighbours: OwnerCache[Similarity, NeighboursIndex] = OwnerCache(MAX_OWNERS_COMPARED)
        self._with_similar: OwnerCache[tuple[NeighboursIndex, Graph], Graph] = OwnerCache(MAX_OWNERS_COMPARED)
        self._contradictions: OwnerCache[tuple[Graph, str, str], list[Contradiction]] = OwnerCache(MAX_OWNERS_COMPARED)
        self._clusterings: OwnerCache[tuple[Graph, Similarity, Method], Clustering] = OwnerCache(MAX_OWNERS_COMPARED)

    def for_owner(self, owner: Owner) -> Graph:
        """Return the graph of the owner's documents as they are now; the same object if nothing has changed."""
        return self._graphs.get(
            owner,
            lambda: (self.index.state(owner, COLLECTION), self._clock() // MAX_AGE_SECONDS),
            lambda _, last: build_graph(self._catalog.documents(owner), self._catalog.mentions(owner), last),
        )

    def contradictions(self, owner: Owner, day: str) -> list[Contradiction]:
        """Return the pairs of the owner's documents that say different values of the same thing."""
        return self._contradictions.get(
            owner,
            lambda: (self.for_owner(owner), self.index.state(owner, COLLECTION), day),
            lambda state, _: find_contradictions(state[0], self.index.passages(owner, COLLECTION), day),
        )

    def similarity(self, owner: Owner) -> Similarity:
        """Compare the owner's documents by the model if it has embedded every passage, otherwise by words."""
        return self._similarities.get(
            owner,
            lambda: (self.index.state(owner, COLLECTION), self._embedder.model()),
            lambda state, _: compared(self.index.passages(owner, COLLECTION), state[1]),
        )

    def similar(self, owner: Owner, ids: Sequence[str]) -> dict[str, tuple[Link, ...]]:
        """Return the `similar` links from each of these documents, most similar first, without comparing all pairs."""
        index = self._neighbours_of(owner)
        return {id: tuple(_link(index, id, other, value) for other, value in index.similar_to(id)) for id in ids}

    def with_similar(self, owner: Owner) -> Graph:
        """Return the graph with all `similar` links added."""
        return self._with_similar.get(
            owner, lambda: (self._neighbours_of(owner), self.for_owner(owner)), lambda state, _: _with_similar(*state)
        )

    def clusters(self, owner: Owner, method: Method, among: Set[str] | None = None) -> Clustering:
        """Group the owner's documents, or these of them: the same documents give the same clusters."""
        if among is not None:
            return find_clusters(self.for_owner(owner).among(among), self.similarity(owner).among(among), method)
        return self._clusterings.get(
            owner,
            lambda: (self.for_owner(owner), self.similarity(owner), method),
            lambda state, _: find_clusters(*state),
        )

    def _neighbours_of(self, owner: Owner) -> NeighboursIndex:
        return self._neighbours.get(
            owner,
            lambda: self.similarity(owner),
            lambda similarity, _: NeighboursIndex(similarity, MAX_SIMILAR, minimum_similarity(similarity)),
        )


def _with_similar(index: NeighboursIndex, graph: Graph) -> Graph:
    outgoing, incoming = defaultdict[str, list[Link]](list), defaultdict[str, list[Link]](list)
    ids = index.similarity.ids
    for one, other, value in index.mutual_pairs():
        link = _link(index, ids[one], ids[other], value)
        if link.source in graph.documents and link.target in graph.documents:
            outgoing[link.source].append(link)
            incoming[link.target].append(link)
    return replace(graph, outgoing=_merged(graph.outgoing, outgoing), incoming=_merged(graph.incoming, incoming))


def _merged(
    written: Mapping[str, tuple[Link, ...]], similar: Mapping[str, list[Link]]
) -> Mapping[str, tuple[Link, ...]]:
    return {id: (*written.get(id, ()), *similar.get(id, ())) for id in [*written, *sorted(similar)]}


def _link(index: NeighboursIndex, id: str, other: str, value: float) -> Link:
    return Link(id, other, "similar", evidence=f"Compared by {index.similarity.compared_by}", similarity=value)
