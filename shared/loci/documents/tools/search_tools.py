"""The tools that search documents and list their folders."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from loci.core.identity import Caller, Owner
from loci.documents.filtering import LibraryPart
from loci.documents.tools.part_arguments import Dates, Folder, Properties, Tags, asked_part, no_tag, normal_tags
from loci.documents.tools.reading_tool import reading_tool
from loci.documents.tools.search_results import PASSAGE, SearchResults, search_results, tagged_results
from loci.markdown.date_ranges import asked_for_newest
from loci.mcp.answers import MOST_SEARCH_TOKENS, noted_list
from loci.mcp.threads import SEARCHES
from loci.mcp.tool import Advice, LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

LONGEST_QUERY = 100_000
MOST = 100

Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, description="in plain words")]
Limit = Annotated[int, Field(ge=1, le=MOST)]
Tokens = Annotated[int | None, Field(ge=300, le=MOST_SEARCH_TOKENS, description="of the answer; default 750")]
WITHOUT_QUERY = "For all notes with a tag, and their number, call query_by_tags; of a folder, list_directory_structure"
DATES = "May 2024, since June, 2026-01-31 to today, as of 2025"


def search_tools(app: "App") -> list[LociTool]:
    """The tools over ingested documents."""

    def searched(
        owner: Owner, query: str, limit: int, explain: bool, dates: str | None, part: LibraryPart, tokens: int | None
    ) -> CallToolResult:
        """Search a part of the documents. In a time, "newest …" puts the newest first, undated copies last."""
        newest = asked_for_newest(query) if dates else None
        found = app.sharing.search(
            owner, newest or query, limit=limit, room=PASSAGE, newest_first=newest is not None, part=part
        )
        undated = app.documents.undated(owner) if dates else None
        return search_results(found, query, explain=explain, max_tokens=tokens, undated=undated)

    def search_documents(
        query: Annotated[Query, Advice(WITHOUT_QUERY)],
        caller: Caller,
        limit: Limit = 20,
        max_tokens: Tokens = None,
        explain: bool = False,
        folder: Annotated[Folder, Field(description="only below this folder")] = None,
        tags: Annotated[Tags, Field(description="all of these; -tag: without it")] = [],  # noqa: B006
        dates: Annotated[Dates, Field(description=DATES)] = None,
        properties: Annotated[Properties, Field(description="front matter, status=done")] = {},  # noqa: B006
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search all notes (markdown documents) by meaning and by words; for PDF, Excel, … use search_memory.

        Use it first for what was learned, decided or solved, and before you begin work on a topic. Returns the best
        passages word for word, and a line of later notes, each with its id for read_node_content.
        """
        part = asked_part(folder, tags, dates, properties)
        return searched(caller.owner, query, limit, explain, dates, part, max_tokens)

    def temporal_search(
        query: Query,
        date_range: Annotated[str, Field(max_length=100, description=DATES)],
        caller: Caller,
        limit: Limit = 20,
        explain: bool = False,
        folder: Folder = None,
        tags: Tags = [],  # noqa: B006
        properties: Properties = {},  # noqa: B006
    ) -> Annotated[CallToolResult, SearchResults]:
        """Search the notes of a time. "newest …" puts the newest first, undated copies last.

        Undated ones have the day of their last change. Answers as search_documents, which has `dates`, too.
        """
        part = asked_part(folder, tags, date_range, properties)
        return searched(caller.owner, query, limit, explain, date_range, part, None)

    def query_by_tags(
        tags: Annotated[Tags, Field(min_length=1, description="without the #")],
        caller: Caller,
        match: Annotated[Literal["any", "all"], Field(description="how many of the tags it must have")] = "any",
        without: Annotated[Tags, Field(description="tags it must not have")] = [],  # noqa: B006
        query: Annotated[str | None, Field(max_length=LONGEST_QUERY, description="search only these documents")] = None,
        limit: Limit = 20,
        folder: Folder = None,
        dates: Dates = None,
        properties: Properties = {},  # noqa: B006
    ) -> Annotated[CallToolResult, SearchResults]:
        """Find and count notes by their tags, newest first, or search among them. Answers as search_documents."""
        owner, wanted = caller.owner, normal_tags(tags)
        if not wanted:
            raise no_tag()
        of_any, of_all = (wanted, ()) if match == "any" else ((), wanted)
        asked = asked_part(folder, [], dates, properties)
        part = replace(asked, tags=of_all, any_tags=of_any, no_tags=normal_tags(without))
        if query:
            found = app.documents.search(owner, query, limit=limit, room=PASSAGE, part=part)
            return search_results(found, query, explain=False)
        tagged, total = app.documents.with_tags(owner, part, limit=limit)
        return tagged_results(wanted, tagged, total, None if tagged else app.documents.why_empty(owner, part))

    def list_directory_structure(
        caller: Caller,
        prefix: Folder = None,
        depth: Annotated[int | None, Field(ge=1, le=64, description="levels below that")] = None,
        documents: Annotated[bool, Field(description="list notes, too")] = False,
        tags: Tags = [],  # noqa: B006
        dates: Dates = None,
        properties: Properties = {},  # noqa: B006
    ) -> Annotated[CallToolResult, list[str]]:
        """List the folders of notes, to see their order."""
        owner, part = caller.owner, asked_part(prefix, tags, dates, properties)
        found = app.sharing.directory(owner, part, depth, with_documents=documents)
        note = None
        if not found:
            no_folders = "There are no folders here; documents=true lists the documents"
            note = app.documents.why_empty(owner, part) or no_folders
        return noted_list(found, note)

    return [
        # The searches keep to max_tokens themselves.
        loci_tool(
            search_documents, title="Search documents", quick=True, threads=SEARCHES, budget=None, view="results"
        ),
        loci_tool(temporal_search, title="Search documents of a time", quick=True, threads=SEARCHES, budget=None),
        loci_tool(query_by_tags, title="Find documents by tags", quick=True, budget=None),
        reading_tool(app),
        loci_tool(list_directory_structure, title="List folders of documents", quick=True),
    ]
