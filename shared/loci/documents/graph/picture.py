"""A picture of the graph: as many documents as people can look at, in groups, always in the same order."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.document_links import Link, OpenLink
from loci.documents.graph.clusters import Clusters, label_of, terms_of
from loci.documents.graph.gaps import Gap, find_gaps
from loci.documents.graph.graph import Graph, Graphs
from loci.documents.graph.similarity import BY_WORDS, Similarities
from loci.search.document_index import DocumentIndex

MAX_DOCUMENTS: Final = 5_000
MAX_LINKS: Final = 20_000
MAX_OPEN: Final = 2_000
MAX_GAPS: Final = 200
NO_GROUP: Final = ("", "on their own")
"""The id and the label of the group of documents that belong to no topic."""


@dataclass(frozen=True, slots=True)
class PictureGroup:
    """Documents that have one colour."""

    id: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class Picture:
    """The documents to draw. If there are too many, these are the most linked ones."""

    documents: tuple[Document, ...]
    """By path."""
    groups: tuple[PictureGroup, ...]
    """The largest first."""
    group_of: Mapping[str, str]
    links: tuple[Link, ...]
    open: tuple[OpenLink, ...]
    gaps: tuple[Gap, ...]
    total: int
    """The number of documents, drawn or not."""
    compared_by: str | None
    """The name of what found the gaps; None if nobody looked for them."""


@dataclass(frozen=True, slots=True)
class PictureSource:
    """Everything a picture is drawn from. Finding gaps and groups takes long; drawing takes little."""

    graph: Graph
    gaps: Sequence[Gap] = ()
    groups: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By document, the id and the label of its group."""
    compared_by: str | None = None

    def picture(self, max_documents: int = MAX_DOCUMENTS) -> Picture:
        """Draw at most so many documents."""
        graph = self.graph
        shown = _most_linked(graph, max_documents)
        ids = {document.id for document in shown}
        group_of = {id: self.groups.get(id, NO_GROUP) for id in sorted(ids)}
        sizes = Counter(group for group, _ in group_of.values())
        labels = dict(group_of.values())
        links = [link for id in sorted(ids) for link in graph.outgoing.get(id, ()) if link.target in ids]
        open_links = [one for id in sorted(ids) for one in graph.open.get(id, ())]
        gaps = [gap for gap in self.gaps if gap.source.id in ids and gap.target.id in ids]
        return Picture(
            documents=tuple(shown),
            groups=tuple(
                PictureGroup(id, labels[id], size)
                for id, size in sorted(sizes.items(), key=lambda one: (-one[1], one[0]))
            ),
            group_of={id: group for id, (group, _) in group_of.items()},
            links=tuple(links[:MAX_LINKS]),
            open=tuple(open_links[:MAX_OPEN]),
            gaps=tuple(gaps[:MAX_GAPS]),
            total=len(graph.documents),
            compared_by=self.compared_by,
        )


@dataclass(frozen=True, slots=True)
class Pictures:
    """Collects what the pictures of an owner's documents are drawn from."""

    index: DocumentIndex
    graphs: Graphs
    similarities: Similarities
    clusters: Clusters

    def source(self, owner: Owner, *, with_gaps: bool = True) -> PictureSource:
        """Return the owner's documents as they are now. Without gaps it takes a fraction of the time."""
        graph = self.graphs.of(owner)
        groups = self._groups(owner, graph)
        if not with_gaps:
            return PictureSource(graph, groups=groups)
        similarity = self.similarities.of(owner)
        gaps = find_gaps(graph, similarity, MAX_GAPS, gap_threshold(similarity.compared_by))
        return PictureSource(graph, gaps, groups, similarity.compared_by)

    def _groups(self, owner: Owner, graph: Graph) -> dict[str, tuple[str, str]]:
        """Return the id and the label of each document's cluster. A document that is alone has none."""
        clusters = [one for one in self.clusters.of(owner, "louvain").clusters if len(one.documents) > 1]
        terms = terms_of(self.index, owner, graph, clusters)
        return {
            id: (cluster.id, label_of(cluster, words))
            for cluster, words in zip(clusters, terms, strict=True)
            for id in cluster.documents
        }


def gap_threshold(compared_by: str) -> float:
    """Return how similar two documents must be to show a gap: texts share far fewer words than meanings."""
    return 0.3 if compared_by == BY_WORDS else 0.8


def _most_linked(graph: Graph, limit: int) -> list[Document]:
    degree: dict[str, int] = defaultdict(int)
    for links in (*graph.outgoing.values(), *graph.incoming.values()):
        for link in links:
            degree[link.source] += 1
            degree[link.target] += 1
    chosen = sorted(graph.documents.values(), key=lambda one: (-degree[one.id], one.path))[:limit]
    return sorted(chosen, key=lambda one: one.path)
