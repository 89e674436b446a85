"""The tools that look at all documents: missing links, topics, and reading lists."""

from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.documents.document import Document
from loci.documents.foreign import saw_line, saw_titles
from loci.documents.tools.part_arguments import Dates, Folder, Properties, Tags, asked_part
from loci.documents.tools.search_tools import LONGEST_QUERY
from loci.graph.clusters import Method
from loci.graph.gaps import DUPLICATE, RULES, GapKind
from loci.graph.loose_ends import LooseEnd, LooseEndKind
from loci.markdown.nouns import Relation
from loci.mcp.answers import noted_list
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

MOST_GAPS = 100


Kind = Literal["unlinked", "duplicate", "orphan", "dead_link", "contradiction", "stale"]
"""The kinds of gaps. `unlinked` has duplicates, too, as in the reference."""


class GapView(BaseModel):
    """Two similar documents that no link joins, or a document with a loose end."""

    source_id: str
    target_id: str | None = Field(description="of a dead link the name in it")
    similarity: float | None = Field(description="0 to 1")
    reason: str
    suggested_link_type: Relation | None = Field(description="the type of a link from the source to the target")
    kind: GapKind | LooseEndKind = Field(description="duplicate: both say the same")
    source_title: str
    target_title: str | None
    compared_by: str | None = Field(description="the model of the vectors; TF-IDF if there is no model")
    written_by: str = Field(description="what wrote the reason and the link type: `rules`, or a language model")


MOST_ALONE = 10


class Member(BaseModel):
    id: str
    title: str


class ClusterView(BaseModel):
    """Documents that belong together."""

    id: str = Field(description="the same for the same documents")
    label: str
    terms: list[str] = Field(description="words that tell it from the other clusters")
    size: int
    documents: list[Member] = Field(description="the most central first; with method `tags`, the newest first")


class ClustersView(BaseModel):
    """All clusters, or the largest."""

    clusters: list[ClusterView] = Field(description="the largest first")
    total: int = Field(description="the number of all clusters")
    method: Method
    compared_by: str = Field(description="what joins documents: links with a model's vectors or TF-IDF, or tags")
    in_no_cluster: list[Member] = Field(description="the first of the documents that belong to no cluster")
    alone: int = Field(description="the number of documents that belong to no cluster")
    reason: str | None = Field(description="why there are no clusters, if no document fits")


class ReadingView(BaseModel):
    id: str = Field(description="for read_node_content")
    title: str
    path: str
    reason: str
    tokens: int = Field(description="approximately")
    running_total: int = Field(description="tokens of this document and all before it")
    lines: str | None = Field(
        description="the document is too long: read only these lines, such as 10-20; null: read all"
    )
    read: bool = Field(description="true: you have read this version within 30 days")


class ReadingList(BaseModel):
    """Documents to read, in this order."""

    documents: list[ReadingView]
    total_tokens: int
    left_out: int = Field(description="the number of related documents that did not fit into max_tokens or limit")
    compared_by: str = Field(description="the model of the vectors; TF-IDF if there is no model")
    reason: str | None = Field(description="why there is nothing to read, or what is left out")


def overview_tools(app: "App") -> list[LociTool]:
    """`find_gaps`, `cluster_documents` and `suggest_reading`."""

    def find_gaps(
        caller: Caller,
        limit: Annotated[int, Field(ge=1, le=MOST_GAPS)] = 10,
        threshold: Annotated[float, Field(ge=0, le=1)] = 0.8,
        kind: Kind = "unlinked",
        folder: Folder = None,
        tags: Tags = [],  # noqa: B006
        dates: Dates = None,
        properties: Properties = {},  # noqa: B006
    ) -> Annotated[CallToolResult, list[GapView]]:
        """Find similar notes that no link joins, the most similar first, or what else is to mend. Use it for upkeep."""
        part = asked_part(folder, tags, dates, properties)
        if kind in ("orphan", "dead_link", "contradiction", "stale"):
            ends = app.graph.loose_ends(caller.owner, kind, part)
            saw_titles(each for one in ends[:limit] for each in (one.source, one.target))
            for one in ends[:limit] if kind in ("dead_link", "contradiction") else ():  # the reason quotes them
                saw_line(one.source, None)
                saw_line(one.target, None)
            more = f"The first {limit} of {len(ends)}" if len(ends) > limit else None
            return noted_list(
                [_loose_end(one) for one in ends[:limit]], more if ends else app.documents.why_empty(caller.owner, part)
            )
        threshold = DUPLICATE if kind == "duplicate" else threshold
        found = app.graph.gaps(caller.owner, part, limit=limit, threshold=threshold)
        saw_titles(each for one in found for each in (one.source, one.target))
        gaps = [
            GapView(
                source_id=one.source.id,
                target_id=one.target.id,
                similarity=one.similarity,
                reason=one.reason,
                suggested_link_type=one.relation,
                kind=one.kind,
                source_title=one.source.title,
                target_title=one.target.title,
                compared_by=one.compared_by,
                written_by=one.written_by,
            )
            for one in found
        ]
        return noted_list(gaps, None if gaps else app.documents.why_empty(caller.owner, part))

    def cluster_documents(
        caller: Caller,
        method: Annotated[Method, Field(description="louvain: by links and similarity; tags: one a tag")] = "louvain",
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
        documents: Annotated[int, Field(ge=1, le=200, description="the most documents to show of each")] = 3,
        min_size: Annotated[int, Field(ge=1, le=1000, description="the fewest documents that make a cluster")] = 2,
        folder: Folder = None,
        tags: Tags = [],  # noqa: B006
        dates: Dates = None,
        properties: Properties = {},  # noqa: B006
    ) -> ClustersView:
        """Group all notes by topic: by their links and similarity, or by their tags.

        Use it to learn what a library is about.
        """
        part = asked_part(folder, tags, dates, properties)
        found = app.graph.topics(caller.owner, method, part, limit=limit, min_size=min_size)
        return ClustersView(
            clusters=[
                ClusterView(
                    id=one.id,
                    label=one.label,
                    terms=[*one.terms],
                    size=len(one.documents),
                    documents=_members(found.documents[id] for id in one.documents[:documents]),
                )
                for one in found.clusters
            ],
            total=found.total,
            method=method,
            compared_by=found.compared_by,
            in_no_cluster=_members(found.alone[:MOST_ALONE]),
            alone=len(found.alone),
            reason=None if found.total or found.alone else app.documents.why_empty(caller.owner, part),
        )

    def suggest_reading(
        context: Annotated[
            str, Field(min_length=1, max_length=LONGEST_QUERY, description="what you are going to do, in plain words")
        ],
        caller: Caller,
        max_tokens: Annotated[
            int, Field(ge=100, le=1_000_000, description="the most tokens to spend on reading")
        ] = 8000,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        folder: Folder = None,
        tags: Tags = [],  # noqa: B006
        dates: Dates = None,
        properties: Properties = {},  # noqa: B006
    ) -> ReadingList:
        """Suggest notes to read before you begin a task, in order, each with the reason.

        Unread ones come first. Read them with read_node_content; if `lines` is
        given, only those.
        """
        part = asked_part(folder, tags, dates, properties)
        found = app.graph.suggest_reading(caller.owner, context, part, limit=limit, max_tokens=max_tokens)
        saw_titles(one.document for one in found.items)
        totals = [*accumulate(one.tokens for one in found.items)]
        return ReadingList(
            documents=[
                ReadingView(
                    id=one.document.id,
                    title=one.document.title,
                    path=one.document.path,
                    reason=one.reason,
                    tokens=one.tokens,
                    running_total=total,
                    lines=one.lines,
                    read=one.is_read,
                )
                for one, total in zip(found.items, totals, strict=True)
            ],
            total_tokens=totals[-1] if totals else 0,
            left_out=found.left_out,
            compared_by=found.compared_by,
            reason=found.reason,
        )

    return [
        loci_tool(find_gaps, title="Find missing links"),
        loci_tool(cluster_documents, title="Group documents"),
        loci_tool(suggest_reading, title="Suggest what to read"),
    ]


def _loose_end(end: LooseEnd) -> GapView:
    return GapView(
        source_id=end.source.id,
        target_id=end.target.id if end.target else end.named,
        similarity=None,
        reason=end.reason,
        suggested_link_type=None,
        kind=end.kind,
        source_title=end.source.title,
        target_title=end.target.title if end.target else None,
        compared_by=None,
        written_by=RULES,
    )


def _members(documents: Iterable[Document]) -> list[Member]:
    members = [*documents]
    saw_titles(members)
    return [Member(id=one.id, title=one.title) for one in members]
