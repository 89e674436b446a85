"""Clusters: groups of documents about one topic, each with the words that tell it from the others."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal, cast

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.documents.document import Document
from loci.documents.graph.graph import Graph, Graphs
from loci.documents.graph.neighbours_index import NeighboursIndex, average_similarity
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.graph.remarks import RULES, Remarks
from loci.documents.graph.similarity import Similarities, Similarity, first_passages, written_forms
from loci.documents.graph.telling_words import telling_stems, whole_words
from loci.documents.recency import recency_of
from loci.search.document_index import DocumentIndex

CommunityMethod = Literal["louvain", "label_propagation"]
Method = CommunityMethod | Literal["tags"]
SEED: Final = 1
"""Both methods visit the documents in a random order."""
NEAREST: Final = 10
LINK_WEIGHT: Final = 1.0
"""A written link joins two documents as firmly as if they said the same."""
MAX_OWNERS: Final = 5
LABEL_TERMS: Final = 3
SEARCHED_DOCUMENTS: Final = 5
"""The documents of a cluster that are searched for its terms."""
SHOWN_TITLES: Final = 12
"""The titles of a cluster that a language model sees."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together, the more central ones first."""

    id: str
    """Changes with the documents of the cluster."""
    documents: tuple[str, ...]
    stems: tuple[str, ...]
    """The words that tell it from the other clusters, best first."""
    tag: str | None = None
    """The tag of all its documents, if that is what made it a cluster."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """All clusters, the largest first. A document that belongs nowhere is a cluster of its own."""

    compared_by: str
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A cluster as people see it."""

    id: str
    label: str
    labelled_by: str
    """`rules`, or the name of a language model."""
    terms: tuple[str, ...]
    """The words that tell it from the other topics, as its documents write them."""
    documents: tuple[Document, ...]
    """The more central ones first; if it is a tag, the newest first."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The largest topics of a library."""

    method: Method
    compared_by: str
    topics: tuple[Topic, ...]
    """The largest first."""
    total: int
    """The number of topics, shown or not."""
    alone: tuple[Document, ...]
    """The documents that are in no topic."""


class Clusters:
    """The clusters of each owner's documents, for the owners who asked last."""

    def __init__(self, graphs: Graphs, similarities: Similarities) -> None:
        self._graphs = graphs
        self._similarities = similarities
        self._cache: OwnerCache[tuple[Graph, Similarity, Method], Clustering] = OwnerCache(MAX_OWNERS)

    def of(self, owner: Owner, method: Method) -> Clustering:
        """Group the owner's documents: the same documents give the same clusters."""
        return self._cache.get(
            owner,
            lambda: (self._graphs.of(owner), self._similarities.of(owner), method),
            lambda state, _: find_clusters(*state),
        )


@dataclass(frozen=True, slots=True)
class TopicFinder:
    """Finds the topics of a library, and labels them."""

    index: DocumentIndex
    graphs: Graphs
    clusters: Clusters
    remarks: Remarks

    def find(self, owner: Owner, method: Method, *, limit: int, min_size: int) -> Topics:
        """Return the largest topics that have at least `min_size` documents."""
        graph, found = self.graphs.of(owner), self.clusters.of(owner, method)
        large = [one for one in found.clusters if len(one.documents) >= min_size]
        shown = large[:limit]
        terms = terms_of(self.index, owner, graph, shown)
        labels = self._labels_by_model(graph, shown, terms)
        in_topics = {id for one in large for id in one.documents}
        return Topics(
            method=method,
            compared_by=found.compared_by,
            topics=tuple(
                Topic(
                    id=one.id,
                    label=labels.get(at) or label_of(one, terms[at]),
                    labelled_by=self.remarks.name if at in labels else RULES,
                    terms=terms[at],
                    documents=_documents(graph, one.documents),
                )
                for at, one in enumerate(shown)
            ),
            total=len(large),
            alone=tuple(graph.documents[id] for id in sorted(graph.documents) if id not in in_topics),
        )

    def _labels_by_model(
        self, graph: Graph, clusters: Sequence[Cluster], terms: Sequence[Sequence[str]]
    ) -> Mapping[int, str]:
        """Ask the language model, if there is one. A tag needs no other label."""
        if not self.remarks.is_available or any(one.tag for one in clusters):
            return {}
        titles = [[one.title for one in _documents(graph, cluster.documents[:SHOWN_TITLES])] for cluster in clusters]
        return self.remarks.labels(
            ["\n".join([", ".join(words), *some]) for words, some in zip(terms, titles, strict=True)]
        )


def _documents(graph: Graph, ids: Sequence[str]) -> tuple[Document, ...]:
    return tuple(graph.documents[id] for id in ids if id in graph.documents)


def terms_of(index: DocumentIndex, owner: Owner, graph: Graph, clusters: Sequence[Cluster]) -> list[tuple[str, ...]]:
    """Return the stems of each cluster as its first documents write them."""
    searched = [_documents(graph, one.documents[:SEARCHED_DOCUMENTS]) for one in clusters]
    passages = first_passages(index, owner, [document for some in searched for document in some])
    found: list[tuple[str, ...]] = []
    for one, some in zip(clusters, searched, strict=True):
        read = [passage for document in some for passage in passages[document.id]]
        names = [document.title for document in _documents(graph, one.documents)]
        found.append(whole_words(written_forms(read, one.stems, names), [*names, *(passage.text for passage in read)]))
    return found


def label_of(cluster: Cluster, terms: Sequence[str]) -> str:
    """Return a label made of a few terms; of a tag, the tag."""
    return cluster.tag or ", ".join(terms[:LABEL_TERMS]) or cluster.documents[0]


def find_clusters(graph: Graph, similarity: Similarity, method: Method) -> Clustering:
    """Group the documents. Their order makes no difference."""
    if method == "tags":
        return _by_tags(graph, similarity)
    ids = sorted(graph.documents)
    weights = _weights(ids, graph, similarity)
    groups = communities(len(ids), weights, method)
    group_of = {at: number for number, group in enumerate(groups) for at in group}
    centrality: dict[int, float] = defaultdict(float)
    for (one, other), weight in weights.items():
        if group_of[one] == group_of[other]:
            centrality[one] += weight
            centrality[other] += weight
    members = [
        tuple(ids[at] for at in sorted(group, key=lambda at: (-round(centrality[at], 6), at))) for group in groups
    ]
    clusters = _described(members, [None] * len(members), graph, similarity)
    return Clustering(f"links and {similarity.compared_by}", tuple(clusters))


def communities(count: int, weights: Mapping[tuple[int, int], float], method: CommunityMethod) -> list[list[int]]:
    """Group the points 0 to `count` by the weights of their edges: the largest group first, the same on every run."""
    nx: Any = import_module("networkx")  # takes 0.2 s to import, and brings no types
    graph: Any = nx.Graph()
    # Numbers, in order: the order of a set of texts differs from process to process.
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from((one, other, weights[one, other]) for one, other in sorted(weights))
    match method:
        case "louvain":
            found = nx.community.louvain_communities(graph, weight="weight", seed=SEED)
        case "label_propagation":
            # Without squares, many loose edges outvote one firm edge, until there is only one group.
            for _, _, edge in graph.edges(data=True):
                edge["weight"] **= 2
            found = nx.community.asyn_lpa_communities(graph, weight="weight", seed=SEED)
    groups = [sorted(group) for group in cast("Iterable[Iterable[int]]", found)]
    return sorted(groups, key=lambda group: (-len(group), group))


def _weights(ids: Sequence[str], graph: Graph, similarity: Similarity) -> dict[tuple[int, int], float]:
    """Weigh how firmly documents are joined: by similarity, and by links, of which those of a hub weigh less."""
    position = {id: at for at, id in enumerate(ids)}
    weights: dict[tuple[int, int], float] = {}
    average = average_similarity(similarity)
    for one, other, value in NeighboursIndex(similarity, NEAREST, average + 1e-3).mutual_pairs():
        a, b = position.get(similarity.ids[one]), position.get(similarity.ids[other])
        if a is not None and b is not None:
            weights[min(a, b), max(a, b)] = (value - average) / (1.0 - average)
    linked = {
        (min(position[link.source], position[link.target]), max(position[link.source], position[link.target]))
        for links in graph.outgoing.values()
        for link in links
    }
    degrees = Counter(at for pair in linked for at in pair)
    for pair in linked:
        hub = max(degrees[at] for at in pair)
        weights[pair] = weights.get(pair, 0.0) + LINK_WEIGHT / math.sqrt(hub)
    return weights


def _by_tags(graph: Graph, similarity: Similarity) -> Clustering:
    """Make each tag a cluster: a document may be in several."""
    tagged: dict[str, list[str]] = defaultdict(list)
    recency = recency_of(graph.documents.values())
    for document in sorted(graph.documents.values(), key=lambda one: (recency.day(one), one.id), reverse=True):
        for tag in document.tags:
            tagged[tag].append(document.id)
    tags = sorted(tagged, key=lambda tag: (-len(tagged[tag]), tag))
    return Clustering("tags", tuple(_described([tuple(tagged[tag]) for tag in tags], tags, graph, similarity)))


def _described(
    members: Sequence[tuple[str, ...]], tags: Sequence[str | None], graph: Graph, similarity: Similarity
) -> list[Cluster]:
    """Make clusters of these groups."""
    titles = {id: one.title for id, one in graph.documents.items()}
    stems = telling_stems(members, titles, similarity.terms)
    return [
        Cluster(content_id(tag or "", *sorted(group)), group, words, tag)
        for group, words, tag in zip(members, stems, tags, strict=True)
    ]
