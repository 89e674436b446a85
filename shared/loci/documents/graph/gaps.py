"""Gaps: pairs of documents that say much the same, but do not link to each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.document_links import Relation
from loci.documents.graph.graph import Graph, Graphs, kind_of
from loci.documents.graph.remarks import RULES, PairRemark, Remarks
from loci.documents.graph.similarity import Similarities, Similarity, first_passages, written_forms
from loci.documents.graph.telling_words import tells, whole_words
from loci.search.document_index import DocumentIndex
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
    """The suggested relation of the link, as far as the names of the documents tell."""


@dataclass(frozen=True, slots=True)
class ExplainedGap:
    """A gap, with the reason why the two should be linked."""

    gap: Gap
    reason: str
    relation: Relation
    """The suggested relation of the link."""
    written_by: str
    """The author of the reason and the relation: `rules`, or the name of a language model."""


@dataclass(frozen=True, slots=True)
class FoundGaps:
    """The most similar pairs that are not linked, most similar first."""

    compared_by: str
    gaps: tuple[ExplainedGap, ...]


@dataclass(frozen=True, slots=True)
class GapFinder:
    """Finds gaps, and says why each should be closed."""

    index: DocumentIndex
    graphs: Graphs
    similarities: Similarities
    remarks: Remarks

    def find(self, owner: Owner, *, limit: int, threshold: float) -> FoundGaps:
        """Return the pairs that are at least this similar. The language model explains them, otherwise rules do."""
        graph, similarity = self.graphs.of(owner), self.similarities.of(owner)
        gaps = find_gaps(graph, similarity, limit, threshold)
        passages = first_passages(self.index, owner, [gap.source for gap in gaps])
        remarks = self._remarks(owner, gaps, passages)
        return FoundGaps(
            similarity.compared_by,
            tuple(
                ExplainedGap(gap, said.reason, said.relation, self.remarks.name)
                if (said := remarks.get(at))
                else ExplainedGap(gap, _reason(gap, passages.get(gap.source.id, [])), gap.relation, RULES)
                for at, gap in enumerate(gaps)
            ),
        )

    def _remarks(
        self, owner: Owner, gaps: Sequence[Gap], sources: Mapping[str, Sequence[Chunk]]
    ) -> Mapping[int, PairRemark]:
        """Ask the language model about these gaps, if there is one."""
        if not self.remarks.is_available:
            return {}
        targets = first_passages(self.index, owner, [gap.target for gap in gaps])
        first = {id: chunks[0] for id, chunks in (*sources.items(), *targets.items()) if chunks}

        def text(document: Document) -> str:
            passage = first.get(document.id)
            return f"{document.title}\n\n{passage.text}" if passage else document.title

        return self.remarks.pairs([(text(gap.source), text(gap.target)) for gap in gaps])


def find_gaps(graph: Graph, similarity: Similarity, limit: int, threshold: float) -> list[Gap]:
    """Return the most similar of all pairs that no written link joins, in either direction."""
    linked = frozenset(
        (link.source, link.target) for links in graph.outgoing.values() for link in links if link.relation != "similar"
    )
    return [
        _gap(graph.documents[one], graph.documents[other], value, similarity.terms)
        for value, one, other in similarity.most_similar_pairs(threshold, limit, linked)
        if one in graph.documents and other in graph.documents
    ]


def _gap(one: Document, other: Document, similarity: float, terms: Mapping[str, Mapping[str, float]]) -> Gap:
    older, newer = sorted((one, other), key=lambda document: (document.date or "", document.path))
    mine, theirs = terms.get(newer.id, {}), terms.get(older.id, {})
    both = filter(tells, mine.keys() & theirs.keys())
    shared = sorted(both, key=lambda stem: (-min(mine[stem], theirs[stem]), stem))
    kind: GapKind = "duplicate" if similarity >= DUPLICATE else "gap"
    stems = tuple(shared[:MAX_SHARED_STEMS])
    return Gap(newer, older, similarity, kind, stems, _suggested_relation(newer, older, kind))


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
    shared = whole_words(written_forms(passages, gap.stems), [passage.text for passage in passages])
    about = f"Both are about {', '.join(shared)}" if shared else "Both are worded alike"
    why = "they may be one document" if gap.kind == "duplicate" else "neither links to the other"
    return f"{about}, and {why}."
