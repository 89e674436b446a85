"""Gaps: pairs of documents that say much the same, but do not link to each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.document_links import Relation
from loci.documents.graph.graph import Graph
from loci.documents.graph.graphs import Graphs
from loci.documents.graph.link_resolution import kind_of
from loci.documents.graph.remarks import RULES, Remarks
from loci.documents.graph.similarity import Similarity
from loci.documents.graph.telling_words import first_passages, tells, written_words
from loci.search.ranking import Chunk

DUPLICATE: Final = 0.98
MAX_SHARED_STEMS: Final = 5
GapKind = Literal["gap", "duplicate"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Two documents that should be linked: the newer one to the older one."""

    source: Document
    target: Document
    similarity: float
    kind: GapKind
    stems: tuple[str, ...]
    """The topics that both share, the most important first."""
    relation: Relation
    """The suggested relation of the link."""
    compared_by: str
    reason: str = ""
    """Why the two should be linked. Only explained gaps have one."""
    written_by: str = RULES
    """The author of the reason and the relation: `rules`, or the name of a language model."""


def explained_gaps(graphs: Graphs, remarks: Remarks, owner: Owner, *, limit: int, threshold: float) -> list[Gap]:
    """Return the pairs that are at least this similar. The language model explains them, otherwise rules do."""
    gaps = find_gaps(graphs.of(owner), graphs.similarity(owner), limit, threshold)
    documents = [gap.source for gap in gaps]
    if remarks.is_available:
        documents += [gap.target for gap in gaps]
    passages = first_passages(graphs.index, owner, documents)

    def text(document: Document) -> str:
        return "\n\n".join([document.title, *(passage.text for passage in passages.get(document.id, [])[:1])])

    said = remarks.pairs([(text(gap.source), text(gap.target)) for gap in gaps])
    return [
        replace(gap, reason=said[at][0], relation=said[at][1], written_by=remarks.name)
        if at in said
        else replace(gap, reason=_reason(gap, passages[gap.source.id]))
        for at, gap in enumerate(gaps)
    ]


def find_gaps(graph: Graph, similarity: Similarity, limit: int, threshold: float) -> list[Gap]:
    """Return the most similar of all pairs that no written link joins, in either direction."""
    linked = [
        (link.source, link.target) for links in graph.outgoing.values() for link in links if link.relation != "similar"
    ]
    return [
        _gap(graph.documents[one], graph.documents[other], value, similarity)
        for value, one, other in similarity.most_similar_pairs(threshold, limit, linked)
        if one in graph.documents and other in graph.documents
    ]


def _gap(one: Document, other: Document, value: float, similarity: Similarity) -> Gap:
    older, newer = sorted((one, other), key=lambda document: (document.date or "", document.path))
    no_terms: Mapping[str, float] = {}
    mine, theirs = similarity.terms.get(newer.id, no_terms), similarity.terms.get(older.id, no_terms)
    both = filter(tells, mine.keys() & theirs.keys())
    shared = sorted(both, key=lambda stem: (-min(mine[stem], theirs[stem]), stem))
    kind: GapKind = "duplicate" if value >= DUPLICATE else "gap"
    stems = tuple(shared[:MAX_SHARED_STEMS])
    return Gap(newer, older, value, kind, stems, _suggested_relation(newer, older, kind), similarity.compared_by)


def _suggested_relation(newer: Document, older: Document, kind: GapKind) -> Relation:
    if kind == "duplicate":
        return "similar"
    match kind_of(newer), kind_of(older):
        case "debrief", "brief":
            return "follows"
        case (("playbook" | "how-to"), ("brief" | "decision")):
            return "implements"
        case _:
            return "references"


def _reason(gap: Gap, passages: Sequence[Chunk]) -> str:
    shared = written_words(gap.stems, passages)
    about = f"Both are about {', '.join(shared)}" if shared else "Both are worded alike"
    why = "they may be one document" if gap.kind == "duplicate" else "neither links to the other"
    return f"{about}, and {why}."
