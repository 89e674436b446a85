"""The fields of search results: those of the reference, and more beside them. Texts are cut to sizes in JSON."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from loci.documents.finding import FoundDocuments
from loci.markdown.nouns import DateSource
from loci.mcp.tool import as_text
from loci.search.ranking import Chunk, Explanation, Hit, Stage
from loci.search.snippet import ELLIPSIS, snippet

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
FEWEST = 8
"""Characters. Less of a text says nothing."""

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


def result_of(hit: Hit, found: FoundDocuments, *, explain: bool) -> SearchResult:
    """The result, with the whole of its best passage, or with what a language model quotes of it."""
    document = found.documents.get(hit.chunk.document)
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


def noted_list(values: Sequence[BaseModel | str], note: str | None) -> CallToolResult:
    """The list; the note is a second block of text."""
    plain = [one if isinstance(one, str) else one.model_dump(mode="json") for one in values]
    content = [TextContent(type="text", text=text) for text in (as_text(plain), note) if text]
    return CallToolResult(content=[*content], structured_content={"result": plain})


def json_size(value: Any) -> int:
    """Bytes as JSON; of a text without its quotation marks."""
    written = len(_JSON.encode(value).encode("utf-8", "replace"))
    return written - 2 if isinstance(value, str) else written


def beginning(text: str, most: int) -> str:
    """At most so many bytes of the text, from its beginning."""
    return _longest(text, most, lambda count: text[:count] + ELLIPSIS)


def ending(text: str, most: int) -> str:
    """At most so many bytes of the text, up to its end."""
    return _longest(text, most, lambda count: ELLIPSIS + text[len(text) - count :])


def excerpt(text: str, words: Collection[str], room: int, most: int) -> str:
    """At most `room` characters and `most` bytes of the text, where most of the words are."""
    room = min(len(text), room, len(text) * most // max(1, json_size(text)))
    return "" if room < FEWEST else beginning(snippet(text, words, room), most)


def _longest(text: str, most: int, cut: Callable[[int], str]) -> str:
    if json_size(text) <= most:
        return text
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if json_size(cut(middle)) <= most else (low, middle - 1)
    return cut(low)
