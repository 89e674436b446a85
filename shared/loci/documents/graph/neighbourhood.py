"""The links of one document, and the documents around it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.document_links import Link, OpenLink, Relation
from loci.documents.graph.graph import Graph, Graphs
from loci.documents.graph.neighbours_index import SimilarLinks

Direction = Literal["outgoing", "incoming"]


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A link as one of its two documents sees it."""

    other: Document | None
    """The document at the other end; None if it does not exist."""
    relation: Relation
    direction: Direction
    title: str
    """The other document's title; of a document that does not exist, the name in the link."""
    line: int | None
    """The line that it is written in; None if nobody wrote it."""
    evidence: str
    """The text of that line, or the reason why the link was inferred."""
    anchor: str | None
    is_inferred: bool
    similarity: float | None = None
    other_targets: tuple[str, ...] = ()
    """Documents with the same name that are farther away."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One link of a path."""

    link: Link
    direction: Direction
    """Incoming: against the direction of the link."""

    @property
    def to(self) -> str:
        return self.link.target if self.direction == "outgoing" else self.link.source


@dataclass(frozen=True, slots=True)
class NearbyDocument:
    """A document, and the shortest path to it."""

    document: Document
    path: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The documents around one, nearest first."""

    id: str
    documents: tuple[NearbyDocument, ...]
    is_cut: bool
    """True if there are more than were asked for."""


@dataclass(frozen=True, slots=True)
class LinkExplorer:
    """Follows the links of a document, which must exist."""

    graphs: Graphs
    similar_links: SimilarLinks

    def links(
        self,
        owner: Owner,
        id: str,
        *,
        direction: Direction | Literal["both"],
        relation: Relation | None = None,
        with_open: bool = False,
    ) -> list[DocumentLink]:
        """Return the links of this relation, or all; `with_open` adds links to documents that do not exist."""
        graph = self.graphs.of(owner)
        found: list[DocumentLink] = []
        if direction != "incoming":
            found += [seen_from(graph.documents, link, "outgoing", link.target) for link in graph.outgoing.get(id, ())]
        if direction != "outgoing":
            found += [seen_from(graph.documents, link, "incoming", link.source) for link in graph.incoming.get(id, ())]
        if relation in (None, "similar"):  # comparing documents takes time: only those who want to know wait for it
            way = "incoming" if direction == "incoming" else "outgoing"
            similar = self.similar_links.of(owner, [id])[id]
            known = graph.documents
            found += [seen_from(known, link, way, link.target) for link in similar if link.target in known]
        if with_open:
            found += [open_link(one) for one in graph.open.get(id, ())]
        return [one for one in found if relation is None or one.relation == relation]

    def around(self, owner: Owner, id: str, *, depth: int, limit: int, over_similar: bool) -> Surroundings:
        """Return the nearest `limit` documents that are at most `depth` links away, in either direction."""
        graph = self.graphs.of(owner)
        return surroundings(self.similar_links.added_to(owner, graph) if over_similar else graph, id, depth, limit)


def surroundings(graph: Graph, id: str, depth: int, limit: int) -> Surroundings:
    """Walk the graph from this document, nearest documents first."""
    paths: dict[str, tuple[PathStep, ...]] = {id: ()}
    here = [id]
    for _ in range(depth):
        following: list[str] = []
        for one in here:
            for step in _steps(graph, one):
                if step.to not in paths:
                    if len(paths) > limit:
                        return Surroundings(id, tuple(_listed(graph, paths)), is_cut=True)
                    paths[step.to] = (*paths[one], step)
                    following.append(step.to)
        here = following
    return Surroundings(id, tuple(_listed(graph, paths)), is_cut=False)


def _listed(graph: Graph, paths: dict[str, tuple[PathStep, ...]]) -> Iterator[NearbyDocument]:
    return (NearbyDocument(graph.documents[id], path) for id, path in paths.items() if path)


def _steps(graph: Graph, id: str) -> list[PathStep]:
    """List the steps from this document: written links come before similar ones."""
    outgoing = (PathStep(link, "outgoing") for link in graph.outgoing.get(id, ()))
    incoming = (PathStep(link, "incoming") for link in graph.incoming.get(id, ()))
    return sorted((*outgoing, *incoming), key=lambda step: step.link.relation == "similar")


def seen_from(documents: Mapping[str, Document], link: Link, direction: Direction, end: str) -> DocumentLink:
    """Return the link as the document at its other end sees `end`."""
    other = documents[end]
    return DocumentLink(
        other=other,
        relation=link.relation,
        direction=direction,
        title=other.title,
        line=link.line,
        evidence=link.evidence,
        anchor=link.anchor,
        is_inferred=link.line is None,
        similarity=link.similarity,
        other_targets=link.other_targets,
    )


def open_link(one: OpenLink) -> DocumentLink:
    """Return a link to a document that does not exist."""
    mention = one.mention
    return DocumentLink(
        other=None,
        relation=mention.relation,
        direction="outgoing",
        title=mention.target,
        line=mention.line,
        evidence=mention.evidence,
        anchor=mention.anchor,
        is_inferred=False,
    )
