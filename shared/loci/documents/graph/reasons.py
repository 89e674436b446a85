"""Why a document is worth reading: what it says itself, or how it is linked to documents that say something."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from loci.documents.graph.graph import Graph, kind_of
from loci.documents.graph.link import Link
from loci.search.ranking import Hit

NAMED: Final = 3


class Reasons:
    """Reasons in the light of what a search found."""

    def __init__(self, graph: Graph, hits: Mapping[str, Hit], similar: Mapping[str, Sequence[Link]]) -> None:
        self._graph = graph
        self._hits = hits
        self._similar = [link for links in similar.values() for link in links]

    def of(self, id: str) -> str:
        """The strongest one for this document, in a sentence without a full stop."""
        if hit := self._hits.get(id):
            return f"Answers the question: {' '.join((hit.context or hit.snippet).split())}"
        mine = [link for link in self._graph.outgoing.get(id, ()) if link.target in self._hits]
        theirs = [link for link in self._graph.incoming.get(id, ()) if link.source in self._hits]
        return next(self._said(id, mine, theirs), "A few links away from what answers")

    def _said(self, id: str, mine: Sequence[Link], theirs: Sequence[Link]) -> Iterator[str]:
        yield from (said for link in mine if (said := self._from(link)))
        yield from (said for link in theirs if (said := self._to(link)))
        if theirs:
            yield f"Linked from {self._titles([link.source for link in theirs])}"
        if mine:
            yield f"Links to {self._titles([link.target for link in mine])}"
        for link in self._similar:
            if link.target == id:
                yield f"Resembles {self._title(link.source)} ({link.similarity:.2f})"

    def _from(self, link: Link) -> str | None:
        match link.relation:
            case "follows":
                is_debrief = kind_of(self._graph.documents[link.source]) == "debrief"
                return f"{'The debrief of' if is_debrief else 'What follows'} {self._title(link.target)}"
            case "implements":
                return f"Puts {self._title(link.target)} into practice"
            case _:
                return None

    def _to(self, link: Link) -> str | None:
        match link.relation:
            case "follows":
                return f"What {self._title(link.source)} follows"
            case "implements":
                return f"What {self._title(link.source)} puts into practice"
            case _:
                return None

    def _titles(self, ids: Sequence[str]) -> str:
        some = [*dict.fromkeys(ids)]
        named = ", ".join(self._title(id) for id in some[:NAMED])
        return f"{len(some)} of these: {named}" if len(some) > 1 else named

    def _title(self, id: str) -> str:
        return f'"{self._graph.documents[id].title}"'
