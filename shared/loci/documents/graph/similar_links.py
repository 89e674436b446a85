"""Which documents resemble each other: each of two is among the other's nearest. Nobody wrote these links."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from loci.core.identity import Owner
from loci.documents.graph.graph import Graph
from loci.documents.graph.link import Link
from loci.documents.graph.neighbours_ahead import Ahead
from loci.documents.graph.neighbours_index import NeighboursIndex
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.graph.similarity import BY_WORDS, Similarities, Similarity

NEAREST: Final = 3
LEAST_BY_WORDS: Final = 0.2
LEAST_BY_MODEL: Final = 0.5
"""A model puts all texts closer together than their words do, and some models much closer."""
ABOVE_USUAL: Final = 0.25
"""So much of the way from what is usual to being the same."""
ENOUGH: Final = 20
"""Documents that tell what is usual."""
MOST_OWNERS: Final = 5
MOST_USUAL: Final = 0.9


class SimilarLinks:
    """The `similar` links of each owner's documents, made when they are asked for and kept until documents change.

    Where it works `ahead`, the others' are made by a thread, from the first question on.
    """

    def __init__(self, likeness: Similarities, *, ahead: bool = False) -> None:
        self._likeness = likeness
        self._nearest: OwnerCache[Similarity, NeighboursIndex] = OwnerCache(MOST_OWNERS)
        self._all: OwnerCache[tuple[NeighboursIndex, Graph], Graph] = OwnerCache(MOST_OWNERS)
        self._ahead = Ahead() if ahead else None

    def of(self, owner: Owner, ids: Sequence[str]) -> dict[str, tuple[Link, ...]]:
        """Those of some documents, as links from each, the most alike first. They cost no comparison of all pairs."""
        nearest = self._of(owner)
        near = {id: resembling(nearest, id) for id in ids}
        if self._ahead:
            self._ahead.find(nearest)
        return {id: tuple(_link(nearest.alike, id, other, value) for other, value in near[id]) for id in ids}

    def joined(self, owner: Owner, graph: Graph) -> Graph:
        """The graph with all of them in it."""
        return self._all.get(owner, lambda: (self._of(owner), graph), lambda state, _: _joined(graph, state[0]))

    def _of(self, owner: Owner) -> NeighboursIndex:
        return self._nearest.get(
            owner,
            lambda: self._likeness.of(owner),
            lambda alike, _: NeighboursIndex(alike, NEAREST, least_of(alike)),
        )


def least_of(alike: Similarity) -> float:
    """How alike two documents must be to resemble each other."""
    if alike.by == BY_WORDS:
        return LEAST_BY_WORDS
    if len(alike.ids) < ENOUGH:
        return LEAST_BY_MODEL
    nothing = usual(alike)
    return max(LEAST_BY_MODEL, nothing + ABOVE_USUAL * (1 - nothing))


def usual(alike: Similarity) -> float:
    """How alike two documents are on average, which says nothing yet."""
    count = len(alike.ids)
    if count < 2:
        return 0.0
    total = alike.rows.sum(axis=0, dtype="float64")  # its square is the sum over all pairs
    return min(max(float(total @ total - count) / (count * (count - 1)), 0.0), MOST_USUAL)


def resembling(nearest: NeighboursIndex, id: str) -> list[tuple[str, float]]:
    """The documents that this one and that resemble each other, the most alike first."""
    alike = nearest.alike
    at = bisect_left(alike.ids, id)
    if at == len(alike.ids) or alike.ids[at] != id:
        return []
    [mine] = nearest.of([at])
    theirs = nearest.of([*mine])
    return [(alike.ids[other], value) for (other, value), its in zip(mine.items(), theirs, strict=True) if at in its]


def _joined(graph: Graph, nearest: NeighboursIndex) -> Graph:
    outgoing, incoming = defaultdict[str, list[Link]](list), defaultdict[str, list[Link]](list)
    ids = nearest.alike.ids
    for one, other, value in nearest.mutual():
        link = _link(nearest.alike, ids[one], ids[other], value)
        if link.source in graph.documents and link.target in graph.documents:
            outgoing[link.source].append(link)
            incoming[link.target].append(link)
    return replace(graph, outgoing=_both(graph.outgoing, outgoing), incoming=_both(graph.incoming, incoming))


def _both(
    written: Mapping[str, tuple[Link, ...]], inferred: Mapping[str, list[Link]]
) -> Mapping[str, tuple[Link, ...]]:
    return {id: (*written.get(id, ()), *inferred.get(id, ())) for id in [*written, *sorted(inferred)]}


def _link(alike: Similarity, id: str, other: str, value: float) -> Link:
    return Link(id, other, "similar", evidence=f"Compared by {alike.by}", similarity=value)
