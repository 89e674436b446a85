"""The tools that search documents and list their folders."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.documents.filtering import LibraryPart
from loci.documents.tools.reading_tool import reading_tool
from loci.documents.tools.search_results import PASSAGE, SearchResults, noted_list, search_results, tagged_results
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.markdown.date_ranges import asked_for_newest, parse_date_range
from loci.markdown.tags import normal_tag
from loci.mcp.threads import SEARCHES
from loci.mcp.tool import LociTool, loci_tool
from loci.search.ranking import Where

if TYPE_CHECKING:
    from loci.app import App

LONGEST_QUERY = 100_000
MOST = 100

Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, description="what to look for, in plain words")]
Limit = Annotated[int, Field(ge=1, le=MOST, description="the most documents to return")]
Explain = Annotated[bool, Field(description="say how each result got its rank")]
Folder = Annotated[str | None, Field(max_length=512, description="only below this folder")]
Properties = Annotated[dict[str, str], Field(description='front matter it must have: {"status": "done"}')]
Tags = Annotated[list[str], Field(max_length=100)]


def search_tools(app: "App") -> list[LociTool]:
    """The tools over ingested documents."""

    def search_documents(
        query: Query,
        caller: Caller,
        limit: Limit = 20,
        explain: Explain = False,
        folder: Folder = None,
        properties: Properties = {},  # noqa: B006
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search all documents by meaning and by words.

        Use it first for "what did we learn about X", "how did we solve Y", or before you begin work on a topic.
        Returns the best passages word for word, and a line of later documents, each with its id for
        read_node_content. `metadata.reason` says why an answer is empty.
        """
        part = LibraryPart(folder, properties)
        found = app.documents.search(caller.owner, query, limit=limit, room=PASSAGE, part=part)
        return search_results(found, query, explain=explain)

    def temporal_search(
        query: Query,
        date_range: Annotated[str, Field(max_length=100, description="June 2024, March to May 2024, since 2026-01-31")],
        caller: Caller,
        limit: Limit = 20,
        explain: Explain = False,
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search the documents of a time. "newest …" puts the newest first, undated copies last.

        Undated ones have the day of their last change. Answers as search_documents.
        """
        owner, newest = caller.owner, asked_for_newest(query)
        since, until = parse_date_range(date_range, datetime.now(UTC).date())
        where = Where(since=since, until=until)
        found = app.documents.search(
            owner, newest or query, limit=limit, room=PASSAGE, where=where, newest_first=newest is not None
        )
        return search_results(found, query, explain=explain, undated=app.documents.undated(owner))

    def query_by_tags(
        tags: Annotated[Tags, Field(min_length=1, description="without the #")],
        caller: Caller,
        match: Annotated[Literal["any", "all"], Field(description="how many of the tags it must have")] = "any",
        without: Annotated[Tags, Field(description="tags it must not have")] = [],  # noqa: B006
        query: Annotated[str | None, Field(max_length=LONGEST_QUERY, description="search only these documents")] = None,
        limit: Limit = 20,
    ) -> Annotated[CallToolResult, SearchResults]:
        """Find documents by their tags, newest first, or search among them. Answers as search_documents."""
        owner, wanted, unwanted = caller.owner, _normal(tags), _normal(without)
        if not wanted:
            raise Refused("None of these is a tag", "Give tags of letters, such as security", code="BAD_TAG")
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
        depth: Annotated[int | None, Field(ge=1, le=64, description="the most levels below that")] = None,
        documents: Annotated[bool, Field(description="list documents, too")] = False,
    ) -> Annotated[CallToolResult, list[str]]:
        """List the folders of the documents, to see how they are organised."""
        owner = caller.owner
        found = app.documents.directory(owner, prefix, depth, with_documents=documents)
        note = None
        if not found:
            is_empty = app.documents.is_empty(owner)
            note = EMPTY_LIBRARY if is_empty else "There are no folders here; documents=true lists the documents"
        return noted_list(found, note)

    return [
        loci_tool(search_documents, title="Search documents", quick=True, threads=SEARCHES),
        loci_tool(temporal_search, title="Search documents of a time", quick=True, threads=SEARCHES),
        loci_tool(query_by_tags, title="Find documents by tags", quick=True),
        reading_tool(app),
        loci_tool(list_directory_structure, title="List folders of documents", quick=True),
    ]


def _normal(tags: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, tags) if tag))
