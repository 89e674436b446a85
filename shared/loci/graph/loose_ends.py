"""Loose ends: documents without a link, links that lead nowhere, and documents that contradict each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from loci.documents.document import Document
from loci.documents.validity import lacks_validity
from loci.graph.graph import Graph, Link

LooseEndKind = Literal["orphan", "dead_link", "contradiction", "stale"]
IN_FORCE: Final = frozenset({"accepted", "active", "approved", "current", "in force", "valid"})
"""Values of `status` in front matter that a document which was superseded should not have."""


@dataclass(frozen=True, slots=True)
class LooseEnd:
    """A document with something to mend."""

    kind: LooseEndKind
    source: Document
    reason: str
    target: Document | None = None
    """The document that contradicts it."""
    named: str | None = None
    """The name in a link that leads nowhere."""


def loose_ends(graph: Graph, kind: LooseEndKind, today: str) -> list[LooseEnd]:
    """Return all loose ends of a kind, by the paths of their documents."""
    match kind:
        case "orphan":
            found = _orphans(graph)
        case "dead_link":
            found = _dead_links(graph)
        case "contradiction":
            found = _contradictions(graph)
        case "stale":
            found = _stale(graph, today)
    return sorted(found, key=lambda one: one.source.path)


def _orphans(graph: Graph) -> Iterator[LooseEnd]:
    for id, document in graph.documents.items():
        if not graph.outgoing.get(id) and not graph.incoming.get(id):
            yield LooseEnd("orphan", document, "No note links to it, and it links to none.")


def _dead_links(graph: Graph) -> Iterator[LooseEnd]:
    for id, links in graph.open.items():
        for one in links:
            reason = f"Line {one.mention.line} links to {one.mention.target!r}, and there is no such note."
            yield LooseEnd("dead_link", graph.documents[id], reason, named=one.mention.target)


def _contradictions(graph: Graph) -> Iterator[LooseEnd]:
    for newer, older in dict.fromkeys(supersessions(graph)):
        new, old = graph.documents[newer], graph.documents[older]
        status = next((one.removeprefix("status=") for one in old.properties if one.startswith("status=")), "")
        claim = f"{new.title} supersedes {old.title}"
        if status in IN_FORCE:
            yield LooseEnd("contradiction", new, f"{claim}, whose status is still {status}.", old)
        if new.date and old.date and new.date < old.date:
            reason = f"{claim}, but is older: {new.date} is before {old.date}."
            yield LooseEnd("contradiction", new, reason, old)


def _stale(graph: Graph, today: str) -> Iterator[LooseEnd]:
    superseded = {older for _, older in supersessions(graph)}
    for id, document in graph.documents.items():
        lacks = None if id in superseded else lacks_validity(document, today)
        if lacks and lacks.startswith(("stale", "valid until")):
            yield LooseEnd("stale", document, f"It says: {lacks}. Confirm it with a later day, or supersede it.")


def supersessions(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yield the ids of each document that supersedes another, and of that one, whichever of the two says so."""
    for links in graph.outgoing.values():
        for link in links:
            match link:
                case Link(source=newer, target=older, relation="supersedes"):
                    yield newer, older
                case Link(source=older, target=newer, relation="superseded_by"):
                    yield newer, older
                case _:
                    pass
