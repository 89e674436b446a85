"""The links of one document, and the documents around it."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.graph.graph import Graph, Link, OpenLink
from loci.graph.graphs import Graphs
from loci.markdown.nouns import INVERSE, Relation

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
    """The line that it is written in; None for an inferred link."""
    evidence: str
    """The text of that line, or the reason why the link was inferred."""
    anchor: str | None
    similarity: float | None = None
    other_targets: tuple[str, ...] = ()
    """Documents with the same name that are farther away."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """A link of a path."""

    link: Link
    direction: Direction
    """Incoming: against the direction of the link."""

    @property
    def to(self) -> str:
        return self.link.target if self.direction == "outgoing" else self.link.source


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The documents around one, nearest first, each with the shortest path to it."""

    id: str
    documents: tuple[tuple[Document, tuple[PathStep, ...]], ...]
    is_cut: bool
    """True if there are more than were asked for."""


def links_of(
    graphs: Graphs,
    owner: Owner,
    id: str,
    *,
    direction: Direction | Literal["both"],
    relation: Relation | None,
    with_open: bool,
) -> list[DocumentLink]:
    """Return the links of this relation, or all; `with_open` adds links to documents that do not exist."""
    graph = graphs.for_owner(owner)
    known = graph.documents
    found = written_links(graph, id, direction)
    if relation in (None, "similar"):  # comparing documents takes time: only those who want to know wait for it
        way = "incoming" if direction == "incoming" else "outgoing"
        similar = graphs.similar(owner, [id])[id]
        found += [seen_from(known, link, way, link.target) for link in similar if link.target in known]
    if with_open:
        found += [open_link(one) for one in graph.open.get(id, ())]
    return [one for one in found if relation is None or one.relation == relation]


def written_links(graph: Graph, id: str, direction: Direction | Literal["both"]) -> list[DocumentLink]:
    """Return the links between documents that one of the two writes."""
    known = graph.documents
    found: list[DocumentLink] = []
    if direction != "incoming":
        found += [seen_from(known, link, "outgoing", link.target) for link in graph.outgoing.get(id, ())]
    if direction == "outgoing":
        found += [_turned(known, link) for link in graph.incoming.get(id, ()) if link.relation in INVERSE]
    if direction != "outgoing":
        found += [seen_from(known, link, "incoming", link.source) for link in graph.incoming.get(id, ())]
    return found


def surroundings(
    graph: Graph,
    id: str,
    depth: int,
    limit: int,
    direction: Direction | Literal["both"] = "both",
    relation: Relation | None = None,
) -> Surroundings:
    """Walk the graph from this document, nearest documents first, along links of this direction and relation."""
    paths: dict[str, tuple[PathStep, ...]] = {id: ()}
    waiting = deque([id])
    is_cut = False
    while waiting and not is_cut:
        here = waiting.popleft()
        for step in _steps(graph, here) if len(paths[here]) < depth else ():
            fits = direction in ("both", step.direction) and relation in (None, step.link.relation)
            if step.to in paths or not fits:
                continue
            if len(paths) > limit:
                is_cut = True
                break
            paths[step.to] = (*paths[here], step)
            waiting.append(step.to)
    return Surroundings(id, tuple((graph.documents[one], path) for one, path in paths.items() if path), is_cut)


def _steps(graph: Graph, id: str) -> list[PathStep]:
    """List the steps from this document: written links come before similar ones."""
    outgoing = (PathStep(link, "outgoing") for link in graph.outgoing.get(id, ()))
    incoming = (PathStep(link, "incoming") for link in graph.incoming.get(id, ()))
    return sorted((*outgoing, *incoming), key=lambda step: step.link.relation == "similar")


def seen_from(documents: Mapping[str, Document], link: Link, direction: Direction, end: str) -> DocumentLink:
    """Return the link to the document `end`, as the document at its other end sees it."""
    other, written = documents[end], (link.line, link.evidence, link.anchor)
    return DocumentLink(other, link.relation, direction, other.title, *written, link.similarity, link.other_targets)


def _turned(documents: Mapping[str, Document], link: Link) -> DocumentLink:
    """The link that the target has by what the source says: A is superseded by B, so B supersedes A."""
    source = documents[link.source]
    evidence = f"{source.path}, line {link.line}: {link.evidence}"
    return DocumentLink(source, INVERSE[link.relation], "outgoing", source.title, None, evidence, None)


def open_link(one: OpenLink) -> DocumentLink:
    """Return a link to a document that does not exist."""
    mention = one.mention
    written = mention.line, mention.evidence, mention.anchor
    return DocumentLink(None, mention.relation, "outgoing", mention.target, *written)
