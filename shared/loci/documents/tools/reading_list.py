"""The tool that says what to read."""

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, Field

from loci.app import App
from loci.core.identity import Caller, Owner
from loci.documents.graph.reading_list import Nearby, nearby, reading_list
from loci.documents.graph.stems import READ, beginnings
from loci.documents.tools.search import LONGEST_QUERY, found_by
from loci.mcp.tool import LociTool, loci_tool
from loci.search.ranking import EVERYTHING

SEEDS = 10
ROOM = 160
"""Characters of what a document says, in the reason for it."""
LIKELY = 3
"""Nearbys for each document that is asked for: some do not fit, some are read."""


class ReadingView(BaseModel):
    id: str = Field(description="for read_node_content")
    title: str
    path: str
    reason: str
    tokens: int = Field(description="about so many")
    running_total: int = Field(description="with all before it")
    lines: str | None = Field(description="read only these, as in 10-20: the whole is too long; null: read all of it")
    read: bool = Field(description="you have read it within 30 days, as it is now")


class ReadingList(BaseModel):
    """What to read, in this order."""

    documents: list[ReadingView]
    total_tokens: int
    left_out: int = Field(description="documents near it that did not fit into max_tokens or limit")
    compared_by: str = Field(description="the model of the vectors, or TF-IDF where there is none")
    reason: str | None = Field(description="why there is nothing to read")


def reading_tools(app: App) -> list[LociTool]:
    """The tool over what is worth reading."""

    def suggest_reading(
        context: Annotated[
            str, Field(min_length=1, max_length=LONGEST_QUERY, description="what you are about to do, in plain words")
        ],
        caller: Caller,
        max_tokens: Annotated[int, Field(ge=100, le=1_000_000, description="what you can spend on reading")] = 8000,
        limit: Annotated[int, Field(ge=1, le=50, description="documents at most")] = 10,
    ) -> ReadingList:
        """Suggest what to read before you begin: documents in an order, each with the reason for it.

        Use it at the start of a session or of a task. It takes what answers the context and what lies around that in
        the graph, unread documents first, within your tokens. Read them with read_node_content, only `lines` where
        given.

        Example: suggest_reading(context="add rate limits to the public API", max_tokens=4000)
        """
        owner = caller.owner
        ranking = found_by(app, owner, context, SEEDS, EVERYTHING, room=ROOM)
        graph, alike = app.documents.graphs.of(owner), app.documents.likeness.of(owner)
        similar = app.documents.similar.of(owner, [hit.chunk.document for hit in ranking.hits])
        near = nearby(graph, ranking.hits, similar, LIKELY * limit)
        chosen, left_out = reading_list(
            near, app.documents.read_lately.hashes(owner), _counter(app, owner, near), max_tokens
        )
        views: list[ReadingView] = []
        total = 0
        for one in chosen[:limit]:
            total += one.tokens
            views.append(
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
            )
        return ReadingList(
            documents=views,
            total_tokens=total,
            left_out=left_out + len(chosen) - len(views),
            compared_by=alike.by,
            reason=None if views else ranking.reason or "Nothing near it fits: raise max_tokens",
        )

    return [loci_tool(suggest_reading, title="Suggest what to read")]


def _counter(app: App, owner: Owner, near: list[Nearby]) -> Callable[[Nearby], int]:
    """How many tokens documents have, by their first passages."""
    passages = beginnings(app.documents.index, owner, [one.document for one in near])

    def count(one: Nearby) -> int:
        first = [chunk.text for chunk in passages[one.document.id]]
        if not first:
            return max(1, one.document.bytes // 3)
        return max(
            1, sum(app.documents.embedder.count(first)) * max(one.document.chunks, 1) // min(one.document.chunks, READ)
        )

    return count
