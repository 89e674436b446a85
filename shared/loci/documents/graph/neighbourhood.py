"""Who is how many links away, and on which way."""

from dataclasses import dataclass

from loci.documents.graph.graph import Graph
from loci.documents.graph.link import Link


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a way; `back` where it is walked against its direction."""

    link: Link
    back: bool

    @property
    def to(self) -> str:
        return self.link.source if self.back else self.link.target


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document, and the shortest way to it."""

    id: str
    way: tuple[Step, ...]


def neighbours(graph: Graph, id: str, depth: int, most: int) -> tuple[list[Neighbour], bool]:
    """The `most` nearest within so many links in either direction, nearest first; and whether there are more."""
    ways: dict[str, tuple[Step, ...]] = {id: ()}
    here = [id]
    for _ in range(depth):
        following: list[str] = []
        for one in here:
            for step in _steps(graph, one):
                if step.to not in ways:
                    if len(ways) > most:
                        return _listed(ways), True
                    ways[step.to] = (*ways[one], step)
                    following.append(step.to)
        here = following
    return _listed(ways), False


def _listed(ways: dict[str, tuple[Step, ...]]) -> list[Neighbour]:
    return [Neighbour(id, way) for id, way in ways.items() if way]


def _steps(graph: Graph, id: str) -> list[Step]:
    """Those over links that somebody wrote come first."""
    out = (Step(link, back=False) for link in graph.outgoing.get(id, ()))
    back = (Step(link, back=True) for link in graph.incoming.get(id, ()))
    return sorted((*out, *back), key=lambda step: step.link.relation == "similar")
