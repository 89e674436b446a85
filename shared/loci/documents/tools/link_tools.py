"""The tools over the graph of documents: what is linked with what."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.documents.document import relation_named
from loci.documents.graph.neighbourhood import DocumentLink, NearbyDocument
from loci.documents.host import DocumentsHost
from loci.mcp.tool import LociTool, loci_tool

DEEPEST = 4
Direction = Literal["outgoing", "incoming", "both"]


class Edge(BaseModel):
    """A link, as the document says it."""

    target: str | None = Field(description="the other document's id; null: nothing of that name is here")
    type: str = Field(description="references, follows, implements or similar")
    direction: Literal["outgoing", "incoming"]
    title: str = Field(description="the other document's; of what is not here the name that was written")
    path: str | None
    line: int | None = Field(description="where it is written; null where nobody wrote it")
    evidence: str = Field(description="the line that it stands in, or why it is taken for one")
    anchor: str | None = Field(description="the heading or block that it names in the target")
    inferred: bool
    similarity: float | None
    also: list[str] = Field(description="documents that the same words name as well, but that lie farther away")


class StepView(BaseModel):
    """One link on the way."""

    id: str = Field(description="where it leads")
    type: str
    direction: Literal["outgoing", "incoming"] = Field(description="incoming: against the link's own direction")


class NeighbourView(BaseModel):
    id: str
    title: str
    path: str
    distance: int
    way: list[StepView] = Field(description="the shortest way from the document that was asked for")


class Neighbourhood(BaseModel):
    """What lies around a document."""

    id: str
    neighbors: list[NeighbourView]
    truncated: bool = Field(description="there are more: a smaller depth or a larger limit shows all")


def link_tools(app: DocumentsHost) -> list[LociTool]:
    """The tools over links."""

    def explore_links(
        id: Annotated[str, Field(max_length=512, description="a document's id, as a search gave it")],
        caller: Caller,
        relation: Annotated[
            str | None, Field(max_length=64, description="only links of this type: references, follows, …")
        ] = None,
        direction: Annotated[Direction, Field(description="links from it, links to it, or both")] = "outgoing",
        unresolved: Annotated[bool, Field(description="also what it mentions that is not here")] = False,
    ) -> list[Edge]:
        """Find related documents through the graph: what a document cites, follows, implements, or resembles.

        Use it after a search, to follow a chain of thought from a brief to its debrief and on to a playbook. Call it
        again with a returned `target` to go one step further. `similar` links are inferred: each of two documents is
        among the other's nearest; `similarity` says how near, and they have no direction.

        Example: explore_links(id="docs-briefs-auth", relation="references")
        """
        wanted = None if relation is None else relation_named(relation)
        found = app.documents.links(caller.owner, id, direction=direction, relation=wanted, with_open=unresolved)
        return [_edge(one) for one in found]

    def graph_neighbors(
        id: Annotated[str, Field(max_length=512, description="a document's id, as a search gave it")],
        caller: Caller,
        depth: Annotated[int, Field(ge=1, le=DEEPEST, description="links at most, in either direction")] = 2,
        limit: Annotated[int, Field(ge=1, le=200, description="documents at most")] = 50,
        similar: Annotated[bool, Field(description="also walk `similar` links, which nobody wrote")] = False,
    ) -> Neighbourhood:
        """Find every document within some links of one, nearest first, each with the shortest way to it.

        Use it to see what surrounds a document before you change it, or to find context that no search words name. Only
        links that somebody wrote, or that names and dates tell, are walked, unless `similar` is set: likeness joins
        nearly everything with everything in a few steps.

        Example: graph_neighbors(id="docs-briefs-auth", depth=2)
        """
        found = app.documents.surroundings(caller.owner, id, depth=depth, limit=limit, over_similar=similar)
        return Neighbourhood(id=id, neighbors=[_neighbour(one) for one in found.documents], truncated=found.is_cut)

    return [
        loci_tool(explore_links, title="Explore links", quick=True),
        loci_tool(graph_neighbors, title="Documents around one", quick=True),
    ]


def _edge(link: DocumentLink) -> Edge:
    return Edge(
        target=link.other and link.other.id,
        type=link.relation,
        direction=link.direction,
        title=link.title,
        path=link.other and link.other.path,
        line=link.line,
        evidence=link.evidence,
        anchor=link.anchor,
        inferred=link.is_inferred,
        similarity=link.similarity,
        also=[*link.other_targets],
    )


def _neighbour(one: NearbyDocument) -> NeighbourView:
    way = [StepView(id=step.to, type=step.link.relation, direction=step.direction) for step in one.path]
    document = one.document
    return NeighbourView(id=document.id, title=document.title, path=document.path, distance=len(way), way=way)
