"""Finds the capabilities that fit an intent, and capabilities related to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from loci.core.identity import Owner
from loci.gateway.call_history import Usage
from loci.gateway.capabilities.capability import HOPELESS, Capability, Version, intent_words
from loci.gateway.capabilities.capability_store import ID, CapabilityStore, StoredCode, no_capability
from loci.gateway.tool_embeddings import ToolEmbeddings
from loci.gateway.tool_words import KnownTool, query_terms
from loci.search.words import index_words, query_words

MOST_FOUND: Final = 5
MOST_SUGGESTED: Final = 3
LEAST_MATCH: Final = 0.15
SAME_INTENT: Final = 1.0
SAME_WORDS: Final = 0.97
MOST_ALIKE: Final = 0.95
MEANING: Final = 0.6
"""The weight of the meaning beside the words."""
SYNONYM, OF_A_TOOL = 0.5, 0.25
FITS_WELL: Final = 0.6
"""The least match of a capability that is suggested to a run of code."""
OFF_TOPIC: Final = tuple(
    KnownTool(text, "", "", {})
    for text in (
        "the weather in the mountains",
        "a recipe for vegetable soup",
        "the history of a castle",
        "how bees make honey",
        "a song about the sea",
    )
)
"""Texts that are about nothing that code does."""
LEAST_SURE: Final = 0.2
"""The least certainty that a tool is used after another, for a suggestion of what it does."""


@dataclass(frozen=True, slots=True)
class FoundCapability:
    """A capability that fits, with the code of the version that is offered."""

    capability: Capability
    version: Version
    stored: StoredCode
    match: float
    """The score of the match, from 0 to 1."""
    why: str | None = None
    """Why it is suggested."""


@dataclass(frozen=True, slots=True)
class FoundCapabilities:
    """The capabilities that fit an intent, the best first, and suggestions that are related to them."""

    capabilities: tuple[FoundCapability, ...]
    suggestions: tuple[FoundCapability, ...]
    searched: int


@dataclass(frozen=True, slots=True)
class CapabilityMatch:
    """A capability, and how well it fits an intent."""

    capability: Capability
    match: float


class CapabilitySearch:
    """Searches capabilities by the words and the meaning of their intents, and by their tools."""

    def __init__(self, store: CapabilityStore, embeddings: ToolEmbeddings, usage: Usage) -> None:
        self._store = store
        self._embeddings = embeddings
        self._usage = usage

    def find(self, owner: Owner, intent: str, *, suggestions: bool) -> FoundCapabilities:
        """The capabilities that fit; an id instead of an intent finds that one, or that version of it."""
        if ID.fullmatch(intent.strip()):
            return FoundCapabilities((self.by_id(owner, intent),), (), 1)
        known = self._store.all(owner)
        shown = self.matches(owner, intent, known)
        # Proven ones first; beyond that the better match, then the surer code.
        shown.sort(key=lambda one: (not one.capability.best.is_proven, -round(one.match, 3), *_order(one.capability)))
        first = shown[:MOST_FOUND]
        related = self._related(owner, known, [one.capability for one in first]) if suggestions else []
        scores = {one.capability.id: one.match for one in shown}
        codes = self.codes(owner, [*(one.capability for one in first), *(one for one, _ in related)])
        found = [
            FoundCapability(one.capability, one.capability.best, codes[one.capability.id], one.match)
            for one in first
            if one.capability.id in codes
        ]
        more = [
            FoundCapability(one, one.best, codes[one.id], scores.get(one.id, 0.0), why)
            for one, why in related
            if one.id in codes
        ]
        return FoundCapabilities(tuple(found), tuple(more), len(known))

    def best_match(self, owner: Owner, intent: str) -> CapabilityMatch | None:
        """The proven capability that fits best, if it fits well."""
        known = [one for one in self._store.all(owner) if one.best.is_proven]
        found = [one for one in self.matches(owner, intent, known) if one.match >= FITS_WELL]
        return min(found, key=lambda one: (-round(one.match, 3), *_order(one.capability)), default=None)

    def prepare(self, owner: Owner) -> None:
        """Embed the intents that have no vector yet."""
        self._embeddings.make(owner, [*map(_as_tool, self._store.all(owner)), *OFF_TOPIC])

    def matches(self, owner: Owner, intent: str, known: Sequence[Capability]) -> list[CapabilityMatch]:
        """The capabilities that fit at all and work often enough, with scores that do not depend on each other."""
        some = {one.id: one for one in known if one.best.success_rate >= HOPELESS}
        if not some:
            return []
        tools = {id: _as_tool(one) for id, one in some.items()}
        near = _beyond_chance(self._embeddings.similarities(owner, intent, [*tools.values(), *OFF_TOPIC]).cosines)
        found = [CapabilityMatch(one, _score(intent, one, near.get(tools[id].id, 0.0))) for id, one in some.items()]
        return [one for one in found if one.match >= LEAST_MATCH]

    def by_id(self, owner: Owner, id: str) -> FoundCapability:
        """The capability with this id, or the version that the id names. Raises `NotFound`."""
        found = self._store.get(owner, id)
        number = id.strip().partition(".")[2]
        version = found.best
        if number:
            version = next((one for one in found.versions if str(one.number) == number), None)
        stored = None if version is None else self._store.codes(owner, [version.identity]).get(version.identity)
        if version is None or stored is None:
            raise no_capability(id)
        return FoundCapability(found, version, stored, SAME_INTENT)

    def codes(self, owner: Owner, known: Sequence[Capability]) -> dict[str, StoredCode]:
        """The code that is offered, by the id of its capability. A damaged record hides its own capability only."""
        codes = self._store.codes(owner, [one.best.identity for one in known])
        return {one.id: codes[one.best.identity] for one in known if one.best.identity in codes}

    def _related(
        self, owner: Owner, known: Sequence[Capability], found: Sequence[Capability]
    ) -> list[tuple[Capability, str]]:
        """Proven capabilities that share tools with those found, or whose tools are used after theirs."""
        here = {one.id for one in found}
        tools = list(dict.fromkeys(tool for one in found for tool in one.best.tools))
        sure = self._usage.related(owner, tools)
        after = {one: value for one, value in sure.items() if value >= LEAST_SURE and one not in tools}
        ranked: list[tuple[float, Capability, str]] = []
        for one in known:
            if one.id in here or not one.best.is_proven:
                continue
            shared = [tool for tool in one.best.tools if tool in tools]
            next_ones = [tool for tool in one.best.tools if tool in after]
            if shared:
                ranked.append((1 + len(shared) / len(one.best.tools), one, f"uses {', '.join(shared[:3])} too"))
            elif next_ones:
                surest = max(next_ones, key=lambda tool: (after[tool], tool))
                ranked.append((after[surest], one, f"{surest} is often used after the tools of those found"))
        ranked.sort(key=lambda one: (-one[0], *_order(one[1])))
        return [(one, why) for _, one, why in ranked[:MOST_SUGGESTED]]


def _as_tool(capability: Capability) -> KnownTool:
    """The capability as a search for tools sees it: the intent is the name, its tools are the description."""
    others = " ".join((*capability.other_intents, *capability.best.tools))
    return KnownTool(capability.intent.replace(":", " ") or capability.id, "", others.replace(":", " "), {})


def _beyond_chance(near: Mapping[str, float]) -> dict[str, float]:
    """Rescale the cosines so that 0 is the cosine of unrelated texts, which differs from model to model."""
    chance = max(0.0, median([near[one.id] for one in OFF_TOPIC if one.id in near] or [0.0]))
    return {id: max(0.0, (cosine - chance) / (1 - chance)) if chance < 1 else 0.0 for id, cosine in near.items()}


def _score(intent: str, one: Capability, meaning: float) -> float:
    """The score from 0 to 1: 1 for the same intent; else by shared words and by nearness in meaning."""
    words = max(_shared_words(intent, known, one.best.tools) for known in (one.intent, *one.other_intents))
    both = max(meaning, MEANING * meaning + (1 - MEANING) * words) if meaning > 0 else words
    return max(_same(intent, one), MOST_ALIKE * min(1.0, both))


def _shared_words(intent: str, known: str, tools: Sequence[str]) -> float:
    """The share of common words. A synonym counts half, a word in the name of a tool a quarter."""
    asked, has, of_tools = query_terms(intent), set(query_words(known)), set(index_words(" ".join(tools)))
    gains = [
        1.0 if word in has else SYNONYM if not has.isdisjoint(others) else OF_A_TOOL if word in of_tools else 0.0
        for word, others in asked.items()
    ]
    return 2 * sum(gains) / (len(asked) + len(has)) if asked else 0.0


def _same(intent: str, one: Capability) -> float:
    """1 for the very intent, a little less for its words in another order; else 0."""
    known = (one.intent, *one.other_intents)
    words = [*intent_words(intent)]
    if words and any([*intent_words(other)] == words for other in known):
        return SAME_INTENT
    stems = set(query_words(intent))
    return SAME_WORDS if stems and any(set(query_words(other)) == stems for other in known) else 0.0


def _order(capability: Capability) -> tuple[float, int, str]:
    return -capability.best.success_rate, -capability.best.reuse_count, capability.id
