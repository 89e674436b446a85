"""The tool that says what to read."""

from typing import Annotated

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.documents.api import DocumentsHost
from loci.documents.graph.reading_list import ReadingAdvisor
from loci.documents.tools.search import LONGEST_QUERY, found_by
from loci.mcp.tool import LociTool, loci_tool
from loci.search.ranking import EVERYTHING

SEEDS = 10
ROOM = 160
"""Characters of the text that a reason quotes."""


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


def reading_tools(app: DocumentsHost) -> list[LociTool]:
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
        ranking = found_by(app, caller.owner, context, SEEDS, EVERYTHING, room=ROOM)
        documents = app.documents
        advisor = ReadingAdvisor(
            documents.index,
            documents.embedder,
            documents.graphs,
            documents.likeness,
            documents.similar,
            documents.read_lately,
        )
        found = advisor.suggest(caller.owner, ranking, limit=limit, max_tokens=max_tokens)
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
                for one, total in zip(found.items, found.running_totals, strict=True)
            ],
            total_tokens=found.total_tokens,
            left_out=found.left_out,
            compared_by=found.compared_by,
            reason=found.reason,
        )

    return [loci_tool(suggest_reading, title="Suggest what to read")]
