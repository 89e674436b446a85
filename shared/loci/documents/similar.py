"""Which documents resemble each other: each of two is among the other's nearest. Nobody wrote these links."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from loci.documents.alike import BLOCK, BY_WORDS, Alike, Likeness
from loci.documents.graph import Graph
from loci.documents.kept import Kept
from loci.model.graph import Link
from loci.model.identity import Owner

NEAREST: Final = 3
LEAST_BY_WORDS: Final = 0.2
LEAST_BY_MODEL: Final = 0.5
"""A model puts all texts closer together than their words do, and some models much closer."""
ABOVE_USUAL: Final = 0.25
"""So much of the way from what is usual to being the same."""
ENOUGH: Final = 20
"""Documents that tell what is usual."""
MOST_OWNERS: Final = 5
DIGITS: Final = 4
FEW: Final = 8
MOST_USUAL: Final = 0.9


@dataclass(frozen=True, slots=True)
class _Found:
    """What was asked for so far of some documents."""

    least: float
    links: dict[str, tuple[Link, ...]] = field(default_factory=dict[str, tuple[Link, ...]])


class Similar:
    """The `similar` links of each owner's documents, made when they are asked for and kept until documents change."""

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness
        self._some: Kept[_Found] = Kept(MOST_OWNERS)
        self._all: Kept[Graph] = Kept(MOST_OWNERS)

    def of(self, owner: Owner, ids: Sequence[str]) -> dict[str, tuple[Link, ...]]:
        """Those of some documents, as links from each, the most alike first. They cost no comparison of all pairs."""
        alike = self._likeness.of(owner)
        found = self._some.of(owner, alike, lambda _: _Found(least_of(alike)))
        for id in ids:
            if id not in found.links:
                near = resembling(alike, id, found.least)
                found.links[id] = tuple(_link(alike, id, other, value) for other, value in near)
        return {id: found.links[id] for id in ids}

    def joined(self, owner: Owner, graph: Graph) -> Graph:
        """The graph with all of them in it."""
        alike = self._likeness.of(owner)
        return self._all.of(owner, (alike, graph), lambda _: _joined(graph, alike))


def least_of(alike: Alike) -> float:
    """How alike two documents must be to resemble each other."""
    if alike.by == BY_WORDS:
        return LEAST_BY_WORDS
    if len(alike.ids) < ENOUGH:
        return LEAST_BY_MODEL
    nothing = usual(alike)
    return max(LEAST_BY_MODEL, nothing + ABOVE_USUAL * (1 - nothing))


def usual(alike: Alike) -> float:
    """How alike two documents are on average, which says nothing yet."""
    count = len(alike.ids)
    if count < 2:
        return 0.0
    total = alike.rows.sum(axis=0, dtype="float64")  # its square is the sum over all pairs
    return min(max(float(total @ total - count) / (count * (count - 1)), 0.0), MOST_USUAL)


def resembling(alike: Alike, id: str, least: float) -> list[tuple[str, float]]:
    """The documents that this one and that resemble each other, the most alike first."""
    at = bisect_left(alike.ids, id)
    if at == len(alike.ids) or alike.ids[at] != id:
        return []
    [mine] = nearest(alike, [at], NEAREST, least)
    theirs = nearest(alike, [*mine], NEAREST, least)
    return [(alike.ids[other], value) for (other, value), its in zip(mine.items(), theirs, strict=True) if at in its]


def mutual(alike: Alike, most: int, least: float) -> Iterator[tuple[int, int, float]]:
    """All pairs of which each is among the `most` nearest of the other, by their places in `alike.ids`."""
    everyone = range(len(alike.ids))
    each = [
        near for start in everyone[::BLOCK] for near in nearest(alike, everyone[start : start + BLOCK], most, least)
    ]
    for one in everyone:
        yield from ((one, other, value) for other, value in each[one].items() if one < other and one in each[other])


def nearest(alike: Alike, places: Sequence[int], most: int, least: float) -> list[Mapping[int, float]]:
    """For each of these documents the `most` nearest others, the nearest first; equally near ones by their ids."""
    import numpy as np

    if not places:
        return []
    # A product for each of a few is a third of the time of one for all of them.
    products = (
        [alike.rows @ alike.rows[at] for at in places] if len(places) <= FEW else alike.rows[places] @ alike.rows.T
    )
    near = np.round(products, DIGITS)
    near[np.arange(len(places)), list(places)] = -2  # nobody is his own neighbour
    rank = min(most, near.shape[1]) - 1
    floors = np.maximum(np.partition(near, near.shape[1] - 1 - rank, axis=1)[:, near.shape[1] - 1 - rank], least)
    found: list[Mapping[int, float]] = []
    for row, floor in zip(near, floors, strict=True):
        close = np.flatnonzero(row >= floor)
        best = close[np.argsort(-row[close], kind="stable")][:most]
        found.append({int(other): min(round(float(row[other]), DIGITS), 1.0) for other in best})
    return found


def _joined(graph: Graph, alike: Alike) -> Graph:
    outgoing, incoming = defaultdict[str, list[Link]](list), defaultdict[str, list[Link]](list)
    for one, other, value in mutual(alike, NEAREST, least_of(alike)):
        link = _link(alike, alike.ids[one], alike.ids[other], value)
        if link.source in graph.documents and link.target in graph.documents:
            outgoing[link.source].append(link)
            incoming[link.target].append(link)
    return replace(graph, outgoing=_both(graph.outgoing, outgoing), incoming=_both(graph.incoming, incoming))


def _both(
    written: Mapping[str, tuple[Link, ...]], inferred: Mapping[str, list[Link]]
) -> Mapping[str, tuple[Link, ...]]:
    return {id: (*written.get(id, ()), *inferred.get(id, ())) for id in [*written, *sorted(inferred)]}


def _link(alike: Alike, id: str, other: str, value: float) -> Link:
    return Link(id, other, "similar", evidence=f"Compared by {alike.by}", similarity=value)
