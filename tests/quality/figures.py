"""The figures of a set, in the way in which others publish theirs, as a line of the table."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import astuple, dataclass

HEADER = """\
| set | search | documents | questions | R@1 | R@5 | R@10 | MRR | nDCG@10 | evidence held | own refused \
| foreign refused | tokens | ms |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


@dataclass(frozen=True, slots=True)
class Ranks:
    """How high the right ones stand, as means over the questions."""

    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    reciprocal: float
    """One by the rank of the first right one."""
    gain: float
    """nDCG@10, where every right one counts the same."""

    @classmethod
    def of(cls, asked: Sequence[tuple[frozenset[str], Sequence[str]]]) -> "Ranks":
        """Take the right ones of each question, and those that were found, best first."""
        at_1, at_5, at_10 = (
            statistics.mean(len(right & {*found[:most]}) / len(right) for right, found in asked) for most in (1, 5, 10)
        )
        firsts = [next((at for at, id in enumerate(found, 1) if id in right), math.inf) for right, found in asked]
        gain = statistics.mean(_gain_at_10(right, found) for right, found in asked)
        return cls(at_1, at_5, at_10, statistics.mean(1 / first for first in firsts), gain)

    def difference(self, other: "Ranks") -> float:
        return max(abs(here - there) for here, there in zip(astuple(self), astuple(other), strict=True))


@dataclass(frozen=True, slots=True)
class Figures:
    """One set, asked through one door. None: the set does not say, or nobody asked."""

    questions: int
    ranks: Ranks
    evidence: float | None = None
    """Questions for which a passage is shown that has a text that answers, whole."""
    own: float | None = None
    foreign: float | None = None
    """Questions that are refused: of the set's own, and of the other half of the set."""
    tokens: float | None = None
    """Of the text of an answer: the middle."""
    most_tokens: int = 0
    ms: float | None = None
    """For an answer: the middle."""

    def row(self, name: str, search: str, documents: int) -> str:
        shares = [*astuple(self.ranks), self.evidence, self.own, self.foreign]
        cells = [name, search, f"{documents:,}", f"{self.questions:,}"]
        cells += ["" if one is None else f"{one:.3f}" for one in shares]
        cells += ["" if one is None else f"{one:.0f}" for one in (self.tokens, self.ms)]
        return f"| {' | '.join(cells)} |"


def mean(values: Sequence[bool]) -> float | None:
    return statistics.mean(values) if values else None


def _gain_at_10(right: frozenset[str], found: Sequence[str]) -> float:
    gain = sum(1 / math.log2(at + 2) for at, id in enumerate(found[:10]) if id in right)
    return gain / sum(1 / math.log2(at + 2) for at in range(min(10, len(right))))
