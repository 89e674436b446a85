"""The tools over the graph of documents: what is linked with what."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci.app import App
from loci.documents.gaps import Gap, gaps
from loci.documents.graph import Graph
from loci.documents.neighbours import Neighbour, neighbours
from loci.documents.writer import COLLECTION
from loci.errors import Refused
from loci.model.graph import ALIASES, RELATIONS, Link, OpenLink, Relation
from loci.model.identity import Caller, Owner
from loci.model.search import Chunk
from loci.search.words import places
from loci.server.door import Door, door

DEEPEST = 4
MOST_GAPS = 100
READ = 20
"""Passages of a document that are looked through for the words of a reason."""
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


class GapView(BaseModel):
    """Two documents that ought to know of each other."""

    source_id: str
    target_id: str
    similarity: float = Field(description="0 to 1")
    reason: str
    suggested_link_type: str = Field(description="of a link from the source to the target")
    kind: Literal["gap", "duplicate"] = Field(description="duplicate: they say the same")
    source_title: str
    target_title: str
    compared_by: str = Field(description="the model of the vectors, or TF-IDF where there is none")


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


def link_doors(app: App) -> list[Door]:
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
        again with a returned `target` to go one step further.

        Example: explore_links(id="docs-briefs-auth", relation="references")
        """
        wanted = _relation(relation)
        document = app.documents.get(caller.owner, id)
        graph = app.graphs.of(caller.owner)
        edges: list[Edge] = []
        if direction != "incoming":
            edges += [_edge(graph, link, "outgoing") for link in graph.outgoing.get(document.id, ())]
        if direction != "outgoing":
            edges += [_edge(graph, link, "incoming") for link in graph.incoming.get(document.id, ())]
        if unresolved:
            edges += [_open(one) for one in graph.open.get(document.id, ())]
        return [edge for edge in edges if wanted is None or edge.type == wanted]

    def graph_neighbors(
        id: Annotated[str, Field(max_length=512, description="a document's id, as a search gave it")],
        caller: Caller,
        depth: Annotated[int, Field(ge=1, le=DEEPEST, description="links at most, in either direction")] = 2,
        limit: Annotated[int, Field(ge=1, le=200, description="documents at most")] = 50,
    ) -> Neighbourhood:
        """Find every document within some links of one, nearest first, each with the shortest way to it.

        Use it to see what surrounds a document before you change it, or to find context that no search words name.

        Example: graph_neighbors(id="docs-briefs-auth", depth=2)
        """
        document = app.documents.get(caller.owner, id)
        graph = app.graphs.of(caller.owner)
        found, is_cut = neighbours(graph, document.id, depth, limit)
        return Neighbourhood(id=document.id, neighbors=[_neighbour(graph, one) for one in found], truncated=is_cut)

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
        graph, alike = app.graphs.of(caller.owner), app.likeness.of(caller.owner)
        found = gaps(graph, alike, limit, threshold)
        passages = _passages(app, caller.owner, found)
        return [_gap(one, passages, alike.by) for one in found]

    surfaces: tuple[Literal["documents"], ...] = ("documents",)
    return [
        door(explore_links, title="Explore links", surfaces=surfaces, quick=True),
        door(find_gaps, title="Find missing links", surfaces=surfaces),
        door(graph_neighbors, title="Documents around one", surfaces=surfaces, quick=True),
    ]


def _relation(said: str | None) -> Relation | None:
    if said is None:
        return None
    name = said.strip().lower()
    for relation in RELATIONS:
        if relation == ALIASES.get(name, name):
            return relation
    raise Refused(f"There is no relation {said!r}", f"Use one of {', '.join(RELATIONS)}", code="BAD_RELATION")


def _edge(graph: Graph, link: Link, direction: Literal["outgoing", "incoming"]) -> Edge:
    other = graph.documents[link.target if direction == "outgoing" else link.source]
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


def _passages(app: App, owner: Owner, found: Sequence[Gap]) -> dict[str, Chunk]:
    """The first passages of all sources, read together."""
    sources = {gap.source.id: min(gap.source.chunks, READ) for gap in found}
    return app.index.chunks(owner, COLLECTION, [f"{id}#{at}" for id, count in sources.items() for at in range(count)])


def _gap(gap: Gap, passages: Mapping[str, Chunk], by: str) -> GapView:
    shared = _words(gap, passages)
    about = f"Both are about {', '.join(shared)}" if shared else "Both are worded alike"
    why = "they may be one document" if gap.kind == "duplicate" else "neither links to the other"
    return GapView(
        source_id=gap.source.id,
        target_id=gap.target.id,
        similarity=gap.similarity,
        reason=f"{about}, and {why}.",
        suggested_link_type=gap.relation,
        kind=gap.kind,
        source_title=gap.source.title,
        target_title=gap.target.title,
        compared_by=by,
    )


def _words(gap: Gap, passages: Mapping[str, Chunk]) -> list[str]:
    """The stems as the source says them."""
    said: dict[str, str] = {}
    for chunk in (one for one in passages.values() if one.document == gap.source.id):
        text = "\n".join([*chunk.heading, chunk.text])
        for stem, begin, end in places(text, frozenset(gap.stems)):
            said.setdefault(stem, text[begin:end])
    return [said[stem] for stem in gap.stems if stem in said]


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
