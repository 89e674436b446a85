"""All links of an owner's documents at one moment."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from loci.documents.resolve import Names, is_no_document, slug
from loci.model.documents import Document
from loci.model.graph import NOTHING, Link, OpenLink, Relation, Said

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
class Graph:
    """Documents and links, from either end."""

    documents: Mapping[str, Document]
    outgoing: Mapping[str, tuple[Link, ...]]
    incoming: Mapping[str, tuple[Link, ...]]
    open: Mapping[str, tuple[OpenLink, ...]]
    """What each document mentions that is not here."""


def graph_of(documents: Iterable[Document], said: Mapping[str, Said]) -> Graph:
    """The graph of these documents, by what each of them says."""
    by_id = {one.id: one for one in documents}
    names = Names(by_id.values(), {id: one.aliases for id, one in said.items()})
    links: dict[tuple[str, str, Relation], Link] = {}
    open_links: dict[str, list[OpenLink]] = defaultdict(list)
    for one in by_id.values():
        for mention in said.get(one.id, NOTHING).mentions:
            found = names.resolve(one.written_at or one.path, mention)
            if found is None:
                if not is_no_document(mention):
                    open_links[one.id].append(OpenLink(one.id, mention))
            elif found.document != one.id:
                link = Link(
                    one.id,
                    found.document,
                    mention.relation,
                    mention.line,
                    mention.evidence,
                    mention.anchor,
                    others=found.others,
                )
                links.setdefault((one.id, found.document, mention.relation), link)
    for link in _sequences(by_id.values()):
        links.setdefault((link.source, link.target, link.relation), link)
    outgoing, incoming = defaultdict[str, list[Link]](list), defaultdict[str, list[Link]](list)
    for link in links.values():
        outgoing[link.source].append(link)
        incoming[link.target].append(link)
    return Graph(
        by_id,
        {id: tuple(some) for id, some in outgoing.items()},
        {id: tuple(some) for id, some in incoming.items()},
        {id: tuple(some) for id, some in open_links.items()},
    )


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
