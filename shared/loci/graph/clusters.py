"""Clusters: groups of documents about one topic, each with its distinctive words."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final, Literal, cast

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.documents.document import Document, recency_of
from loci.graph.distinctive_terms import first_passages, telling_stems, written_words
from loci.graph.graph import Graph
from loci.graph.similarity import NeighboursIndex, Similarity
from loci.search.document_index import DocumentIndex

Method = Literal["louvain", "tags"]
SEED: Final = 1
"""Louvain's method visits the documents in a random order."""
NEAREST: Final = 10
LINK_WEIGHT: Final = 1.0
"""The weight of a written link: it joins two documents as firmly as equal texts do."""
LABEL_TERMS: Final = 3
SEARCHED_DOCUMENTS: Final = 5
"""The documents of a cluster that are searched for its terms."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together, the more central ones first; if it is a tag, the newest first."""

    id: str
    """Changes with the documents of the cluster."""
    documents: tuple[str, ...]
    stems: tuple[str, ...]
    """Its distinctive words, best first."""
    tag: str | None = None
    """The tag of all its documents, if the cluster was made by tags."""
    terms: tuple[str, ...] = ()
    """The stems as its documents write them."""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Clustering:
    """All clusters, the largest first. A document that belongs nowhere is a cluster of its own."""

    compared_by: str
    clusters: tuple[Cluster, ...]
    documents: Mapping[str, Document]
    """All documents that were grouped, by id."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The largest topics of a library."""

    compared_by: str
    clusters: tuple[Cluster, ...]
    """The largest first, each with its label."""
    documents: Mapping[str, Document]
    total: int
    """The number of topics, shown or not."""
    alone: tuple[Document, ...]
    """The documents that are in no topic."""


def topics(index: DocumentIndex, owner: Owner, found: Clustering, *, limit: int, min_size: int) -> Topics:
    """Return the largest clusters that have at least `min_size` documents."""
    large = [one for one in found.clusters if len(one.documents) >= min_size]
    in_topics = {id for one in large for id in one.documents}
    alone = tuple(found.documents[id] for id in sorted(found.documents) if id not in in_topics)
    shown = tuple(labelled(index, owner, found.documents, large[:limit]))
    return Topics(found.compared_by, shown, found.documents, len(large), alone)


def labelled(
    index: DocumentIndex, owner: Owner, documents: Mapping[str, Document], clusters: Sequence[Cluster]
) -> list[Cluster]:
    """Give these clusters their terms, and labels made of a few of them. The label of a tag is the tag."""
    searched = [[documents[id] for id in one.documents[:SEARCHED_DOCUMENTS]] for one in clusters]
    passages = first_passages(index, owner, [document for some in searched for document in some])
    found: list[Cluster] = []
    for one, some in zip(clusters, searched, strict=True):
        read = [passage for document in some for passage in passages[document.id]]
        terms = written_words(one.stems, read, [documents[id].title for id in one.documents])
        label = one.tag or ", ".join(terms[:LABEL_TERMS]) or one.documents[0]
        found.append(replace(one, terms=terms, label=label))
    return found


def find_clusters(graph: Graph, similarity: Similarity, method: Method) -> Clustering:
    """Group the documents. Their order makes no difference."""
    if method == "tags":
        return _by_tags(graph, similarity)
    ids = sorted(graph.documents)
    weights = _weights(ids, graph, similarity)
    groups = communities(len(ids), weights)
    group_of = {at: number for number, group in enumerate(groups) for at in group}
    centrality: dict[int, float] = defaultdict(float)
    for (one, other), weight in weights.items():
        if group_of[one] == group_of[other]:
            centrality[one] += weight
            centrality[other] += weight
    members = [
        tuple(ids[at] for at in sorted(group, key=lambda at: (-round(centrality[at], 6), at))) for group in groups
    ]
    compared_by = f"links and {similarity.compared_by}"
    return _clustering(compared_by, members, [None] * len(members), graph, similarity)


def communities(count: int, weights: Mapping[tuple[int, int], float]) -> list[list[int]]:
    """Group the points 0 to `count` by the weights of their edges: the largest group first, the same on every run."""
    nx: Any = import_module("networkx")  # takes 0.2 s to import, and brings no types
    graph: Any = nx.Graph()
    # Numbers, in order: the order of a set of texts differs from process to process.
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from((one, other, weights[one, other]) for one, other in sorted(weights))
    found = nx.community.louvain_communities(graph, weight="weight", seed=SEED)
    groups = [sorted(group) for group in cast("Iterable[Iterable[int]]", found)]
    return sorted(groups, key=lambda group: (-len(group), group))


def _weights(ids: Sequence[str], graph: Graph, similarity: Similarity) -> dict[tuple[int, int], float]:
    """Weigh how firmly documents are joined: by similarity, and by links. The links of a hub weigh less."""
    position = {id: at for at, id in enumerate(ids)}
    weights: dict[tuple[int, int], float] = {}
    average = similarity.average()
    for one, other, value in NeighboursIndex(similarity, NEAREST, average + 1e-3).mutual_pairs():
        a, b = position.get(similarity.ids[one]), position.get(similarity.ids[other])
        if a is not None and b is not None:
            weights[min(a, b), max(a, b)] = (value - average) / (1.0 - average)
    ends = [(position[link.source], position[link.target]) for links in graph.outgoing.values() for link in links]
    linked = {(min(pair), max(pair)) for pair in ends}
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
    return _clustering("tags", [tuple(tagged[tag]) for tag in tags], tags, graph, similarity)


def _clustering(
    compared_by: str,
    members: Sequence[tuple[str, ...]],
    tags: Sequence[str | None],
    graph: Graph,
    similarity: Similarity,
) -> Clustering:
    titles = {id: one.title for id, one in graph.documents.items()}
    stems = telling_stems(members, titles, similarity.terms)
    clusters = [
        Cluster(content_id(tag or "", *sorted(group)), group, words, tag)
        for group, words, tag in zip(members, stems, tags, strict=True)
    ]
    return Clustering(compared_by, tuple(clusters), graph.documents)
