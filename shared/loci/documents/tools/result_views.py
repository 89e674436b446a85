"""The fields of search results: those of the reference, and more beside them. What is null is left out."""

from pydantic import BaseModel, Field

from loci.documents.document import DateSource, Document
from loci.documents.tools.json_size import beginning, ending
from loci.search.ranking import Chunk, Explanation, Hit, Stage

LONGEST_TITLE, LONGEST_HEADINGS, LONGEST_PATH = 160, 200, 400
"""Bytes as JSON. Of longer headings and paths the end is shown; `id` names the document all the same."""
LONGEST_CONTEXT, LONGEST_QUOTATION = 600, 1000
"""The same of what a language model says of a passage, and quotes of it."""


class PassageView(BaseModel):
    text: str
    lines: str
    heading: str | None = None


class SearchResult(BaseModel):
    id: str = Field(description="for read_node_content")
    score: float = Field(description="0 to 1: how well it fits; the scale is the same for every query")
    preview: str = Field(description="the document's title")
    source: str = Field(description="what ranked it: bm25, vector, hybrid, or vector+rerank")
    snippet: str = Field(description="the passage that fits best, word for word; in later results a line of it")
    context: str | None = Field(default=None, description="why it fits, if a language model is configured")
    path: str
    heading: str | None = Field(default=None, description="the headings above the passage, if not just the title")
    lines: str = Field(description="the lines of the passage, such as 10-20")
    date: str | None = Field(default=None, description="YYYY-MM-DD")
    date_from: DateSource | None = Field(default=None, description="what says the date; file: only its last change")
    passages: list[PassageView] | None = Field(
        default=None, description="further passages of it that fit about as well"
    )
    explain: Explanation | None = None


class Metadata(BaseModel):
    query: str
    sonar_enabled: bool = Field(description="whether a language model read the results")
    intent: str | None = None
    analysis: str | None = None
    stages: list[Stage] | None = Field(default=None, description="those that failed; all with explain")
    reason: str | None = Field(default=None, description="why there are no results")
    undated: int | None = Field(
        default=None,
        description="of a search in a time: how many of all documents have no date but that of their last change",
    )
    left_out: int | None = Field(default=None, description="results for which there was no room here")


class SearchResults(BaseModel):
    results: list[SearchResult]
    metadata: Metadata


def result_of(hit: Hit, document: Document | None, *, explain: bool) -> SearchResult:
    """The result, with the whole of its best passage, or with what a language model quotes of it."""
    dated = document and document.dated
    return SearchResult(
        id=hit.chunk.document,
        score=hit.score,
        preview=beginning(hit.chunk.title, LONGEST_TITLE),
        source=hit.source,
        snippet=hit.chunk.text.strip() if hit.context is None else beginning(hit.snippet, LONGEST_QUOTATION),
        context=hit.context and beginning(hit.context, LONGEST_CONTEXT),
        path=ending(hit.chunk.path, LONGEST_PATH),
        heading=heading_of(hit.chunk),
        lines=lines_of(hit.chunk),
        date=dated and dated.day,
        date_from=dated and dated.source,
        explain=hit.why if explain else None,
    )


def further_passage(chunk: Chunk) -> PassageView:
    """A further passage of a document, whole."""
    return PassageView(text=chunk.text.strip(), lines=lines_of(chunk), heading=heading_of(chunk))


def heading_of(chunk: Chunk) -> str | None:
    """The headings above the passage; None if that is only the title, which is said already."""
    return None if chunk.heading in ((), (chunk.title,)) else ending(" > ".join(chunk.heading), LONGEST_HEADINGS)


def lines_of(chunk: Chunk) -> str:
    return f"{chunk.first_line}-{chunk.last_line}"
