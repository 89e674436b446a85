"""The tools that look around, search and fetch. Their results have the fields of the reference, and more beside."""

from typing import TYPE_CHECKING, Annotated, cast

from mcp_types import CallToolResult, ContentBlock, TextContent
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Caller
from loci.files.file_part import asked_part
from loci.files.resources import FILES
from loci.files.search_query import FileScope, checked_scope, parsed
from loci.files.tools.file_views import (
    SAMPLE,
    FetchedView,
    LakeOverviewAnswer,
    MissingView,
    content_block,
    fetched,
    overview,
)
from loci.files.tools.part_view import PartAnswer, frame, part_answer
from loci.files.tools.search_views import SearchAnswer, search_answer
from loci.mcp.answers import LARGEST_BLOCK, MOST_SEARCH_TOKENS, as_text
from loci.mcp.threads import SEARCHES
from loci.mcp.tool import LociTool, loci_tool
from loci.search.words import Question

if TYPE_CHECKING:
    from loci.app import App

Folder = Annotated[str | None, Field(max_length=1000, description="only files in this folder")]
MOST_COPIES = 10
"""Files of one call that are copied for a client of this machine."""
Day = Annotated[str | None, Field(max_length=40, description="2026-05-01")]


def _as_words(given: object) -> object:
    """Models mix up which fields are lists: one text is a list of one."""
    return [] if given is None else [given] if isinstance(given, str) else given


def _as_sentence(given: object) -> object:
    """The other way round."""
    if isinstance(given, list):
        words = cast("list[object]", given)
        return " ".join(map(str, words)) if all(isinstance(one, str) for one in words) else words
    return "" if given is None else given


def _as_place(given: object) -> object:
    """A locator is its label, and a number or two are a span, too."""
    if isinstance(given, dict):
        locator = cast("dict[str, object]", given)
        return locator.get("label", locator)
    numbers = cast("list[object]", given) if isinstance(given, list) else [given]
    is_span = bool(numbers) and all(type(one) is int for one in numbers)
    return "-".join(map(str, numbers)) if is_span else cast("object", given)


Words = Annotated[list[str], BeforeValidator(_as_words)]
Sentence = Annotated[str, BeforeValidator(_as_sentence)]
Place = Annotated[
    Annotated[str, Field(max_length=1000)] | None, BeforeValidator(_as_place, json_schema_input_type=str | None)
]
PAGE, SECTION = AliasChoices("page", "slide"), AliasChoices("section", "sheet", "label")
"""The names that a locator has for these."""


class QueryFields(BaseModel):
    """A question, sorted."""

    model_config = ConfigDict(extra="ignore")

    bm25_cleaned_query: Sentence = Field(
        "", description="the question without stop words, punctuation and extra spaces"
    )
    named_entities: Words = Field([], description="all people, organisations, places, products")
    bm25_keywords: Words = Field([], description="the important words, with all named entities")
    bm25_boost_keywords: Words = Field([], description="3 to 5 named entities, distinctive words")
    rewritten_query_for_dense_model: Sentence = Field("", description="what is meant, with synonyms")


def search_tools(app: "App") -> list[LociTool]:
    """`get_memorylake_metadata`, `search_memory`, `read_memory` and `fetch_memory`."""

    def get_memorylake_metadata(
        caller: Caller,
        name: Annotated[str | None, Field(max_length=255, description="or a part of it")] = None,
        folder: Folder = None,
        added_since: Annotated[str | None, Field(max_length=40)] = None,
        added_until: Annotated[str | None, Field(max_length=40)] = None,
        limit: Annotated[int, Field(ge=1, le=200)] = SAMPLE,
        offset: Annotated[int | None, Field(ge=0, description="from `next_offset`")] = None,
    ) -> LakeOverviewAnswer:
        """Say which files there are: how many of each type, and the newest with their sheets and tables.

        Use it at the start of a session, or when the user asks which files they have.
        """
        files = app.files.listed(caller.owner, newest_first=True)
        scope = checked_scope(FileScope(folder=folder, since=added_since, until=added_until))
        return LakeOverviewAnswer(result=overview(files, limit, offset or 0, name=name or "", scope=scope))

    def search_memory(
        parsed_query: Annotated[QueryFields | str, Field(description="a question, or its parts")],
        caller: Caller,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        memory_ids: Annotated[list[str], Field(max_length=100)] = [],  # noqa: B006
        folder: Folder = None,
        types: Annotated[list[str], Field(max_length=20, description="pdf_file, csv, …")] = [],  # noqa: B006
        sheet: Annotated[str | None, Field(max_length=500)] = None,
        added_since: Day = None,
        added_until: Annotated[str | None, Field(max_length=40)] = None,
        as_of: Annotated[str | None, Field(max_length=40, description="as it was known then")] = None,
        max_tokens: Annotated[int | None, Field(ge=200, le=MOST_SEARCH_TOKENS, description="default 750")] = None,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search the contents of all files (PDF, Excel, CSV, text) by words and meaning; for notes, search_documents.

        Cite a passage by its locator: a page of a PDF, cells of a sheet, lines of a text. If `match` is none, say
        that the files have nothing about it. To compute, use query_table or run_memory_code.
        """
        scope = FileScope(tuple(memory_ids), tuple(types), sheet, added_since, added_until, as_of, folder)
        found = app.files.search(caller.owner, _question(parsed_query), limit=limit, scope=scope)
        return search_answer(found, max_tokens)

    def fetch_memory(
        memory_ids: Annotated[list[str], Field(min_length=1, max_length=100)],
        caller: Caller,
        content: Annotated[bool, Field(description="with the bytes, up to 1 MB")] = False,
    ) -> Annotated[CallToolResult, dict[str, FetchedView | MissingView | str]]:
        """Fetch the facts about files by their ids: summary, counts, versions, and a link or path for reading each."""
        return _fetched(app, caller, memory_ids, with_content=content)

    def read_memory(
        id: Annotated[str, Field(max_length=80)],
        caller: Caller,
        page: Annotated[Place, Field(description="or slide: 24, 3-5", validation_alias=PAGE)] = None,
        cells: Annotated[Place, Field(description="Costs!A5:F17")] = None,
        lines: Annotated[Place, Field(description="10-20")] = None,
        section: Annotated[Place, Field(description="a heading, sheet or table", validation_alias=SECTION)] = None,
        version: Annotated[int | None, Field(ge=1, description="an older one")] = None,
        offset: Annotated[int | None, Field(ge=0, description="from `next`")] = None,
        max_tokens: Annotated[int, Field(ge=200, le=MOST_SEARCH_TOKENS)] = 1_500,
    ) -> Annotated[CallToolResult, PartAnswer]:
        """Read a part of a file (PDF, Excel, …): the place that a locator's `label` names, such as a page or cells.

        Without a place: its outline and beginning. The last line says how to read on.
        """
        places = {"page": page, "cells": cells, "lines": lines, "section": section}
        [file] = app.files.status(caller.owner, [id])
        asked = asked_part(places, offset or 0, max_tokens - frame(file, places))
        read, part = app.files.contents.part(caller.owner, id, version, asked)
        return part_answer(file, read, part, places)

    return [
        loci_tool(get_memorylake_metadata, title="Say which files there are", quick=True),
        # It keeps to max_tokens itself.
        loci_tool(search_memory, title="Search files", quick=True, threads=SEARCHES, budget=None, view="results"),
        loci_tool(read_memory, title="Read a file", quick=True, budget=None),  # and so does it
        loci_tool(fetch_memory, title="Fetch facts about files", quick=True),
    ]


def _question(given: QueryFields | str) -> Question:
    if isinstance(given, str):
        asked = parsed(rewritten=given)
    else:
        asked = parsed(
            cleaned=given.bm25_cleaned_query,
            entities=given.named_entities,
            keywords=given.bm25_keywords,
            boosts=given.bm25_boost_keywords,
            rewritten=given.rewritten_query_for_dense_model,
        )
    if not asked.text.strip():
        raise Refused(
            "The question is empty", 'Ask something, such as parsed_query="travel costs in May"', code="EMPTY_QUERY"
        )
    return asked


def _fetched(app: "App", caller: Caller, ids: list[str], *, with_content: bool) -> CallToolResult:
    """The facts about files, and their bytes if they are asked for."""
    owner = caller.owner
    found: dict[str, FetchedView | MissingView] = {}
    blocks: list[ContentBlock] = []
    for id, file in app.files.known(owner, ids).items():
        if file is None:
            found[id] = MissingView(id=id, reason="No file has this id. search_memory gives ids that exist")
            continue
        link = app.files.link(owner, file) if caller.over_http else None
        found[id] = view = fetched(file, app.files.versions(owner, id), link)
        try:
            if not caller.over_http and len(found) <= MOST_COPIES:
                view.local_path = str(app.files.local_copy(owner, file))
            if with_content and file.shown.bytes <= LARGEST_BLOCK:
                blocks.append(content_block(file.name, link or f"{FILES}{id}", app.files.read(owner, id).content))
        except LociError as error:  # of a damaged content the facts are there
            view.remarks = [*(view.remarks or ()), str(error)]
    if all(isinstance(one, MissingView) for one in found.values()):
        what = ", ".join(repr(one[:80]) for one in list(found)[:3])
        raise NotFound(f"There is no file {what}", "Use ids that search_memory gave", code="MEMORY_NOT_FOUND")
    structured = {id: one.model_dump(mode="json") for id, one in found.items()}
    return CallToolResult(
        content=[TextContent(type="text", text=as_text(structured)), *blocks], structured_content=structured
    )
