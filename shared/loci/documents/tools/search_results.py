"""The results of searches, as the tools return them: the fields of the reference, and more beside them."""

from collections.abc import Sequence

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from loci.documents.api import TaggedDocument
from loci.documents.content.tags_and_dates import with_ancestors
from loci.documents.document import DateSource, Document
from loci.documents.finding import FoundDocuments
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.mcp.answer_budget import ShortenedResult
from loci.mcp.tool import as_text
from loci.search.ranking import Chunk, Explanation, Hit, Stage
from loci.search.snippet import snippet

ROOM = 8 * 1024
"""Bytes of an answer, so that it need not be read in two."""
LONGEST_SNIPPET = 600
SHORTEST_SNIPPET = 60
LONGEST_SAID = 1000
"""Characters of a question that are said again."""


class SearchResult(BaseModel):
    id: str = Field(description="for read_node_content")
    score: float = Field(description="0 to 1: how well it fits; the scale is the same for every query")
    preview: str = Field(description="the document's title")
    source: str = Field(description="what ranked it: bm25, vector, hybrid, or vector+rerank")
    snippet: str = Field(description="the passage that fits best, word for word")
    context: str | None = Field(description="why it fits, if a language model is configured")
    path: str
    heading: str | None = Field(description="the headings above the passage")
    lines: str = Field(description="the lines of the passage, such as 10-20")
    date: str | None = Field(description="YYYY-MM-DD")
    date_from: DateSource | None = Field(description="what says the date; file: only the time of its last change")
    explain: Explanation | None = None


class Metadata(BaseModel):
    query: str
    sonar_enabled: bool = Field(description="whether a language model read the results")
    intent: str | None
    analysis: str | None
    stages: list[Stage]
    reason: str | None = Field(default=None, description="why there are no results")
    undated: int | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="of a search in a time: how many of all documents have no date but that of their last change",
    )


class SearchResults(BaseModel):
    results: list[SearchResult]
    metadata: Metadata


def search_results(found: FoundDocuments, query: str, *, explain: bool, undated: int | None = None) -> CallToolResult:
    """The answer to the query in at most `ROOM`. If passages had to be cut, it brings all of them to be kept."""
    view = results_view(found, query, explain=explain, undated=undated)
    passages = [hit.chunk.text.strip() for hit in found.ranking.hits]
    shown = _result(view)
    if all(row.snippet == passage for row, passage in zip(view.results, passages, strict=True)):
        return shown
    whole = [row.model_copy(update={"snippet": text}) for row, text in zip(view.results, passages, strict=True)]
    kept = SearchResults(results=whole, metadata=view.metadata).model_dump_json()
    return ShortenedResult(content=shown.content, structured_content=shown.structured_content, whole=kept)


def results_view(found: FoundDocuments, query: str, *, explain: bool, undated: int | None = None) -> SearchResults:
    """The answer to the query, with the snippets that were found."""
    ranking = found.ranking
    metadata = Metadata(
        query=_said(query),
        sonar_enabled=any(one.stage == "language_model" and one.ran for one in ranking.stages),
        intent=ranking.intent,
        analysis=ranking.analysis,
        stages=list(ranking.stages),
        reason=ranking.reason,
        undated=undated,
    )
    rows = [_row(hit, found.documents.get(hit.chunk.document), explain=explain) for hit in ranking.hits]
    return SearchResults(results=rows, metadata=metadata)


def _result(found: SearchResults) -> CallToolResult:
    structured = found.model_dump(mode="json")
    return CallToolResult(content=[TextContent(type="text", text=as_text(structured))], structured_content=structured)


def _row(hit: Hit, document: Document | None, *, explain: bool) -> SearchResult:
    dated = document and document.dated
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
        date=dated and dated.day,
        date_from=dated and dated.source,
        explain=hit.why if explain else None,
    )


def _heading(chunk: Chunk) -> str | None:
    return " > ".join(chunk.heading) or None


def _lines(chunk: Chunk) -> str:
    return f"{chunk.first_line}-{chunk.last_line}"


def snippet_room(limit: int) -> int:
    """Characters of each snippet, so that so many results fit into `ROOM`."""
    return max(SHORTEST_SNIPPET, min(LONGEST_SNIPPET, (ROOM - 1200) // limit - 310))


def tagged_results(
    wanted: Sequence[str], found: Sequence[TaggedDocument], room: int, *, is_empty: bool
) -> CallToolResult:
    """The documents as results, each with its beginning."""
    rows = [_tagged(one.document, one.beginning, wanted, room) for one in found]
    stage = Stage("tags", True, 0.0, f"{len(found)} documents")
    reason = None if rows else EMPTY_LIBRARY if is_empty else "No document has these tags"
    metadata = Metadata(
        query=_said(", ".join(wanted)), sonar_enabled=False, intent=None, analysis=None, stages=[stage], reason=reason
    )
    return _result(SearchResults(results=rows, metadata=metadata))


def _said(query: str) -> str:
    return query[:LONGEST_SAID]


def _tagged(document: Document, chunk: Chunk | None, wanted: Sequence[str], room: int) -> SearchResult:
    dated = document.dated
    return SearchResult(
        id=document.id,
        score=round(len(set(wanted) & set(with_ancestors(document.tags))) / len(wanted), 4),
        preview=document.title,
        source="tags",
        snippet=snippet(chunk.text, (), room) if chunk else "",
        context=None,
        path=document.path,
        heading=_heading(chunk) if chunk else None,
        lines=_lines(chunk) if chunk else "0-0",
        date=dated and dated.day,
        date_from=dated and dated.source,
    )
