"""The tools over the links of documents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.documents.document import Document
from loci.documents.foreign import saw_line, saw_titles
from loci.documents.tools.reading_tool import DocumentName
from loci.graph.neighbourhood import DocumentLink, PathStep, seen_from
from loci.markdown.nouns import relation_named
from loci.mcp.answers import is_none, noted_list
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

DEEPEST = 4
MOST_AROUND = 200
TOO_MANY = "There are more documents: use a smaller depth, or name a relation"
ONLY_SHARED = "Another owner shares this: only direct links to what is shared, too, are shown"
Direction = Literal["outgoing", "incoming", "both"]


class Edge(BaseModel):
    """A link of a document."""

    target: str | None = Field(description="the other document's id; null: no document has that name")
    type: str = Field(description="such as references, follows, supersedes or similar")
    direction: Literal["outgoing", "incoming"]
    title: str = Field(description="the other document's title; if there is no such document, the name as written")
    path: str | None
    line: int | None = Field(description="the line of the link; null: the link is inferred")
    evidence: str = Field(description="the text of that line, or the reason why the link is inferred")
    anchor: str | None = Field(description="the heading or block of the target that the link names")
    inferred: bool
    similarity: float | None
    also: list[str] = Field(description="other documents with the same name, farther away in the folders")
    way: list[str] | None = Field(
        default=None, description="with depth: the documents on the way to it", exclude_if=is_none
    )


class StepView(BaseModel):
    """A link of a path."""

    id: str = Field(description="the document that the link leads to")
    type: str
    direction: Literal["outgoing", "incoming"] = Field(description="incoming: the path follows this link backwards")


class NeighbourView(BaseModel):
    id: str
    title: str
    path: str
    distance: int
    way: list[StepView] = Field(description="the shortest path from the given document")


class Neighbourhood(BaseModel):
    """The documents around a document."""

    id: str
    neighbors: list[NeighbourView]
    truncated: bool = Field(description="true: there are more; use a smaller depth or a larger limit to see all")


def link_tools(app: "App") -> list[LociTool]:
    """The tools over links."""

    def explore_links(
        id: DocumentName,
        caller: Caller,
        relation: Annotated[
            str | None, Field(max_length=64, description="references, follows, implements, similar or another")
        ] = None,
        direction: Direction = "outgoing",
        unresolved: Annotated[bool, Field(description="also links to missing notes")] = False,
        depth: Annotated[int, Field(ge=1, le=DEEPEST, description="links in a row")] = 1,
    ) -> Annotated[CallToolResult, list[Edge]]:
        """Find related notes through the graph: what a note cites, follows, implements, or resembles.

        `similar` links are inferred and have no direction.
        """
        wanted = None if relation is None else relation_named(relation)
        found, is_shared = app.sharing.links(
            caller.owner, id, direction=direction, relation=wanted, with_open=unresolved
        )
        edges = [_edge(one) for one in found]
        if depth == 1 or is_shared:
            return noted_list(edges, ONLY_SHARED if is_shared else None)
        around = app.graph.surroundings(
            caller.owner, id, depth=depth, limit=MOST_AROUND, direction=direction, relation=wanted
        )
        known = {one.id: one for one, _ in around.documents}
        saw_titles(known.values())
        for last in (path[-1].link for _, path in around.documents):
            if last.line:  # its evidence
                saw_line(known.get(last.source), last.line)
        direct = {one.target for one in edges}
        far = [_far_edge(one, path) for one, path in around.documents if one.id not in direct]
        return noted_list([*edges, *far], TOO_MANY if around.is_cut else None)

    def graph_neighbors(
        id: DocumentName,
        caller: Caller,
        depth: Annotated[int, Field(ge=1, le=DEEPEST, description="the most links to follow, in either direction")] = 2,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
        similar: Annotated[bool, Field(description="also follow inferred `similar` links")] = False,
    ) -> Neighbourhood:
        """Find the notes within a few links of a note, nearest first, each with the shortest path to it.

        Use it before you change a note, or for context that a search misses.
        """
        found = app.graph.surroundings(caller.owner, id, depth=depth, limit=limit, over_similar=similar)
        saw_titles(one for one, _ in found.documents)
        near = [_neighbour(one, path) for one, path in found.documents]
        return Neighbourhood(id=found.id, neighbors=near, truncated=found.is_cut)

    return [
        loci_tool(explore_links, title="Explore links", quick=True, view="graph"),
        loci_tool(graph_neighbors, title="Documents around one", quick=True, view="graph"),
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
        inferred=link.line is None,
        similarity=link.similarity,
        also=[*link.other_targets],
    )


def _far_edge(document: Document, path: Sequence[PathStep]) -> Edge:
    last, way = path[-1], [step.to for step in path[:-1]]
    return _edge(seen_from({document.id: document}, last.link, last.direction, document.id)).model_copy(
        update={"way": way}
    )


def _neighbour(document: Document, path: Sequence[PathStep]) -> NeighbourView:
    way = [StepView(id=step.to, type=step.link.relation, direction=step.direction) for step in path]
    return NeighbourView(id=document.id, title=document.title, path=document.path, distance=len(way), way=way)
