"""All links of an owner's documents at one moment."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from loci.documents.document import Document
from loci.documents.graph.link import NOTHING, Link, OpenLink, Relation, Said
from loci.documents.graph.link_resolution import DocumentNames, is_no_document, slug

# By the words of their paths, the more telling first: a debrief is often kept beside its brief.
KINDS: Final = {
    "debrief": re.compile(r"\bdebriefs?\b"),
    "brief": re.compile(r"\bbriefs?\b"),
    "playbook": re.compile(r"\bplaybooks?\b"),
    "how-to": re.compile(r"\bhow to\b"),
    "decision": re.compile(r"\b(?:decisions?|adrs?|specs?|specifications?)\b"),
}
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """What one document's mentions lead to."""

    links: tuple[Link, ...]
    open: tuple[OpenLink, ...]


@dataclass(frozen=True, slots=True)
class Basis:
    """What a graph was made of: the next one takes from it what is the same."""

    called: Mapping[str, object]
    """All that documents may be named by."""
    names: DocumentNames
    said: Mapping[str, Said]
    found: Mapping[str, FoundLinks]
    sequences: tuple[Link, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Documents and links, from either end. Two are equal only if they are the same object."""

    documents: Mapping[str, Document]
    outgoing: Mapping[str, tuple[Link, ...]]
    incoming: Mapping[str, tuple[Link, ...]]
    open: Mapping[str, tuple[OpenLink, ...]]
    """What each document mentions that is not here."""
    basis: Basis = field(repr=False)


def graph_of(documents: Iterable[Document], said: Mapping[str, Said], before: Graph | None = None) -> Graph:
    """The graph of these documents, by what each of them says. With the one before it takes a fraction of the time."""
    by_id = {one.id: one for one in documents}
    if before and before.documents == by_id and before.basis.said == said:
        return before
    basis = _basis(by_id, said, before)
    links: dict[tuple[str, str, Relation], Link] = {}
    for found in basis.found.values():
        for link in found.links:
            links[link.source, link.target, link.relation] = link
    for link in basis.sequences:
        links.setdefault((link.source, link.target, link.relation), link)
    outgoing, incoming = defaultdict[str, list[Link]](list), defaultdict[str, list[Link]](list)
    for link in links.values():
        outgoing[link.source].append(link)
        incoming[link.target].append(link)
    return Graph(
        by_id,
        {id: tuple(some) for id, some in outgoing.items()},
        {id: tuple(some) for id, some in incoming.items()},
        {id: found.open for id, found in basis.found.items() if found.open},
        basis,
    )


def _basis(by_id: Mapping[str, Document], said: Mapping[str, Said], before: Graph | None) -> Basis:
    called = {
        one.id: (one.path, one.title, one.date, one.former, said.get(one.id, NOTHING).aliases) for one in by_id.values()
    }
    old = before.basis if before and before.basis.called == called else None  # another name may mean any mention
    names = old.names if old else DocumentNames(by_id.values(), {id: one.aliases for id, one in said.items()})
    found: dict[str, FoundLinks] = {}
    for id, one in by_id.items():
        its = said.get(id, NOTHING)
        same = old and before and before.documents[id].written_at == one.written_at and old.said.get(id, NOTHING) == its
        found[id] = old.found[id] if old and same else _found(names, one, its)
    return Basis(called, names, said, found, old.sequences if old else tuple(_sequences(by_id.values())))


def _found(names: DocumentNames, document: Document, said: Said) -> FoundLinks:
    links: dict[tuple[str, Relation], Link] = {}
    leads_nowhere: list[OpenLink] = []
    for one in said.mentions:
        found = names.resolve(document.written_at or document.path, one)
        if found is None:
            if not is_no_document(one):
                leads_nowhere.append(OpenLink(document.id, one))
        elif found.document != document.id:
            written = one.relation, one.line, one.evidence, one.anchor
            link = Link(document.id, found.document, *written, others=found.others)
            links.setdefault((link.target, link.relation), link)
    return FoundLinks(tuple(links.values()), tuple(leads_nowhere))


def kind_of(document: Document) -> str | None:
    """What the document's path says that it is: a brief, a debrief, …"""
    words = slug(document.path)
    return next((kind for kind, pattern in KINDS.items() if pattern.search(words)), None)


def _sequences(documents: Iterable[Document]) -> Iterator[Link]:
    """From each debrief to the brief of its name: the last one that is not younger."""
    briefs: dict[tuple[str, str], list[Document]] = defaultdict(list)
    debriefs: list[Document] = []
    for one in documents:
        kind = kind_of(one)
        if kind == "debrief":
            debriefs.append(one)
        elif kind == "brief":
            briefs[_root(one), _topic(one)].append(one)
    for one in debriefs:
        before = [
            brief for brief in briefs.get((_root(one), _topic(one)), ()) if (brief.date or "") <= (one.date or "9")
        ]
        if before and _topic(one):
            brief = max(before, key=lambda brief: (brief.date or "", brief.path))
            yield Link(one.id, brief.id, "follows", evidence=f"A debrief by the name of {brief.path}")


def _root(document: Document) -> str:
    return document.path.partition("/")[0]


def _topic(document: Document) -> str:
    """What its file's name says without dates and without its kind."""
    words = DIGITS.sub(" ", slug(document.path.rpartition("/")[2].rpartition(".")[0])).split()
    return " ".join(word for word in words if word not in ("brief", "briefs", "debrief", "debriefs"))
