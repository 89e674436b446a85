"""Reading lists: documents to read about a topic, in order, each with a reason, within a number of tokens."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Final

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.link_table import kind_of
from loci.documents.recently_read import RecentlyRead
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.graph.distinctive_terms import FIRST_PASSAGES, first_passages
from loci.graph.graph import Graph, Link
from loci.graph.graphs import Graphs
from loci.markdown.nouns import Relation
from loci.search.inference import Embedder
from loci.search.ranking import Hit, Ranking

RESTART: Final = 0.25
"""The probability that a random walk starts again at each step."""
NEGLIGIBLE: Final = 1e-4
"""Smaller amounts walk no further: this bounds the work, however large the graph is."""
HALF_LIFE_DAYS: Final = 365.0
RECENT_BONUS: Final = 0.3
"""The newest document is worth so much more than the oldest."""
HIT_BONUS: Final = 0.5
"""The bonus of the best hit, on top of its score by random walks. The second one gets half of it, and so on."""
MINIMUM_SCORE: Final = 0.05
"""The least weight of a hit: it counts a little, even with a score of 0."""
SIMILAR_WEIGHT: Final = 0.5
"""The weight of an inferred link: half of a written one."""
CANDIDATES_PER_DOCUMENT: Final = 3
"""Candidates for each document of the list: some do not fit, and some have been read."""
NAMED: Final = 3
RELATION_REASONS: Final[Mapping[tuple[Relation, bool], str]] = {
    ("follows", True): "What follows {}",
    ("implements", True): "Puts {} into practice",
    ("follows", False): "What {} follows",
    ("implements", False): "What {} puts into practice",
}
"""Reasons by the relation of a link, and True if it leads to a hit."""


@dataclass(frozen=True, slots=True)
class ReadingCandidate:
    """A document that may be worth reading."""

    document: Document
    reason: str
    hit: Hit | None


@dataclass(frozen=True, slots=True)
class ReadingItem:
    """A document to read, or the passage of it that answers the question."""

    document: Document
    reason: str
    tokens: int
    is_read: bool
    lines: str | None = None
    """The lines to read, if the whole document is too long."""


@dataclass(frozen=True, slots=True)
class SuggestedReading:
    """The documents to read, in this order."""

    items: tuple[ReadingItem, ...]
    left_out: int
    """The number of candidates that did not fit."""
    compared_by: str
    reason: str | None
    """Why there is nothing to read, or what is left out."""


def suggest_reading(
    graphs: Graphs,
    embedder: Embedder,
    recently_read: RecentlyRead,
    owner: Owner,
    ranking: Ranking,
    *,
    limit: int,
    max_tokens: int,
    among: Set[str] | None = None,
) -> SuggestedReading:
    """Suggest what to read: the hits of a search, and the documents around them in the graph, or these of them.

    These are at most `limit` documents with at most `max_tokens` tokens together, unread ones first.
    """
    similar = graphs.similar(owner, [hit.chunk.document for hit in ranking.hits])
    graph = graphs.for_owner(owner)
    graph = graph if among is None else graph.among(among)
    candidates = reading_candidates(graph, ranking.hits, similar, CANDIDATES_PER_DOCUMENT * limit)
    passages = first_passages(graphs.index, owner, [one.document for one in candidates])

    def count(one: ReadingCandidate) -> int:
        """Estimate the tokens of a document from the tokens of its first passages."""
        document, texts = one.document, [passage.text for passage in passages[one.document.id]]
        if not texts:
            return max(1, document.bytes // 3)
        tokens = sum(embedder.count(texts))
        return max(1, tokens * max(document.chunks, 1) // min(document.chunks, FIRST_PASSAGES))

    chosen, too_long = reading_list(candidates, recently_read.hashes(owner), count, max_tokens)
    left_out = [*(f'"{one.document.title}"' for one in chosen[limit:]), *too_long]
    why = _what_is_left(left_out) if chosen else _why_nothing(ranking.reason)
    return SuggestedReading(tuple(chosen[:limit]), len(left_out), graphs.similarity(owner).compared_by, why)


def _what_is_left(names: Sequence[str]) -> str | None:
    if not names:
        return None
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"Left out: {', '.join(names[:NAMED])}{more}. Raise limit or max_tokens"


def _why_nothing(reason: str | None) -> str:
    if reason is None:
        return "Nothing near it fits: raise max_tokens"
    return reason if reason == EMPTY_LIBRARY else f"There is nothing to suggest: {reason[0].lower()}{reason[1:]}"


def reading_candidates(
    graph: Graph, hits: Sequence[Hit], similar: Mapping[str, Sequence[Link]], limit: int
) -> list[ReadingCandidate]:
    """Return the hits and the documents around them, best first. Of two equally good ones the newer comes first."""
    found = {hit.chunk.document: hit for hit in hits if hit.chunk.document in graph.documents}
    seeds = {id: hit.score + MINIMUM_SCORE for id, hit in found.items()}
    worth = pagerank(seeds, partial(_weighted_neighbours, graph, similar)) if seeds else {}
    best = max(seeds.values(), default=1.0)
    for rank, (id, score) in enumerate(seeds.items(), 1):  # else what many link to comes before what answers
        worth[id] += HIT_BONUS * score / best / rank
    newest = max((graph.documents[id].date or "" for id in worth), default="")
    for id in worth:
        worth[id] *= 1 + RECENT_BONUS * _freshness(graph.documents[id].date, newest)
    order = sorted(worth, key=lambda one: (-round(worth[one], 9), one))[:limit]
    return [ReadingCandidate(graph.documents[id], _reason(graph, found, similar, id), found.get(id)) for id in order]


def reading_list(
    candidates: Sequence[ReadingCandidate],
    read: Mapping[str, str],
    count: Callable[[ReadingCandidate], int],
    max_tokens: int,
) -> tuple[list[ReadingItem], list[str]]:
    """Choose documents that fit into the tokens, unread ones first; and name the ones that do not fit.

    `read` has the hash with which each document was read: a document that has changed since is unread. If a document is
    too long, its passage that answers is taken, if that fits.
    """
    chosen, too_long = list[ReadingItem](), list[str]()
    left = max_tokens
    is_read = {one.document.id: read.get(one.document.id) == one.document.sha256 for one in candidates}
    for one in sorted(candidates, key=lambda one: is_read[one.document.id]):
        tokens, lines = count(one), None
        if tokens > left and one.hit is not None:
            tokens = max(1, tokens * len(one.hit.chunk.text.encode()) // max(one.document.bytes, 1))
            lines = f"{one.hit.chunk.first_line}-{one.hit.chunk.last_line}"
        if tokens <= left:
            chosen.append(ReadingItem(one.document, one.reason, tokens, is_read[one.document.id], lines))
            left -= tokens
        else:
            too_long.append(f'"{one.document.title}" ({tokens:,} tokens)')
    return chosen, too_long


def pagerank(seeds: Mapping[str, float], neighbours_of: Callable[[str], Mapping[str, float]]) -> dict[str, float]:
    """Return how near documents are to the seeds: personalised PageRank, together at most 1, without far documents.

    This is the push algorithm of Andersen, Chung and Lang. It looks only at the part of the graph that random walks
    from the seeds reach.
    """
    whole = sum(seeds.values())
    waiting_amounts = {id: weight / whole for id, weight in seeds.items() if weight > 0}
    rank: dict[str, float] = {}
    queue = deque(waiting_amounts)
    while queue:
        id = queue.popleft()
        amount = waiting_amounts.pop(id, 0.0)
        neighbours = neighbours_of(id)
        stays = RESTART if neighbours else 1.0
        rank[id] = rank.get(id, 0.0) + stays * amount
        total = sum(neighbours.values())
        for other, weight in neighbours.items():
            before = waiting_amounts.get(other, 0.0)
            waiting_amounts[other] = before + (1 - stays) * amount * weight / total
            if before < NEGLIGIBLE <= waiting_amounts[other]:
                queue.append(other)
    return rank


def _weighted_neighbours(graph: Graph, similar: Mapping[str, Sequence[Link]], id: str) -> Mapping[str, float]:
    weights: dict[str, float] = {}
    for link in graph.outgoing.get(id, ()):
        weights[link.target] = weights.get(link.target, 0.0) + 1.0
    for link in graph.incoming.get(id, ()):
        weights[link.source] = weights.get(link.source, 0.0) + 1.0
    for link in similar.get(id, ()):
        if link.target in graph.documents:
            weights[link.target] = weights.get(link.target, 0.0) + SIMILAR_WEIGHT * (link.similarity or 0.0)
    return weights


def _freshness(day: str | None, newest: str) -> float:
    """Return 1 for the newest document, half of that for one that is a year older, 0 for one without a date."""
    try:
        days = (date.fromisoformat(newest) - date.fromisoformat(day or "")).days
    except ValueError:
        return 0.0
    return 0.5 ** (days / HALF_LIFE_DAYS)


def _reason(graph: Graph, hits: Mapping[str, Hit], similar: Mapping[str, Sequence[Link]], id: str) -> str:
    """Return the strongest reason to read the document: its own text, or its links to the hits.

    This is one sentence, without a full stop.
    """
    if hit := hits.get(id):
        return f"Answers the question: {' '.join((hit.context or hit.snippet).split())}"
    to_hits = [link for link in graph.outgoing.get(id, ()) if link.target in hits]
    from_hits = [link for link in graph.incoming.get(id, ()) if link.source in hits]

    def titles(ids: Sequence[str]) -> str:
        some = [*dict.fromkeys(ids)]
        named = ", ".join(f'"{graph.documents[one].title}"' for one in some[:NAMED])
        return f"{len(some)} of these: {named}" if len(some) > 1 else named

    for link in (*to_hits, *from_hits):
        is_to_hit = link.source == id
        if says := RELATION_REASONS.get((link.relation, is_to_hit)):
            if link.relation == "follows" and is_to_hit and kind_of(graph.documents[id]) == "debrief":
                says = "The debrief of {}"
            return says.format(titles([link.target if is_to_hit else link.source]))
    if from_hits:
        return f"Linked from {titles([link.source for link in from_hits])}"
    if to_hits:
        return f"Links to {titles([link.target for link in to_hits])}"
    alike = (link for links in similar.values() for link in links if link.target == id)
    if resembles := next(alike, None):
        return f"Resembles {titles([resembles.source])} ({resembles.similarity:.2f})"
    return "A few links away from what answers"
