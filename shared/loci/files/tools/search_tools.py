"""The tools that look around, search and fetch. Their results have the fields of the reference, and more beside."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.files.api import Overview
from loci.files.file import Kind, Status, StoredFile
from loci.files.finder import AnswerStatus, FoundFile, FoundPassage, Match, Scope, best_match
from loci.files.host import FilesHost
from loci.files.query import ParsedQuery, parsed
from loci.mcp.threads import SEARCHES
from loci.mcp.tool import LociTool, loci_tool

SUMMARY_IN_LIST = 120


class Sample(BaseModel):
    id: str = Field(description="for fetch_memory and get_memory_path()")
    name: str
    type: Kind
    num_chunks: int
    num_figures: int
    num_tables: int
    sheet_names: list[str] | None = Field(default=None, description="of a workbook")
    format: str | None = Field(description="xlsx, csv, pdf, md, …; null: not read yet")
    status: Status
    version: int


class Metadata(BaseModel):
    total_files: int
    total_excel_files: int
    total_pdf_files: int
    total_txt_files: int
    sample_memories: list[Sample] = Field(description="the newest files, 20 at most")


class MetadataAnswer(BaseModel):
    result: Metadata


class LocatorView(BaseModel):
    label: str = Field(description="as to be cited: page 3, Costs!A5:F17, lines 10-20")
    page: int | None = None
    box: tuple[float, float, float, float] | None = Field(
        default=None, description="left, top, right, bottom, as parts of the page"
    )
    sheet: str | None = None
    cells: str | None = None
    slide: int | None = None
    lines: tuple[int, int] | None = None


class PassageView(BaseModel):
    text: str
    locator: LocatorView
    chunk_id: str
    heading: str | None = None


class FoundView(BaseModel):
    id: str = Field(description="for fetch_memory and get_memory_path()")
    name: str
    summary: str
    match: Match
    passages: list[PassageView]


class SearchView(BaseModel):
    results: list[FoundView]
    n: int = Field(description="how many files are in results")
    match: Match = Field(description="of the best result; none: nothing in the files is about it")
    status: AnswerStatus = Field(description="empty and indexing say why in `reason`; unavailable: search again later")
    reason: str | None = None
    scope: str = Field(description="which files were searched")


class SearchAnswer(BaseModel):
    result: SearchView


class MemoryView(BaseModel):
    id: str
    name: str
    source_type: Kind
    summary: str
    presigned_url: str | None = Field(
        description="for downloading it within an hour; null: this server is not reachable"
    )
    format: str | None = None
    status: Status
    version: int
    bytes: int
    num_chunks: int
    num_figures: int
    num_tables: int
    sheet_names: list[str] | None = None
    lineage: dict[str, JsonValue] | None = Field(
        default=None, description="where it came from, if code made it: its code, inputs and time"
    )


class QueryFields(BaseModel):
    """A question, sorted. Every field may be missing."""

    model_config = ConfigDict(extra="ignore")

    bm25_cleaned_query: str = Field("", description="the question without stop words and punctuation")
    named_entities: list[str] = Field([], description="people, organisations, places, products")
    bm25_keywords: list[str] = Field([], description="the important words, with all named entities")
    bm25_boost_keywords: list[str] = Field([], description="3 to 5 words that matter most")
    rewritten_query_for_dense_model: str = Field("", description="the question as a sentence, with synonyms")


def search_tools(app: FilesHost) -> list[LociTool]:
    """`get_memorylake_metadata`, `search_memory` and `fetch_memory`."""

    def get_memorylake_metadata(caller: Caller) -> MetadataAnswer:
        """Say which files there are: how many of each type, and the newest with their sheets and tables.

        Use it at the start of a session, or when the user asks which files they have.

        Example: get_memorylake_metadata()
        """
        return MetadataAnswer(result=_metadata(app.files.overview(caller.owner)))

    def search_memory(
        parsed_query: Annotated[
            QueryFields | str, Field(description="a question, or its parts; what is missing is derived")
        ],
        caller: Caller,
        limit: Annotated[int, Field(ge=1, le=50, description="files in the answer")] = 10,
        memory_ids: Annotated[list[str], Field(max_length=100, description="search only these files")] = [],  # noqa: B006
        types: Annotated[
            list[str], Field(max_length=20, description="only excel_file, pdf_file, txt_file, or formats such as csv")
        ] = [],  # noqa: B006
    ) -> SearchAnswer:
        """Search the contents of all files, by words and by meaning. Each result has its passages and where they are.

        Cite a passage by its locator: a page of a PDF, cells of a sheet, lines of a text. `match` says how well the
        answer fits; if it is none, say that the files have nothing about it.

        Example: search_memory(parsed_query="travel costs in May")
        """
        query = _parsed(parsed_query)
        scope = Scope(ids=tuple(memory_ids), kinds=tuple(types))
        found = app.files.search(caller.owner, query, limit=limit, scope=scope)
        return SearchAnswer(
            result=SearchView(
                results=[_found(one) for one in found.files],
                n=len(found.files),
                match=best_match(found.files),
                status=found.status,
                reason=found.reason,
                scope="all files" if scope == Scope() else "the files that fit the filters",
            )
        )

    def fetch_memory(
        memory_ids: Annotated[list[str], Field(min_length=1, max_length=100, description="from search_memory")],
        caller: Caller,
    ) -> dict[str, MemoryView]:
        """Fetch the facts about files by their ids: summary, counts, status, and a link for downloading each.

        Example: fetch_memory(memory_ids=["ds-0f…"])
        """
        files = app.files.status(caller.owner, list(dict.fromkeys(memory_ids)))
        return {one.id: _memory(one, app.files.link(caller.owner, one)) for one in files}

    return [
        loci_tool(get_memorylake_metadata, title="Say which files there are", quick=True),
        loci_tool(search_memory, title="Search files", quick=True, threads=SEARCHES),
        loci_tool(fetch_memory, title="Fetch facts about files", quick=True),
    ]


def _parsed(given: QueryFields | str) -> ParsedQuery:
    if isinstance(given, str):
        query = parsed(rewritten=given)
    else:
        query = parsed(
            cleaned=given.bm25_cleaned_query,
            entities=given.named_entities,
            keywords=given.bm25_keywords,
            boosts=given.bm25_boost_keywords,
            rewritten=given.rewritten_query_for_dense_model,
        )
    if not query.asked.strip():
        raise Refused(
            "The question is empty", 'Ask something, such as parsed_query="travel costs in May"', code="EMPTY_QUERY"
        )
    return query


def _metadata(overview: Overview) -> Metadata:
    return Metadata(
        total_files=overview.total,
        total_excel_files=overview.excel,
        total_pdf_files=overview.pdf,
        total_txt_files=overview.txt,
        sample_memories=[_sample(one) for one in overview.sample],
    )


def _sample(file: StoredFile) -> Sample:
    version = file.shown
    return Sample(
        id=file.id,
        name=file.name,
        type=file.kind,
        num_chunks=version.chunks,
        num_figures=version.figures,
        num_tables=version.tables,
        sheet_names=list(version.sheets) or None,
        format=version.format,
        status=file.newest.status,
        version=file.newest.number,
    )


def _found(found: FoundFile) -> FoundView:
    return FoundView(
        id=found.file.id,
        name=found.file.name,
        summary=found.file.shown.summary[:SUMMARY_IN_LIST],
        match=found.match,
        passages=[_passage(one) for one in found.passages],
    )


def _passage(found: FoundPassage) -> PassageView:
    where = found.where
    return PassageView(
        text=found.text,
        locator=LocatorView(
            label=where.label,
            page=where.page,
            box=where.box,
            sheet=where.sheet,
            cells=where.cells,
            slide=where.slide,
            lines=where.lines,
        ),
        chunk_id=found.chunk_id,
        heading=" > ".join(found.heading) or None,
    )


def _memory(file: StoredFile, link: str | None) -> MemoryView:
    version = file.shown
    return MemoryView(
        id=file.id,
        name=file.name,
        source_type=file.kind,
        summary=version.summary,
        presigned_url=link,
        format=version.format,
        status=file.newest.status,
        version=file.newest.number,
        bytes=file.newest.bytes,
        lineage=file.newest.lineage,
        num_chunks=version.chunks,
        num_figures=version.figures,
        num_tables=version.tables,
        sheet_names=list(version.sheets) or None,
    )
