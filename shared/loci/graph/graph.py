"""All links between an owner's documents."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from loci.documents.document import Document
from loci.documents.link_resolution import DocumentNames, is_other_file
from loci.markdown.nouns import NO_LINKS, Mention, Relation, WrittenLinks


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge between two documents."""

    source: str
    target: str
    relation: Relation
    line: int | None = None
    """The line that it is written in; None for an inferred link."""
    evidence: str = ""
    anchor: str | None = None
    similarity: float | None = None
    """The cosine of an inferred link; None for a link that is written."""
    other_targets: tuple[str, ...] = ()
    """Documents with the same name that are farther away from the source."""


@dataclass(frozen=True, slots=True)
class OpenLink:
    """A mention of a document that does not exist."""

    source: str
    mention: Mention


ResolvedLinks = tuple[tuple[Link, ...], tuple[OpenLink, ...]]
"""The links of one document, and its links to documents that do not exist."""


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Everything a graph was built from. The next graph takes over the parts that are still valid."""

    naming: Mapping[str, object]
    """The names of each document, from which links are resolved, by id."""
    names: DocumentNames
    written: Mapping[str, WrittenLinks]
    resolved: Mapping[str, ResolvedLinks]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Documents and the links between them. Compared by identity: a large graph takes long to compare."""

    documents: Mapping[str, Document]
    outgoing: Mapping[str, tuple[Link, ...]]
    incoming: Mapping[str, tuple[Link, ...]]
    open: Mapping[str, tuple[OpenLink, ...]]
    """The links of each document to documents that do not exist, by id."""
    source: GraphSource = field(repr=False)

    def among(self, ids: Set[str]) -> "Graph":
        """The graph of these documents alone: links to others are left out."""

        def inside(links: Mapping[str, tuple[Link, ...]]) -> dict[str, tuple[Link, ...]]:
            return {
                id: tuple(one for one in some if one.source in ids and one.target in ids)
                for id, some in links.items()
                if id in ids
            }

        documents = {id: one for id, one in self.documents.items() if id in ids}
        unresolved = {id: some for id, some in self.open.items() if id in ids}
        return replace(
            self, documents=documents, outgoing=inside(self.outgoing), incoming=inside(self.incoming), open=unresolved
        )


def build_graph(documents: Iterable[Document], written: Mapping[str, WrittenLinks], last: Graph | None = None) -> Graph:
    """Build the graph of these documents from the links that each of them writes.

    With the last graph it takes a fraction of the time. If nothing has changed, that graph is the answer.
    """
    by_id = {one.id: one for one in documents}
    if last and last.documents == by_id and last.source.written == written:
        return last
    naming = {
        one.id: (one.path, one.title, one.date, one.former, written.get(one.id, NO_LINKS).aliases)
        for one in by_id.values()
    }
    old = last.source if last and last.source.naming == naming else None  # one new name can change what any link means
    names = old.names if old else DocumentNames(by_id.values(), {id: one.aliases for id, one in written.items()})
    resolved: dict[str, ResolvedLinks] = {}
    for id, one in by_id.items():
        its = written.get(id, NO_LINKS)
        is_same = (
            old and last and last.documents[id].written_at == one.written_at and old.written.get(id, NO_LINKS) == its
        )
        resolved[id] = old.resolved[id] if old and is_same else resolved_links(names, one, its)
    incoming = defaultdict[str, list[Link]](list)
    for links, _ in resolved.values():
        for link in links:
            incoming[link.target].append(link)
    return Graph(
        by_id,
        {id: links for id, (links, _) in resolved.items() if links},
        {id: tuple(some) for id, some in incoming.items()},
        {id: unresolved for id, (_, unresolved) in resolved.items() if unresolved},
        GraphSource(naming, names, written, resolved),
    )


def resolved_links(names: DocumentNames, document: Document, written: WrittenLinks) -> ResolvedLinks:
    """Find the documents that the links of this document name. A debrief also follows its brief."""
    links: dict[tuple[str, Relation], Link] = {}
    unresolved: list[OpenLink] = []
    for one in written.mentions:
        found = names.resolve(document.written_at or document.path, one)
        if found is None:
            if not is_other_file(one):
                unresolved.append(OpenLink(document.id, one))
        elif found.document != document.id:
            where = one.relation, one.line, one.evidence, one.anchor
            link = Link(document.id, found.document, *where, other_targets=found.others)
            links.setdefault((link.target, link.relation), link)
    if brief := names.brief_of(document):
        link = Link(document.id, brief.id, "follows", evidence=f"A debrief by the name of {brief.path}")
        links.setdefault((link.target, link.relation), link)
    return tuple(links.values()), tuple(unresolved)
