"""Finds tools for a request: by words in their fields, by meaning, by use, and by exact names first."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from loci.core.identity import Owner
from loci.gateway.call_history import Usage
from loci.gateway.configuration import ConfiguredServer
from loci.gateway.shapes import Shape
from loci.gateway.tool_embeddings import ToolEmbeddings
from loci.gateway.tool_list import tools_of
from loci.gateway.tool_words import KnownOffer, KnownTool, fields_of, plain_name, query_terms, spellings

__all__ = ["FoundTool", "KnownTool", "ToolIndex"]

WEIGHTS: Final = {"server": 1.0, "name": 3.0, "title": 2.0, "description": 1.0, "parameters": 0.5}
"""The weight of a word in each field."""
EVENNESS: Final = {"server": 0.0, "name": 0.5, "title": 0.5, "description": 0.6, "parameters": 0.75}
"""The penalty for a field that is longer than others (`b` in BM25)."""
SATURATION: Final = 1.2
SYNONYM: Final = 0.5
"""The weight of a word of about the same meaning."""
ALPHA: Final = 0.6
"""The weight of the meaning."""
NAMED: Final = {"its id": 1.0, "its name": 0.98, "its title": 0.97}
"""The scores of the tools that the request names."""
MOST_COVERED: Final = 0.7
MOST_RARE: Final = 1.2
"""The share of the request that a tool must have, or this much of its rare words, as a long request has more words than
any tool. If none has it, words weigh less: they miss the topic."""
UNNAMED: Final = 0.95
"""The best score of any other."""
LEAST_MEANING: Final = 0.15
"""A tool that has none of the words and is less near than this does not fit."""
DOUBT_WORDS: Final = 0.15
DOUBT_RARE: Final = 0.8
DOUBT_MEANING: Final = 0.28
"""The scores below which probably no tool fits. A long request has most of its words in no tool, but if a tool has rare
ones of them, it may fit."""
MOST_REASONS: Final = 4
MOST_BOOST: Final = 0.1
"""The most that a tool's score can gain by the tools that were used before it."""
MOST_RELATED: Final = 3


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool that fits, and why."""

    tool: KnownTool
    score: float
    """The score of the tool, from 0 to 1."""
    why: str
    words: float = 0.0
    """The share of the request's words that it has, the rare ones counting more."""
    rare: float = 0.0
    """The same as a number of words: 1 is a word that one tool has and no other."""
    meaning: float = 0.0
    """The cosine of the request to it; 0 without a model."""
    name: float = 0.0
    """1 if the request is its id, a little less if it is its name or title; else 0."""


def nothing_fits(found: Sequence[FoundTool]) -> bool:
    """True if probably none of these tools fits. Show them all the same: sometimes one does."""
    return not any(
        one.name or one.words >= DOUBT_WORDS or one.rare >= DOUBT_RARE or one.meaning >= DOUBT_MEANING for one in found
    )


class ToolIndex:
    """The words of some tools."""

    def __init__(self, tools: Sequence[KnownTool]) -> None:
        self._tools = tuple(tools)
        cut = [fields_of(tool) for tool in self._tools]
        means = {name: sum(len(one[name]) for one in cut) / max(1, len(cut)) or 1.0 for name in WEIGHTS}
        self._postings: dict[str, dict[int, float]] = {}
        """The tools that have a word, with its weight there from 0 to 1, by word."""
        self._names: dict[str, list[tuple[int, str]]] = {}
        for number, (tool, fields) in enumerate(zip(self._tools, cut, strict=True)):
            sums: dict[str, float] = {}
            for name, words in fields.items():
                even = EVENNESS[name]
                share = WEIGHTS[name] / (1 - even + even * len(words) / means[name])
                for word, count in Counter(words).items():
                    sums[word] = sums.get(word, 0.0) + share * count
            for word, much in sums.items():
                self._postings.setdefault(word, {})[number] = much / (much + SATURATION)
            for name, kind in ((tool.title, "its title"), (tool.name, "its name"), (tool.id, "its id")):
                if plain := plain_name(name):
                    self._names.setdefault(plain, []).append((number, kind))

    def find(
        self,
        query: str,
        limit: int,
        near: Mapping[str, float] | None = None,
        boost: Mapping[str, float] | None = None,
    ) -> list[FoundTool]:
        """The tools that fit, the best first; none if nothing fits.

        `near`: how near the request is to tools in meaning. `boost` adds to the scores of tools. Both by id.
        """
        asked = query_terms(query)
        words, most = self._by_words(asked)
        meaning = {number: near[tool.id] for number, tool in enumerate(self._tools) if near and tool.id in near}
        named = dict(self._names.get(plain_name(query), ()))
        unique = self._rarity(1)
        scores = self._fused(words, meaning, boost or {}, MOST_RARE * unique / (most or 1.0)) | {
            number: NAMED[kind] for number, kind in named.items()
        }
        ranked = sorted(scores, key=lambda one: (one not in named, -scores[one], self._tools[one].id))[:limit]
        return [
            FoundTool(
                self._tools[one],
                scores[one],
                _why(self._tools[one], query, asked, named.get(one), meaning.get(one, 0.0)),
                words.get(one, 0.0),
                words.get(one, 0.0) * most / unique,
                meaning.get(one, 0.0),
                NAMED[named[one]] if one in named else 0.0,
            )
            for one in ranked
        ]

    def _fused(
        self, words: Mapping[int, float], meaning: Mapping[int, float], boost: Mapping[str, float], enough: float
    ) -> dict[int, float]:
        """The scores of the tools that have a word or are near.

        The best has the better of the two legs as its score, so that all have low ones if nothing fits well.
        `enough`: the share of the request that suffices, because its words are rare.
        """
        best_word, best_near = max(words.values(), default=0.0), max(meaning.values(), default=0.0)
        most_words = max(best_word, min(MOST_COVERED, enough) if meaning else 0.0)
        near = {number for number, value in meaning.items() if value >= LEAST_MEANING}

        def joint_score(number: int) -> float:
            by_words = words[number] / most_words if number in words else 0.0
            if number not in meaning:  # it may not be embedded yet
                return by_words
            return ALPHA * max(0.0, meaning[number]) / max(best_near, LEAST_MEANING) + (1 - ALPHA) * by_words

        joint = {one: joint_score(one) + boost.get(self._tools[one].id, 0.0) for one in words.keys() | near}
        scale = UNNAMED * min(1.0, max(best_word, best_near)) / (max(joint.values(), default=0.0) or 1.0)
        return {number: scale * value for number, value in joint.items()}

    def _by_words(self, asked: Mapping[str, Sequence[str]]) -> tuple[dict[int, float], float]:
        """The share of the request's words that each tool has, weighted by rarity and by field; the rarity of all."""
        scores, most = dict[int, float](), 0.0
        for word, others in asked.items():
            having = self._postings.get(word, {})
            rarity = self._rarity(len(having))
            most += rarity
            gains = {number: rarity * much for number, much in having.items()}
            for other in others:
                also = self._postings.get(other, {})
                worth = SYNONYM * min(rarity, self._rarity(len(also)))
                for number, much in also.items():
                    if worth * much > gains.get(number, 0.0):
                        gains[number] = worth * much
            for number, gain in gains.items():
                scores[number] = scores.get(number, 0.0) + gain
        return {number: score / most for number, score in scores.items()} if most else {}, most

    def _rarity(self, having: int) -> float:
        return math.log(1 + (len(self._tools) - having + 0.5) / (having + 0.5))


def _why(tool: KnownTool, query: str, asked: Mapping[str, Sequence[str]], named: str | None, meaning: float) -> str:
    """A short sentence on what of the request is where in the tool."""
    if named:
        return f"the request is {named}"
    fields, spelled, reasons = fields_of(tool), spellings(query), list[str]()
    for word, others in asked.items():
        for one in (word, *others):
            where = [name for name, words in fields.items() if one in words]
            if where:
                also = "" if one == word else f" for {spelled.get(word, word)}"
                reasons.append(f"{spelled.get(one, one)}{also} ({', '.join(where)})")
                break
    told = [f"has {'; '.join(reasons[:MOST_REASONS])}"] if reasons else []
    return " and ".join([*told, *([f"is near in meaning ({meaning:.2f})"] if meaning >= LEAST_MEANING else [])])


@dataclass(frozen=True, slots=True)
class FoundTools:
    """The tools that fit, the best first, then tools that are used after them."""

    tools: tuple[FoundTool, ...]
    related: frozenset[str]
    """The ids of the tools that are listed because they are used after the others."""
    searched: int
    unknown: tuple[str, ...]
    """Servers that have not listed their tools yet."""
    failed: tuple[str, ...]
    """Servers that failed when they were asked last."""
    to_approve: frozenset[str] = frozenset()
    """The ids of the tools whose calls a person must approve."""
    warnings: Mapping[str, str] = field(default_factory=dict[str, str])
    """The words of caution about tools that need them, by the id of the tool."""
    shapes: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    """The shapes of results, by the ids of tools, as far as they are known."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names to call the tools by, by id: spellings that every client accepts, unless several tools share one."""
    offers: tuple[tuple[FoundTool, KnownOffer], ...] = ()
    """The prompts and resources that fit, the best first."""
    missing: int = 0
    """The number of tools that are not embedded yet: words alone find them."""


class ToolSearch:
    """Keeps the index of the tools that were searched last: they change seldom."""

    def __init__(self, usage: Usage, embeddings: ToolEmbeddings) -> None:
        self._usage = usage
        self._embeddings = embeddings
        self._last: tuple[tuple[KnownTool, ...], ToolIndex] | None = None

    def find(
        self,
        owner: Owner,
        query: str,
        servers: Sequence[ConfiguredServer],
        own: Sequence[KnownTool],
        *,
        limit: int,
        related: bool,
        context: Sequence[str],
        leave_out: frozenset[str] = frozenset(),
    ) -> FoundTools:
        """The tools that fit the query, without those with the ids in `leave_out`."""
        known = (
            *own,
            *(KnownTool(one.id, one.title or "", one.description, one.input_schema) for _, one in tools_of(servers)),
        )
        last = self._last
        known, index = last if last is not None and last[0] == known else (known, ToolIndex(known))
        self._last = known, index
        after = self._usage.related(owner, context) if context else {}
        boost = {one: MOST_BOOST * sure for one, sure in after.items()}
        near = self._embeddings.similarities(owner, query, known)
        # They stay in the index: it is made anew whenever its tools change.
        ranked = index.find(query, limit + len(leave_out), near.cosines, boost)
        found = [one for one in ranked if one.tool.id not in leave_out][:limit]
        more = self._related(owner, [one for one in known if one.id not in leave_out], found) if related else []
        return FoundTools(
            (*found, *more),
            frozenset(one.tool.id for one in more),
            len(known),
            tuple(one.name for one in servers if one.is_new),
            tuple(one.name for one in servers if one.failure),
            missing=near.missing,
        )

    def _related(self, owner: Owner, known: Sequence[KnownTool], found: Sequence[FoundTool]) -> list[FoundTool]:
        """The tools that are used after those found, and were not found themselves."""
        here = {one.tool.id for one in found}
        sure = self._usage.related(owner, here)
        tools = {one.id: one for one in known if one.id in sure and one.id not in here}
        first = sorted(tools, key=lambda one: (-sure[one], one))[:MOST_RELATED]
        return [FoundTool(tools[one], sure[one], "it is used after those found") for one in first]
