"""The nearest neighbours of every document, and the `similar` links between documents that are near to each other.

Nobody writes a `similar` link: Loci infers it if each of two documents is among the other's nearest neighbours.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from loci.core.identity import Owner
from loci.documents.document_links import Link
from loci.documents.graph.graph import Graph
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.graph.similarity import BY_WORDS, Similarities, Similarity

AT_ONCE: Final = 256
DIGITS: Final = 4
FEW: Final = 8
NEAREST: Final = 3
MINIMUM_BY_WORDS: Final = 0.2
MINIMUM_BY_MODEL: Final = 0.5
"""Higher than by words: to a model all texts are more similar, and to some models much more."""
ABOVE_AVERAGE: Final = 0.25
"""The part of the way from the average similarity to 1."""
ENOUGH_DOCUMENTS: Final = 20
"""Fewer do not tell what similarity is average."""
MAX_OWNERS: Final = 5
MAX_AVERAGE: Final = 0.9


class NeighboursIndex:
    """The `limit` nearest neighbours of each document, found when they are first asked for.

    Documents are numbered by their positions in `similarity.ids`.
    """

    def __init__(self, similarity: Similarity, limit: int, minimum: float) -> None:
        self.similarity = similarity
        self._limit = limit
        self._minimum = minimum
        self._found: dict[int, Mapping[int, float]] = {}

    def nearest_to(self, positions: Sequence[int]) -> list[Mapping[int, float]]:
        """Return the neighbours of each of these documents with their similarity, nearest first."""
        new = [at for at in positions if at not in self._found]
        nearest = nearest_neighbours(self.similarity, new, self._limit, self._minimum)
        self._found.update(zip(new, nearest, strict=True))
        return [self._found[at] for at in positions]

    def mutual_pairs(self) -> Iterator[tuple[int, int, float]]:
        """Return every pair in which each document is a neighbour of the other, with its similarity."""
        everyone = range(len(self.similarity.ids))
        for start in everyone[::AT_ONCE]:
            self.nearest_to(everyone[start : start + AT_ONCE])
        for one in everyone:
            neighbours = self._found[one].items()
            yield from ((one, other, value) for other, value in neighbours if one < other and one in self._found[other])


def nearest_neighbours(
    similarity: Similarity, positions: Sequence[int], limit: int, minimum: float
) -> list[Mapping[int, float]]:
    """Return the nearest neighbours of each of these documents, nearest first, equally near ones by their ids."""
    import numpy as np

    if not positions:
        return []
    vectors = similarity.vectors
    # For a few documents, one product each takes a third of the time of one product for all of them.
    products = [vectors @ vectors[at] for at in positions] if len(positions) <= FEW else vectors[positions] @ vectors.T
    values = np.round(products, DIGITS)
    values[np.arange(len(positions)), list(positions)] = -2  # no document is its own neighbour
    rank = values.shape[1] - min(limit, values.shape[1])
    floors = np.maximum(np.partition(values, rank, axis=1)[:, rank], minimum)
    found: list[Mapping[int, float]] = []
    for row, floor in zip(values, floors, strict=True):
        near = np.flatnonzero(row >= floor)
        best = near[np.argsort(-row[near], kind="stable")][:limit]
        found.append({int(other): min(round(float(row[other]), DIGITS), 1.0) for other in best})
    return found


class SimilarLinks:
    """The `similar` links of each owner's documents, for the owners who asked last."""

    def __init__(self, similarities: Similarities) -> None:
        self._similarities = similarities
        self._indexes: OwnerCache[Similarity, NeighboursIndex] = OwnerCache(MAX_OWNERS)
        self._graphs: OwnerCache[tuple[NeighboursIndex, Graph], Graph] = OwnerCache(MAX_OWNERS)

    def of(self, owner: Owner, ids: Sequence[str]) -> dict[str, tuple[Link, ...]]:
        """Return the links from each of these documents, most similar first, without comparing all pairs."""
        index = self._index(owner)
        similar = {id: similar_to(index, id) for id in ids}
        return {id: tuple(_link(index, id, other, value) for other, value in similar[id]) for id in ids}

    def added_to(self, owner: Owner, graph: Graph) -> Graph:
        """Return the graph with all `similar` links added."""
        return self._graphs.get(owner, lambda: (self._index(owner), graph), lambda state, _: _added(graph, state[0]))

    def _index(self, owner: Owner) -> NeighboursIndex:
        return self._indexes.get(
            owner,
            lambda: self._similarities.of(owner),
            lambda similarity, _: NeighboursIndex(similarity, NEAREST, minimum_similarity(similarity)),
        )


def minimum_similarity(similarity: Similarity) -> float:
    """Return how similar two documents must be to get a link."""
    if similarity.compared_by == BY_WORDS:
        return MINIMUM_BY_WORDS
    if len(similarity.ids) < ENOUGH_DOCUMENTS:
        return MINIMUM_BY_MODEL
    average = average_similarity(similarity)
    return max(MINIMUM_BY_MODEL, average + ABOVE_AVERAGE * (1 - average))


def average_similarity(similarity: Similarity) -> float:
    """Return the mean similarity of all pairs, which means nothing yet."""
    count = len(similarity.ids)
    if count < 2:
        return 0.0
    total = similarity.vectors.sum(axis=0, dtype="float64")  # its square is the sum over all pairs
    return min(max(float(total @ total - count) / (count * (count - 1)), 0.0), MAX_AVERAGE)


def similar_to(index: NeighboursIndex, id: str) -> list[tuple[str, float]]:
    """Return the documents that have this one as a neighbour and are its neighbours, most similar first."""
    ids = index.similarity.ids
    at = bisect_left(ids, id)
    if at == len(ids) or ids[at] != id:
        return []
    [mine] = index.nearest_to([at])
    theirs = index.nearest_to([*mine])
    return [(ids[other], value) for (other, value), its in zip(mine.items(), theirs, strict=True) if at in its]


def _added(graph: Graph, index: NeighboursIndex) -> Graph:
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
