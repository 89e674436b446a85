"""The tool that finds missing links."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.documents.api import DocumentsHost
from loci.documents.graph.gaps import GapFinder
from loci.documents.link import Relation
from loci.mcp.tool import LociTool, loci_tool

MOST_GAPS = 100


class GapView(BaseModel):
    """Two documents that ought to know of each other."""

    source_id: str
    target_id: str
    similarity: float = Field(description="0 to 1")
    reason: str
    suggested_link_type: Relation = Field(description="of a link from the source to the target")
    kind: Literal["gap", "duplicate"] = Field(description="duplicate: they say the same")
    source_title: str
    target_title: str
    compared_by: str = Field(description="the model of the vectors, or TF-IDF where there is none")
    written_by: str = Field(description="who wrote the reason and the link type: `rules`, or a language model")


def gap_tools(app: DocumentsHost) -> list[LociTool]:
    """The tool over what is missing."""

    def find_gaps(
        caller: Caller,
        limit: Annotated[int, Field(ge=1, le=MOST_GAPS, description="gaps at most")] = 10,
        threshold: Annotated[
            float, Field(ge=0, le=1, description="how alike two documents must be, from 0 to 1")
        ] = 0.8,
    ) -> list[GapView]:
        """Find similar documents that no link joins: all pairs are compared, the most alike come first.

        Use it from time to time, to connect what belongs together, and to find what was written twice. A lower
        threshold finds more. It writes nothing: whether a link is made is yours to decide.

        Example: find_gaps(limit=5, threshold=0.9)
        """
        documents = app.documents
        finder = GapFinder(documents.index, documents.graphs, documents.likeness, documents.remarks)
        found = finder.find(caller.owner, limit=limit, threshold=threshold)
        return [
            GapView(
                source_id=one.gap.source.id,
                target_id=one.gap.target.id,
                similarity=one.gap.similarity,
                reason=one.reason,
                suggested_link_type=one.relation,
                kind=one.gap.kind,
                source_title=one.gap.source.title,
                target_title=one.gap.target.title,
                compared_by=found.compared_by,
                written_by=one.written_by,
            )
            for one in found.gaps
        ]

    return [loci_tool(find_gaps, title="Find missing links")]
