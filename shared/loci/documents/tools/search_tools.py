"""The tools that search documents and list their folders."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from loci.core.errors import Refused
from loci.core.identity import Caller, Owner
from loci.documents.filtering import EVERY_PART, LibraryPart
from loci.documents.tools.reading_tool import reading_tool
from loci.documents.tools.search_results import (
    PASSAGE,
    SearchResults,
    noted_list,
    search_results,
    tagged_results,
)
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.markdown.date_ranges import asked_for_newest, parse_date_range
from loci.markdown.tags import normal_tag
from loci.mcp.answers import MOST_SEARCH_TOKENS
from loci.mcp.threads import SEARCHES
from loci.mcp.tool import LociTool, loci_tool
from loci.search.ranking import EVERYTHING, Where

if TYPE_CHECKING:
    from loci.app import App

LONGEST_QUERY = 100_000
MOST = 100

Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, description="in plain words")]
Limit = Annotated[int, Field(ge=1, le=MOST)]
Tokens = Annotated[int | None, Field(ge=300, le=MOST_SEARCH_TOKENS, description="of the answer; default 750")]
Explain = Annotated[bool, Field(description="how each got its rank")]
Folder = Annotated[str | None, Field(max_length=512, description="only below this folder")]
Properties = Annotated[dict[str, str], Field(description='front matter, {"status": "done"}')]
Tags = Annotated[list[str], Field(max_length=100)]
Dates = Field(max_length=100, description="June 2024, since March, 2026-01-31 to 2026-02-15")


def search_tools(app: "App") -> list[LociTool]:
    """The tools over ingested documents."""

    def searched(
        owner: Owner,
        query: str,
        limit: int,
        explain: bool,
        dates: str | None,
        where: Where = EVERYTHING,
        part: LibraryPart = EVERY_PART,
        max_tokens: int | None = None,
    ) -> CallToolResult:
        """Search a part of the documents. In a time, "newest …" puts the newest first, undated copies last."""
        if not dates:
            found = app.documents.search(owner, query, limit=limit, room=PASSAGE, where=where, part=part)
            return search_results(found, query, explain=explain, max_tokens=max_tokens)
        newest = asked_for_newest(query)
        since, until = parse_date_range(dates, datetime.now(UTC).date())
        found = app.documents.search(
            owner,
            newest or query,
            limit=limit,
            room=PASSAGE,
            where=replace(where, since=since, until=until),
            newest_first=newest is not None,
            part=part,
        )
        undated = app.documents.undated(owner)
        return search_results(found, query, explain=explain, max_tokens=max_tokens, undated=undated)

    def search_documents(
        query: Query,
        caller: Caller,
        limit: Limit = 20,
        max_tokens: Tokens = None,
        explain: Explain = False,
        folder: Folder = None,
        tags: Annotated[Tags, Field(description="all of these; -tag: without it")] = [],  # noqa: B006
        dates: Annotated[str | None, Dates] = None,
        properties: Properties = {},  # noqa: B006
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search all notes (markdown documents) by meaning and by words; for PDF, Excel, … use search_memory.

        Use it first for what was learned, decided or solved, and before you begin work on a topic. Returns the best
        passages word for word, and a line of later notes, each with its id for read_node_content.
        """
        part = LibraryPart(folder, properties)
        where = _with_tags(tags)
        return searched(caller.owner, query, limit, explain, dates, where, part, max_tokens)

    def temporal_search(
        query: Query,
        date_range: Annotated[str, Dates],
        caller: Caller,
        limit: Limit = 20,
        explain: Explain = False,
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search the notes of a time. "newest …" puts the newest first, undated copies last.

        Undated ones have the day of their last change. Answers as search_documents, which has `dates`, too.
        """
        return searched(caller.owner, query, limit, explain, date_range)

    def query_by_tags(
        tags: Annotated[Tags, Field(min_length=1, description="without the #")],
        caller: Caller,
        match: Annotated[Literal["any", "all"], Field(description="how many of the tags it must have")] = "any",
        without: Annotated[Tags, Field(description="tags it must not have")] = [],  # noqa: B006
        query: Annotated[str | None, Field(max_length=LONGEST_QUERY, description="search only these documents")] = None,
        limit: Limit = 20,
    ) -> Annotated[CallToolResult, SearchResults]:
        """Find notes by their tags, newest first, or search among them. Answers as search_documents."""
        owner, wanted, unwanted = caller.owner, _normal(tags), _normal(without)
        if not wanted:
            raise _no_tag()
        if query:
            of_any, of_all = (wanted, ()) if match == "any" else ((), wanted)
            where = Where(any_tags=of_any, all_tags=of_all, no_tags=unwanted)
            searched = app.documents.search(owner, query, limit=limit, room=PASSAGE, where=where)
            return search_results(searched, query, explain=False)
        found = app.documents.with_tags(owner, wanted, unwanted, every=match == "all", limit=limit)
        is_empty = not found and app.documents.is_empty(owner)
        return tagged_results(wanted, found, is_empty=is_empty)

    def list_directory_structure(
        caller: Caller,
        prefix: Folder = None,
        depth: Annotated[int | None, Field(ge=1, le=64, description="levels below that")] = None,
        documents: Annotated[bool, Field(description="list notes, too")] = False,
    ) -> Annotated[CallToolResult, list[str]]:
        """List the folders of notes, to see how they are organised."""
        owner = caller.owner
        found = app.documents.directory(owner, prefix, depth, with_documents=documents)
        note = None
        if not found:
            is_empty = app.documents.is_empty(owner)
            note = EMPTY_LIBRARY if is_empty else "There are no folders here; documents=true lists the documents"
        return noted_list(found, note)

    return [
        # The searches keep to max_tokens themselves.
        loci_tool(search_documents, title="Search documents", quick=True, threads=SEARCHES, budget=None),
        loci_tool(temporal_search, title="Search documents of a time", quick=True, threads=SEARCHES, budget=None),
        loci_tool(query_by_tags, title="Find documents by tags", quick=True, budget=None),
        reading_tool(app),
        loci_tool(list_directory_structure, title="List folders of documents", quick=True),
    ]


def _no_tag() -> Refused:
    return Refused("None of these is a tag", "Give tags of letters, such as security", code="BAD_TAG")


def _with_tags(tags: list[str]) -> Where:
    """Condition that a document has all of these tags, and no tag with a minus before it."""
    wanted = _normal([one for one in tags if not one.startswith("-")])
    unwanted = _normal([one[1:] for one in tags if one.startswith("-")])
    if tags and not (wanted or unwanted):
        raise _no_tag()
    return Where(all_tags=wanted, no_tags=unwanted)


def _normal(tags: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, tags) if tag))
