"""The tools that search, read and look around. Their results have the fields of the reference, and more beside them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from loci.core.errors import Refused
from loci.core.identity import Caller, Owner
from loci.documents.api import TaggedDocument
from loci.documents.content.tags_and_dates import normal_tag, parse_date_range
from loci.documents.document import Document
from loci.documents.host import DocumentsHost
from loci.documents.tools.reading_tool import reading_tool
from loci.mcp.answer_budget import ShortenedResult
from loci.mcp.threads import SEARCHES
from loci.mcp.tool import LociTool, as_text, loci_tool
from loci.search.ranking import EVERYTHING, Chunk, Explanation, Hit, Ranking, Stage, Where
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
    explain: Explanation | None = None


class Metadata(BaseModel):
    query: str
    sonar_enabled: bool = Field(description="whether a language model read the results")
    intent: str | None
    analysis: str | None
    stages: list[Stage]
    reason: str | None = Field(default=None, description="why there are no results")


class SearchResults(BaseModel):
    results: list[SearchResult]
    metadata: Metadata


def search_results(ranking: Ranking, *, explain: bool) -> CallToolResult:
    """The ranking in at most `ROOM`. If passages had to be cut for that, it brings all of them to be kept."""
    metadata = Metadata(
        query=_said(ranking.query),
        sonar_enabled=any(one.stage == "language_model" and one.ran for one in ranking.stages),
        intent=ranking.intent,
        analysis=ranking.analysis,
        stages=list(ranking.stages),
        reason=ranking.reason,
    )
    rows = [_row(hit, explain=explain) for hit in ranking.hits]
    passages = [hit.chunk.text.strip() for hit in ranking.hits]
    shown = _result(SearchResults(results=rows, metadata=metadata))
    if all(row.snippet == passage for row, passage in zip(rows, passages, strict=True)):
        return shown
    whole = [row.model_copy(update={"snippet": passage}) for row, passage in zip(rows, passages, strict=True)]
    kept = SearchResults(results=whole, metadata=metadata).model_dump_json()
    return ShortenedResult(content=shown.content, structured_content=shown.structured_content, whole=kept)


def _result(found: SearchResults) -> CallToolResult:
    structured = found.model_dump(mode="json")
    return CallToolResult(content=[TextContent(type="text", text=as_text(structured))], structured_content=structured)


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


def tagged_results(wanted: Sequence[str], found: Sequence[TaggedDocument], room: int) -> CallToolResult:
    """The documents as results, each with its beginning."""
    rows = [_tagged(one.document, one.beginning, wanted, room) for one in found]
    stage = Stage("tags", True, 0.0, f"{len(found)} documents")
    reason = None if rows else "No document has these tags"
    metadata = Metadata(
        query=_said(", ".join(wanted)), sonar_enabled=False, intent=None, analysis=None, stages=[stage], reason=reason
    )
    return _result(SearchResults(results=rows, metadata=metadata))


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


LONGEST_QUERY = 100_000
MOST = 100

Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, description="what to look for, in plain words")]
Limit = Annotated[int, Field(ge=1, le=MOST, description="the most documents to return")]
Explain = Annotated[bool, Field(description="say how each result got its rank")]
Tags = Annotated[list[str], Field(max_length=100)]


def search_tools(app: DocumentsHost) -> list[LociTool]:
    """The tools over what was ingested."""

    def search_documents(
        query: Query, caller: Caller, limit: Limit = 20, explain: Explain = False
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search all documents by meaning and by words.

        Use it first for "what did we learn about X", "how did we solve Y", or before you begin work on a topic.
        Returns the best passage of each document, with its id for read_node_content. `metadata.reason` says why an
        answer is empty.
        """
        return _search(app, caller.owner, query, limit, EVERYTHING, explain=explain)

    def temporal_search(
        query: Query,
        date_range: Annotated[
            str, Field(max_length=100, description="such as 2026-01-01..2026-01-31, 2026-01, last week or last 30 days")
        ],
        caller: Caller,
        limit: Limit = 20,
        explain: Explain = False,
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search the documents whose date is in a range.

        The date comes from the front matter, the file name or the first heading. Answers as search_documents.
        """
        since, until = parse_date_range(date_range, datetime.now(UTC).date())
        where = Where(since=since, until=until)
        return _search(app, caller.owner, query, limit, where, explain=explain)

    def query_by_tags(
        tags: Annotated[Tags, Field(min_length=1, description="without the #")],
        caller: Caller,
        match: Annotated[Literal["any", "all"], Field(description="how many of the tags it must have")] = "any",
        without: Annotated[Tags, Field(description="tags it must not have")] = [],  # noqa: B006
        query: Annotated[str | None, Field(max_length=LONGEST_QUERY, description="search only these documents")] = None,
        limit: Limit = 20,
    ) -> Annotated[CallToolResult, SearchResults]:
        """Find documents by their tags, newest first, or search among them. Answers as search_documents."""
        wanted, unwanted = _normal(tags), _normal(without)
        if not wanted:
            raise Refused("None of these is a tag", "Give tags of letters, such as security", code="BAD_TAG")
        if query:
            of_any, of_all = (wanted, ()) if match == "any" else ((), wanted)
            where = Where(any_tags=of_any, all_tags=of_all, no_tags=unwanted)
            return _search(app, caller.owner, query, limit, where, explain=False)
        found = app.documents.with_tags(caller.owner, wanted, unwanted, every=match == "all", limit=limit)
        return tagged_results(wanted, found, snippet_room(limit))

    def list_directory_structure(
        caller: Caller,
        prefix: Annotated[str | None, Field(max_length=512, description="only folders below this one")] = None,
        depth: Annotated[int | None, Field(ge=1, le=64, description="the most levels to list")] = None,
    ) -> list[str]:
        """List the folders that contain documents, to see how they are organised before you search or write."""
        return app.documents.folders(caller.owner, prefix, depth)

    return [
        loci_tool(search_documents, title="Search documents", quick=True, threads=SEARCHES),
        loci_tool(temporal_search, title="Search documents of a time", quick=True, threads=SEARCHES),
        loci_tool(query_by_tags, title="Find documents by tags", quick=True),
        reading_tool(app),
        loci_tool(list_directory_structure, title="List folders of documents", quick=True),
    ]


def _search(app: DocumentsHost, owner: Owner, query: str, limit: int, where: Where, *, explain: bool) -> CallToolResult:
    ranking = app.documents.search(owner, query, limit=limit, room=snippet_room(limit), where=where)
    return search_results(ranking, explain=explain)


def _normal(tags: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, tags) if tag))
