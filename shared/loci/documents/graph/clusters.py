"""Documents in groups that belong together, each with what tells it from the others."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.documents.graph.communities import Community, communities
from loci.documents.graph.graph import Graph
from loci.documents.graph.graph_cache import Graphs
from loci.documents.graph.neighbours_index import NeighboursIndex
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.graph.similar_links import usual
from loci.documents.graph.similarity import Similarities, Similarity

Method = Community | Literal["tags"]
NEAREST: Final = 10
LINKED: Final = 1.0
"""A written link joins two documents as firmly as saying the same would."""
TERMS: Final = 8
MOST_OWNERS: Final = 5


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together: the more central ones first."""

    id: str
    """Another one wherever the documents are others."""
    documents: tuple[str, ...]
    stems: tuple[str, ...]
    """Words that tell it from the other clusters, the most telling first."""
    tag: str | None = None
    """Where it was made by a tag: that one."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """The largest cluster first; clusters of one document are among them."""

    compared_by: str
    clusters: tuple[Cluster, ...]


class Clusters:
    """Each owner's clusters, kept until documents change."""

    def __init__(self, graphs: Graphs, likeness: Similarities) -> None:
        self._graphs = graphs
        self._likeness = likeness
        self._kept: OwnerCache[tuple[Graph, Similarity, Method], Clustering] = OwnerCache(MOST_OWNERS)

    def of(self, owner: Owner, method: Method) -> Clustering:
        """The owner's documents by this method: the same documents give the same clusters."""
        return self._kept.get(
            owner,
            lambda: (self._graphs.of(owner), self._likeness.of(owner), method),
            lambda state, _: clusters_of(*state),
        )


def clusters_of(graph: Graph, alike: Similarity, method: Method) -> Clustering:
    """The documents by this method, whatever order they come in."""
    if method == "tags":
        return _tagged(graph, alike)
    ids = sorted(graph.documents)
    weights = _weights(ids, graph, alike)
    around: dict[int, float] = defaultdict(float)
    groups = communities(len(ids), weights, method)
    group_of = {place: number for number, group in enumerate(groups) for place in group}
    for (one, other), weight in weights.items():
        if group_of[one] == group_of[other]:
            around[one] += weight
            around[other] += weight
    members = [tuple(ids[at] for at in sorted(group, key=lambda at: (-round(around[at], 6), at))) for group in groups]
    return Clustering(f"links and {alike.by}", tuple(_told(members, [None] * len(members), alike)))


def _weights(ids: Sequence[str], graph: Graph, alike: Similarity) -> dict[tuple[int, int], float]:
    """How firmly documents are joined: by being nearest to each other, and by written links, those of hubs less."""
    place = {id: at for at, id in enumerate(ids)}
    weights: dict[tuple[int, int], float] = {}
    nothing = usual(alike)
    for one, other, value in NeighboursIndex(alike, NEAREST, nothing + 1e-3).mutual():
        a, b = place.get(alike.ids[one]), place.get(alike.ids[other])
        if a is not None and b is not None:
            weights[min(a, b), max(a, b)] = (value - nothing) / (1.0 - nothing)
    linked = {
        (min(place[link.source], place[link.target]), max(place[link.source], place[link.target]))
        for links in graph.outgoing.values()
        for link in links
    }
    degrees = Counter(at for pair in linked for at in pair)
    for pair in linked:
        hub = max(degrees[at] for at in pair)
        weights[pair] = weights.get(pair, 0.0) + LINKED / math.sqrt(hub)
    return weights


def _tagged(graph: Graph, alike: Similarity) -> Clustering:
    """A cluster a tag: a document may be in several."""
    having: dict[str, list[str]] = defaultdict(list)
    for document in sorted(graph.documents.values(), key=lambda one: (one.date or "", one.id), reverse=True):
        for tag in document.tags:
            having[tag].append(document.id)
    tags = sorted(having, key=lambda tag: (-len(having[tag]), tag))
    return Clustering("tags", tuple(_told([tuple(having[tag]) for tag in tags], tags, alike)))


def _told(members: Sequence[tuple[str, ...]], tags: Sequence[str | None], alike: Similarity) -> list[Cluster]:
    """The clusters with their words: TF-IDF once more, with a cluster as one document."""
    said = [_said(group, alike.terms) for group in members]
    having = Counter(stem for stems in said for stem in stems)
    told: list[Cluster] = []
    for group, stems, tag in zip(members, said, tags, strict=True):
        telling = {stem: value * math.log(1 + len(members) / having[stem]) for stem, value in stems.items()}
        best = sorted(telling, key=lambda stem: (-round(telling[stem], 6), stem))[:TERMS]
        told.append(Cluster(content_id(tag or "", *sorted(group)), group, tuple(best), tag))
    return told


def _said(group: Sequence[str], terms: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """What its documents are about, most of all what several of them are about."""
    sums, saying = defaultdict[str, float](float), Counter[str]()
    for id in group:
        for stem, value in terms.get(id, {}).items():
            sums[stem] += value
            saying[stem] += 1
    return {stem: value * saying[stem] / len(group) ** 2 for stem, value in sums.items()}
