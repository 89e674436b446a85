"""Documents that say much the same and do not know of each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from loci.documents.document import Document
from loci.documents.graph.graph import Graph, kind_of
from loci.documents.graph.link import Relation
from loci.documents.graph.similarity import Similarity

DUPLICATE: Final = 0.98
SHARED: Final = 5


@dataclass(frozen=True, slots=True)
class Gap:
    """A pair that ought to be linked, from the younger document to the older one."""

    source: Document
    target: Document
    similarity: float
    kind: Literal["gap", "duplicate"]
    stems: tuple[str, ...]
    """What both are about, most telling first."""
    relation: Relation


def gaps(graph: Graph, alike: Similarity, limit: int, threshold: float) -> list[Gap]:
    """The most alike of all pairs that no written link joins, in either direction."""
    linked = frozenset(
        (link.source, link.target) for links in graph.outgoing.values() for link in links if link.relation != "similar"
    )
    found = alike.pairs(threshold, limit, linked)
    return [
        _gap(graph.documents[one], graph.documents[other], similarity, alike.terms)
        for similarity, one, other in found
        if one in graph.documents and other in graph.documents
    ]


def _gap(one: Document, other: Document, similarity: float, terms: Mapping[str, Mapping[str, float]]) -> Gap:
    older, younger = sorted((one, other), key=lambda document: (document.date or "", document.path))
    mine, theirs = terms.get(younger.id, {}), terms.get(older.id, {})
    stems = sorted(mine.keys() & theirs.keys(), key=lambda stem: (-min(mine[stem], theirs[stem]), stem))[:SHARED]
    kind: Literal["gap", "duplicate"] = "duplicate" if similarity >= DUPLICATE else "gap"
    return Gap(younger, older, similarity, kind, tuple(stems), _relation(younger, older, kind))


def _relation(younger: Document, older: Document, kind: str) -> Relation:
    """What a link between them would say, as far as their names tell."""
    if kind == "duplicate":
        return "similar"
    match kind_of(younger), kind_of(older):
        case "debrief", "brief":
            return "follows"
        case (("playbook" | "how-to"), ("brief" | "decision")):
            return "implements"
        case _:
            return "references"
