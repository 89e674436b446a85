"""What to read about something: an order of documents, each with a reason, within so many tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from loci.documents.document import Document
from loci.documents.graph.graph import Graph
from loci.documents.graph.link import Link
from loci.documents.graph.pagerank import nearness
from loci.documents.graph.reasons import Reasons
from loci.search.ranking import Hit

HALF_LIFE_DAYS: Final = 365.0
RECENT: Final = 0.3
"""How much the newest gain over the oldest."""
ANSWER: Final = 0.5
"""What it counts to answer oneself, beside where walks from the answers lead."""
LEAST_SCORE: Final = 0.05
"""Whatever was found counts something."""
SIMILAR: Final = 0.5
"""A link that nobody wrote counts half."""


@dataclass(frozen=True, slots=True)
class ReadingItem:
    """A document to read, or the part of one that fits."""

    document: Document
    reason: str
    tokens: int
    is_read: bool
    lines: str | None = None
    """Only these, as the whole is too long."""


@dataclass(frozen=True, slots=True)
class Nearby:
    """A document that may be worth reading."""

    document: Document
    reason: str
    hit: Hit | None


def nearby(graph: Graph, hits: Sequence[Hit], similar: Mapping[str, Sequence[Link]], most: int) -> list[Nearby]:
    """The best: what answers, and what lies around it. Of two equally near the younger comes first."""
    found = {hit.chunk.document: hit for hit in hits if hit.chunk.document in graph.documents}
    around = _around(graph, similar)
    seeds = {id: hit.score + LEAST_SCORE for id, hit in found.items()}
    near = nearness(seeds, around) if seeds else {}
    for id, score in seeds.items():  # or what many link to would come before the only one that answers
        near[id] += ANSWER * score / sum(seeds.values())
    newest = max((graph.documents[id].date or "" for id in near), default="")
    worth = {id: value * (1 + RECENT * _freshness(graph.documents[id].date, newest)) for id, value in near.items()}
    order = sorted(worth, key=lambda one: (-round(worth[one], 9), one))[:most]
    reasons = Reasons(graph, found, similar)
    return [Nearby(graph.documents[id], reasons.of(id), found.get(id)) for id in order]


def reading_list(
    near: Sequence[Nearby], read: Mapping[str, str], count: Callable[[Nearby], int], most_tokens: int
) -> tuple[list[ReadingItem], int]:
    """Unread ones first, for as long as the tokens last; and how many of them did not fit.

    Of what is too long, the passage that answers is taken, where that fits. What has changed since is unread again.
    """
    chosen: list[ReadingItem] = []
    left = most_tokens
    is_read = {one.document.id: read.get(one.document.id) == one.document.sha256 for one in near}
    for one in sorted(near, key=lambda one: is_read[one.document.id]):
        tokens, lines = count(one), None
        if tokens > left and one.hit is not None:
            tokens = max(1, tokens * len(one.hit.chunk.text.encode()) // max(one.document.bytes, 1))
            lines = f"{one.hit.chunk.first_line}-{one.hit.chunk.last_line}"
        if tokens <= left:
            chosen.append(ReadingItem(one.document, one.reason, tokens, is_read[one.document.id], lines))
            left -= tokens
    return chosen, len(near) - len(chosen)


def _around(graph: Graph, similar: Mapping[str, Sequence[Link]]) -> Callable[[str], Mapping[str, float]]:
    def around(id: str) -> Mapping[str, float]:
        weights: dict[str, float] = {}
        for link in graph.outgoing.get(id, ()):
            weights[link.target] = weights.get(link.target, 0.0) + 1.0
        for link in graph.incoming.get(id, ()):
            weights[link.source] = weights.get(link.source, 0.0) + 1.0
        for link in similar.get(id, ()):
            if link.target in graph.documents:
                weights[link.target] = weights.get(link.target, 0.0) + SIMILAR * (link.similarity or 0.0)
        return weights

    return around


def _freshness(day: str | None, newest: str) -> float:
    """1 for the newest document, half of it a year before; 0 without a date."""
    try:
        days = (date.fromisoformat(newest) - date.fromisoformat(day or "")).days
    except ValueError:
        return 0.0
    return 0.5 ** (days / HALF_LIFE_DAYS)
