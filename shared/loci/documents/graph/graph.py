"""All links between an owner's documents."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.document_links import NO_LINKS, Link, OpenLink, Relation, WrittenLinks
from loci.documents.graph.link_resolution import DocumentNames, is_other_file, normal_name
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex

# Found in the words of a path. `debrief` comes before `brief`: a debrief is often kept in its brief's folder.
KINDS: Final = {
    "debrief": re.compile(r"\bdebriefs?\b"),
    "brief": re.compile(r"\bbriefs?\b"),
    "playbook": re.compile(r"\bplaybooks?\b"),
    "how-to": re.compile(r"\bhow to\b"),
    "decision": re.compile(r"\b(?:decisions?|adrs?|specs?|specifications?)\b"),
}
DIGITS = re.compile(r"\d+")
MAX_OWNERS: Final = 50
MAX_AGE_SECONDS: Final = 60.0
"""A document without a passage does not change the state of the index."""


@dataclass(frozen=True, slots=True)
class ResolvedLinks:
    """The links of one document, resolved."""

    links: tuple[Link, ...]
    open: tuple[OpenLink, ...]


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Everything a graph was built from. The next graph takes over the parts that are still valid."""

    naming: Mapping[str, object]
    """By document, everything that decides what it can be called."""
    names: DocumentNames
    written: Mapping[str, WrittenLinks]
    resolved: Mapping[str, ResolvedLinks]
    debrief_links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Documents and the links between them. Compared by identity: a large graph takes long to compare."""

    documents: Mapping[str, Document]
    outgoing: Mapping[str, tuple[Link, ...]]
    incoming: Mapping[str, tuple[Link, ...]]
    open: Mapping[str, tuple[OpenLink, ...]]
    """By document, its links to documents that do not exist."""
    source: GraphSource = field(repr=False)


class Graphs:
    """The graphs of the owners who asked last."""

    def __init__(self, catalog: Catalog, index: DocumentIndex, clock: Callable[[], float] = time.monotonic) -> None:
        self._catalog = catalog
        self._index = index
        self._clock = clock
        self._cache: OwnerCache[tuple[str, float], Graph] = OwnerCache(MAX_OWNERS)

    def of(self, owner: Owner) -> Graph:
        """Return the graph of the owner's documents as they are now; the same object if nothing has changed."""
        return self._cache.get(
            owner,
            lambda: (self._index.state(owner, COLLECTION), self._clock() // MAX_AGE_SECONDS),
            lambda _, last: build_graph(self._catalog.documents(owner), self._catalog.mentions(owner), last),
        )


def build_graph(documents: Iterable[Document], written: Mapping[str, WrittenLinks], last: Graph | None = None) -> Graph:
    """Build the graph of these documents from the links that each of them writes.

    With the last graph it takes a fraction of the time. If nothing has changed, that graph is the answer.
    """
    by_id = {one.id: one for one in documents}
    if last and last.documents == by_id and last.source.written == written:
        return last
    source = _source(by_id, written, last)
    links: dict[tuple[str, str, Relation], Link] = {}
    for resolved in source.resolved.values():
        for link in resolved.links:
            links[link.source, link.target, link.relation] = link
    for link in source.debrief_links:
        links.setdefault((link.source, link.target, link.relation), link)
    outgoing, incoming = defaultdict[str, list[Link]](list), defaultdict[str, list[Link]](list)
    for link in links.values():
        outgoing[link.source].append(link)
        incoming[link.target].append(link)
    return Graph(
        by_id,
        {id: tuple(some) for id, some in outgoing.items()},
        {id: tuple(some) for id, some in incoming.items()},
        {id: resolved.open for id, resolved in source.resolved.items() if resolved.open},
        source,
    )


def _source(by_id: Mapping[str, Document], written: Mapping[str, WrittenLinks], last: Graph | None) -> GraphSource:
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
    debrief_links = old.debrief_links if old else tuple(_debrief_links(by_id.values()))
    return GraphSource(naming, names, written, resolved, debrief_links)


def resolved_links(names: DocumentNames, document: Document, written: WrittenLinks) -> ResolvedLinks:
    """Find the documents that the links of this document name."""
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
    return ResolvedLinks(tuple(links.values()), tuple(unresolved))


def kind_of(document: Document) -> str | None:
    """Return the kind of document that the path names: a brief, a debrief, …"""
    words = normal_name(document.path)
    return next((kind for kind, pattern in KINDS.items() if pattern.search(words)), None)


def _debrief_links(documents: Iterable[Document]) -> Iterator[Link]:
    """Link each debrief to the brief with its name."""
    briefs: dict[tuple[str, str], list[Document]] = defaultdict(list)
    debriefs: list[Document] = []
    for one in documents:
        kind = kind_of(one)
        if kind == "debrief":
            debriefs.append(one)
        elif kind == "brief":
            briefs[topic_of(one)].append(one)
    for one in debriefs:
        if link := debrief_link(one, briefs.get(topic_of(one), ())):
            yield link


def debrief_link(debrief: Document, same_name: Iterable[Document]) -> Link | None:
    """Link the debrief to the last brief of its name that is not newer than the debrief."""
    before = [brief for brief in same_name if (brief.date or "") <= (debrief.date or "9")]
    if not before or not topic_of(debrief)[1]:
        return None
    brief = max(before, key=lambda brief: (brief.date or "", brief.path))
    return Link(debrief.id, brief.id, "follows", evidence=f"A debrief by the name of {brief.path}")


def topic_of(document: Document) -> tuple[str, str]:
    """Return its root and the words of its file name, without dates and without `brief` or `debrief`."""
    root, _, _ = document.path.partition("/")
    words = DIGITS.sub(" ", normal_name(document.path.rpartition("/")[2].rpartition(".")[0])).split()
    return root, " ".join(word for word in words if word not in ("brief", "briefs", "debrief", "debriefs"))
