"""Rankings as clients read them: the reference's fields, and ours beside them."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from loci.core.identity import Owner
from loci.documents.api import TaggedDocument
from loci.documents.document import Document
from loci.mcp.answer_budget import ResultStore
from loci.search.ranking import Chunk, Explanation, Hit, Ranking
from loci.search.snippet import snippet

ROOM = 8 * 1024
"""Bytes of an answer, so that it need not be read in two."""
LONGEST_SNIPPET = 600
SHORTEST_SNIPPET = 60
LONGEST_SAID = 1000
"""Characters of a question that are said again."""


class SearchResult(BaseModel):
    id: str = Field(description="for read_node_content")
    score: float = Field(description="0 to 1: how well it fits, the same scale for every question")
    preview: str = Field(description="the document's title")
    source: str = Field(description="what ranked it: bm25, vector, hybrid, or vector+rerank")
    snippet: str = Field(description="the passage that fits best, word for word")
    context: str | None = Field(description="why it fits, where a language model is set")
    path: str
    heading: str | None = Field(description="the headings above the passage")
    lines: str = Field(description="where the passage is, as in 10-20")
    explain: Explanation | None = None


class StageRun(BaseModel):
    stage: str
    ran: bool
    ms: float
    note: str = Field(description="the model and how many passages; or why it did not run")


class Metadata(BaseModel):
    query: str
    sonar_enabled: bool = Field(description="whether a language model read the results")
    intent: str | None
    analysis: str | None
    stages: list[StageRun]
    reason: str | None = Field(default=None, description="why there are no results")
    scratchpad_id: str | None = Field(default=None, description="where the whole passages are, for scratchpad_read")


class SearchResults(BaseModel):
    results: list[SearchResult]
    metadata: Metadata


def search_results(results: ResultStore, owner: Owner, ranking: Ranking, *, explain: bool, tool: str) -> SearchResults:
    """The ranking in at most `ROOM`; where passages had to be cut for that, all of it is kept in the scratchpad."""
    stages = [StageRun(stage=one.name, ran=one.ran, ms=one.ms, note=one.note) for one in ranking.stages]
    metadata = Metadata(
        query=_said(ranking.query),
        sonar_enabled=any(one.name == "language_model" and one.ran for one in ranking.stages),
        intent=ranking.intent,
        analysis=ranking.analysis,
        stages=stages,
        reason=ranking.reason,
    )
    rows = [_row(hit, explain=explain) for hit in ranking.hits]
    answer = SearchResults(results=rows, metadata=metadata)
    if any(len(hit.chunk.text) > len(hit.snippet) for hit in ranking.hits):
        whole = [
            row.model_copy(update={"snippet": hit.chunk.text}) for row, hit in zip(rows, ranking.hits, strict=True)
        ]
        kept = results.keep(owner, tool, SearchResults(results=whole, metadata=metadata).model_dump_json())
        metadata.scratchpad_id = kept.id
    return answer


def _row(hit: Hit, *, explain: bool) -> SearchResult:
    return SearchResult(
        id=hit.chunk.document,
        score=hit.score,
        preview=hit.chunk.title,
        source=hit.source,
        snippet=hit.snippet,
        context=hit.context,
        path=hit.chunk.path,
        heading=_heading(hit.chunk),
        lines=_lines(hit.chunk),
        explain=hit.why if explain else None,
    )


def _heading(chunk: Chunk) -> str | None:
    return " > ".join(chunk.heading) or None


def _lines(chunk: Chunk) -> str:
    return f"{chunk.first_line}-{chunk.last_line}"


def snippet_room(limit: int) -> int:
    """Characters of each snippet, so that so many results fit into `ROOM`."""
    return max(SHORTEST_SNIPPET, min(LONGEST_SNIPPET, (ROOM - 1200) // limit - 260))


def tagged_results(wanted: Sequence[str], found: Sequence[TaggedDocument], room: int) -> SearchResults:
    """The documents as results, each with its beginning."""
    rows = [_tagged(one.document, one.beginning, wanted, room) for one in found]
    stage = StageRun(stage="tags", ran=True, ms=0.0, note=f"{len(found)} documents")
    reason = None if rows else "No document has these tags"
    metadata = Metadata(
        query=_said(", ".join(wanted)), sonar_enabled=False, intent=None, analysis=None, stages=[stage], reason=reason
    )
    return SearchResults(results=rows, metadata=metadata)


def _said(query: str) -> str:
    return query[:LONGEST_SAID]


def _tagged(document: Document, chunk: Chunk | None, wanted: Sequence[str], room: int) -> SearchResult:
    return SearchResult(
        id=document.id,
        score=round(len(set(wanted) & set(document.tags)) / len(wanted), 4),
        preview=document.title,
        source="tags",
        snippet=snippet(chunk.text, (), room) if chunk else "",
        context=None,
        path=document.path,
        heading=_heading(chunk) if chunk else None,
        lines=_lines(chunk) if chunk else "0-0",
    )
