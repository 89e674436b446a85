"""A picture of the graph: as many documents as people can look at, in groups, always in the same order."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from loci.core.identity import Owner
from loci.documents.document import Document, is_session
from loci.graph.clusters import labelled
from loci.graph.gaps import Gap, find_gaps
from loci.graph.graph import Graph, Link, OpenLink
from loci.graph.graphs import Graphs
from loci.graph.similarity import BY_WORDS

MAX_DOCUMENTS: Final = 5_000
MAX_LINKS: Final = 20_000
MAX_OPEN: Final = 2_000
MAX_GAPS: Final = 200
NO_GROUP: Final = ("", "on their own", "on their own")
"""The id, the label and the name of the group of documents that belong to no topic."""


@dataclass(frozen=True, slots=True)
class PictureGroup:
    """Documents that have one colour."""

    id: str
    label: str
    """Its distinctive words."""
    name: str
    """The title of its central document."""
    size: int


@dataclass(frozen=True, slots=True)
class Picture:
    """The documents to draw. If there are too many, these are the most linked ones."""

    documents: tuple[Document, ...]
    """The documents, in the order of their paths."""
    groups: tuple[PictureGroup, ...]
    """The largest first."""
    group_of: Mapping[str, str]
    links: tuple[Link, ...]
    open: tuple[OpenLink, ...]
    gaps: tuple[Gap, ...]
    total: int
    """The number of documents, drawn or not."""
    compared_by: str | None
    """The method that found the gaps; None if they were not searched for."""


@dataclass(frozen=True, slots=True)
class PictureSource:
    """Everything a picture is drawn from. Finding gaps and groups takes long; drawing takes little."""

    graph: Graph
    gaps: Sequence[Gap] = ()
    groups: Mapping[str, tuple[str, str, str]] = field(default_factory=dict[str, tuple[str, str, str]])
    """The id, the label and the name of the group of each document, by the document's id."""
    compared_by: str | None = None

    def picture(self, max_documents: int = MAX_DOCUMENTS) -> Picture:
        """The picture of at most `most` documents."""
        graph = self.graph
        degree = Counter(end for some in graph.outgoing.values() for one in some for end in (one.source, one.target))
        most_linked = sorted(graph.documents.values(), key=lambda one: (-degree[one.id], one.path))[:max_documents]
        ids = sorted(document.id for document in most_linked)
        shown = frozenset(ids)
        group_of = {id: self.groups.get(id, NO_GROUP) for id in ids}
        groups = [PictureGroup(*group, size) for group, size in Counter(group_of.values()).items()]
        links = [link for id in ids for link in graph.outgoing.get(id, ()) if link.target in shown]
        open_links = [one for id in ids for one in graph.open.get(id, ())]
        gaps = [gap for gap in self.gaps if gap.source.id in shown and gap.target.id in shown]
        return Picture(
            documents=tuple(sorted(most_linked, key=lambda one: one.path)),
            groups=tuple(sorted(groups, key=lambda one: (-one.size, one.id))),
            group_of={id: group[0] for id, group in group_of.items()},
            links=tuple(links[:MAX_LINKS]),
            open=tuple(open_links[:MAX_OPEN]),
            gaps=tuple(gaps[:MAX_GAPS]),
            total=len(graph.documents),
            compared_by=self.compared_by,
        )


def picture_source(graphs: Graphs, owner: Owner, *, with_gaps: bool = True) -> PictureSource:
    """Return the owner's documents as they are now. Without gaps it takes a fraction of the time."""
    graph, found = graphs.for_owner(owner), graphs.clusters(owner, "louvain")
    clusters = [one for one in found.clusters if len(one.documents) > 1]  # a document that is alone has no group
    named = labelled(graphs.index, owner, found.documents, clusters)
    names = _names([found.documents[one.documents[0]] for one in named])
    groups = {id: (one.id, one.label, name) for one, name in zip(named, names, strict=True) for id in one.documents}
    if not with_gaps:
        return PictureSource(graph, groups=groups)
    similarity = graphs.similarity(owner)
    sessions = {id for id, one in graph.documents.items() if is_session(one.properties)}
    similarity = similarity.among(graph.documents.keys() - sessions) if sessions else similarity
    gaps = find_gaps(graph, similarity, MAX_GAPS, gap_threshold(similarity.compared_by))
    return PictureSource(graph, gaps, groups, similarity.compared_by)


def _names(central: Sequence[Document]) -> list[str]:
    """The name of each group: the title of its central document, with the folder if another one has that title."""
    titles = Counter(one.title for one in central)
    return [
        f"{one.title}, {one.path.rpartition('/')[0] or one.path}" if titles[one.title] > 1 else one.title
        for one in central
    ]


def gap_threshold(compared_by: str) -> float:
    """Return how similar two documents must be to show a gap: texts share far fewer words than meanings."""
    return 0.3 if compared_by == BY_WORDS else 0.8
