"""The tools over the graph of documents: what is linked with what."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.documents.api import DocumentsHost
from loci.documents.graph.graph import Graph
from loci.documents.graph.link import ALIASES, RELATIONS, Link, OpenLink, Relation
from loci.documents.graph.neighbourhood import Neighbour, neighbours
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
        wanted = _relation(relation)
        document = app.documents.library.get(caller.owner, id)
        graph = app.documents.graphs.of(caller.owner)
        edges: list[Edge] = []
        if direction != "incoming":
            edges += [_edge(graph, link, "outgoing", link.target) for link in graph.outgoing.get(document.id, ())]
        if direction != "outgoing":
            edges += [_edge(graph, link, "incoming", link.source) for link in graph.incoming.get(document.id, ())]
        if wanted in (None, "similar"):  # comparing costs: who asks for other links does not pay for it
            way = "incoming" if direction == "incoming" else "outgoing"
            alike = app.documents.similar.of(caller.owner, [document.id])[document.id]
            edges += [_edge(graph, link, way, link.target) for link in alike if link.target in graph.documents]
        if unresolved:
            edges += [_open(one) for one in graph.open.get(document.id, ())]
        return [edge for edge in edges if wanted is None or edge.type == wanted]

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
        document = app.documents.library.get(caller.owner, id)
        graph = app.documents.graphs.of(caller.owner)
        if similar:
            graph = app.documents.similar.joined(caller.owner, graph)
        found, is_cut = neighbours(graph, document.id, depth, limit)
        return Neighbourhood(id=document.id, neighbors=[_neighbour(graph, one) for one in found], truncated=is_cut)

    return [
        loci_tool(explore_links, title="Explore links", quick=True),
        loci_tool(graph_neighbors, title="Documents around one", quick=True),
    ]


def _relation(said: str | None) -> Relation | None:
    if said is None:
        return None
    name = said.strip().lower()
    for relation in RELATIONS:
        if relation == ALIASES.get(name, name):
            return relation
    raise Refused(f"There is no relation {said!r}", f"Use one of {', '.join(RELATIONS)}", code="BAD_RELATION")


def _edge(graph: Graph, link: Link, direction: Literal["outgoing", "incoming"], end: str) -> Edge:
    other = graph.documents[end]
    return Edge(
        target=other.id,
        type=link.relation,
        direction=direction,
        title=other.title,
        path=other.path,
        line=link.line,
        evidence=link.evidence,
        anchor=link.anchor,
        inferred=link.line is None,
        similarity=link.similarity,
        also=list(link.others),
    )


def _neighbour(graph: Graph, one: Neighbour) -> NeighbourView:
    document = graph.documents[one.id]
    way = [
        StepView(id=step.to, type=step.link.relation, direction="incoming" if step.back else "outgoing")
        for step in one.way
    ]
    return NeighbourView(id=one.id, title=document.title, path=document.path, distance=len(way), way=way)


def _open(one: OpenLink) -> Edge:
    return Edge(
        target=None,
        type=one.mention.relation,
        direction="outgoing",
        title=one.mention.target,
        path=None,
        line=one.mention.line,
        evidence=one.mention.evidence,
        anchor=one.mention.anchor,
        inferred=False,
        similarity=None,
        also=[],
    )
