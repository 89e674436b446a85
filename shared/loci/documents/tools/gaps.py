"""The tool that finds missing links."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci.core.identity import Caller, Owner
from loci.documents.api import DocumentsHost
from loci.documents.graph.gaps import Gap, gaps
from loci.documents.graph.link import Relation
from loci.documents.graph.remarks import PairRemark
from loci.documents.graph.stems import beginnings, wording
from loci.mcp.tool import LociTool, loci_tool
from loci.search.ranking import Chunk

MOST_GAPS = 100
RULES = "rules"


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
        graph, alike = app.documents.graphs.of(caller.owner), app.documents.likeness.of(caller.owner)
        found = gaps(graph, alike, limit, threshold)
        passages = beginnings(app.documents.index, caller.owner, [gap.source for gap in found])
        said = _said(app, caller.owner, found, passages)
        return [
            _gap(one, passages.get(one.source.id, []), alike.by, said.get(at), app.documents.remarks.name)
            for at, one in enumerate(found)
        ]

    return [loci_tool(find_gaps, title="Find missing links")]


def _said(
    app: DocumentsHost, owner: Owner, found: Sequence[Gap], passages: Mapping[str, Sequence[Chunk]]
) -> Mapping[int, PairRemark]:
    """What the language model says of them, where there is one."""
    if not app.documents.remarks.is_there:
        return {}
    first = {id: chunks[0] for id, chunks in passages.items() if chunks}
    targets = beginnings(app.documents.index, owner, [gap.target for gap in found])
    first |= {id: chunks[0] for id, chunks in targets.items() if chunks}

    def text(id: str, title: str) -> str:
        return f"{title}\n\n{first[id].text}" if id in first else title

    return app.documents.remarks.pairs(
        [(text(gap.source.id, gap.source.title), text(gap.target.id, gap.target.title)) for gap in found]
    )


def _gap(gap: Gap, passages: Sequence[Chunk], by: str, said: PairRemark | None, model: str) -> GapView:
    return GapView(
        source_id=gap.source.id,
        target_id=gap.target.id,
        similarity=gap.similarity,
        reason=said.reason if said else _reason(gap, passages),
        suggested_link_type=said.relation if said else gap.relation,
        kind=gap.kind,
        source_title=gap.source.title,
        target_title=gap.target.title,
        compared_by=by,
        written_by=model if said else RULES,
    )


def _reason(gap: Gap, passages: Sequence[Chunk]) -> str:
    shared = wording(passages, gap.stems).values()
    about = f"Both are about {', '.join(shared)}" if shared else "Both are worded alike"
    why = "they may be one document" if gap.kind == "duplicate" else "neither links to the other"
    return f"{about}, and {why}."
