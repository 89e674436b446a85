"""A capability: code that worked for an intent, in its versions, with how often each worked."""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar, cast

from loci.core.ids import content_id
from loci.core.json import LAST_SECOND, JsonObject, string
from loci.core.secrets_in_text import without_secrets
from loci.core.stores import Record

N = TypeVar("N", int, float)

LONGEST_INTENT: Final = 300
PROVEN: Final = 0.35
"""The least success rate of code that is offered as proven: one success of one is 0.5, one of two is 0.21."""
HOPELESS: Final = 0.1
"""Code whose success rate is below this is not shown."""
HALF_LIFE: Final = 90 * 24 * 3600.0
SURENESS: Final = 1.0
"""Standard deviations that the success rate lies below the share of runs that worked (Wilson's lower bound)."""
MOST_COUNTED: Final = 10**9
MOST_TOOLS: Final = 20
MOST_OTHER_INTENTS: Final = 4


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a capability's code, with its counts of successes and failures."""

    number: int
    identity: str
    tools: tuple[str, ...]
    successes: int
    failures: int
    learned_at: float
    used_at: float
    foreign: bool = False
    """True: its session had read texts of others by then, or nobody noted it."""

    @property
    def success_rate(self) -> float:
        """A lower bound: it grows with each success, and falls with each failure."""
        return lower_bound(self.successes, self.failures)

    @property
    def reuse_count(self) -> int:
        """The successes after the first."""
        return max(0, self.successes - 1)

    @property
    def is_proven(self) -> bool:
        """True if it worked often enough to be offered."""
        return self.success_rate >= PROVEN

    def usefulness(self, now: float) -> float:
        """The value of keeping this version, which decides what is deleted first."""
        return self.success_rate * (1 + self.reuse_count) * 0.5 ** (max(0.0, now - self.used_at) / HALF_LIFE)


@dataclass(frozen=True, slots=True)
class Capability:
    """An intent, and the known versions of the code for it."""

    id: str
    intent: str
    other_intents: tuple[str, ...]
    """The other intents for which its code was run."""
    versions: tuple[Version, ...]
    """The versions in the order in which they were learned."""
    versions_made: int
    """The number of versions ever made, including deleted ones."""

    @property
    def best(self) -> Version:
        """The version that is offered: the surest, of two the newer."""
        return max(self.versions, key=lambda one: (one.success_rate, one.number))

    def as_json(self) -> JsonObject:
        """The record of the capability."""
        versions = [asdict(one) | {"tools": [*one.tools]} for one in self.versions]
        return cast(
            "JsonObject",
            {
                "intent": self.intent,
                "other_intents": [*self.other_intents],
                "versions": versions,
                "versions_made": self.versions_made,
            },
        )


def capability_of(record: Record) -> Capability:
    """The capability that the record holds."""
    value = cast("dict[str, Any]", record.value)
    versions = tuple(_version(one) for one in value["versions"])
    if not versions:
        raise ValueError("a capability has a version")
    others = tuple(string(one) for one in value["other_intents"])
    return Capability(record.key, string(value["intent"]), others, versions, int(value["versions_made"]))


def _version(value: dict[str, Any]) -> Version:
    return Version(
        _within(int(value["number"]), MOST_COUNTED),
        string(value["identity"]),
        tuple(string(one) for one in value["tools"]),
        _within(int(value["successes"]), MOST_COUNTED),
        _within(int(value["failures"]), MOST_COUNTED),
        _within(float(value["learned_at"]), LAST_SECOND),
        _within(float(value["used_at"]), LAST_SECOND),
        value.get("foreign") is not False,
    )


def _within(number: N, most: float) -> N:
    """The number, if it can be one of a record that Loci wrote. Raises `ValueError`."""
    if not 0 <= number <= most:
        raise ValueError(number)
    return number


def lower_bound(successes: int, failures: int) -> float:
    """Wilson's lower bound of the chance that the next run works; 0 without a success."""
    runs = successes + failures
    if not successes:
        return 0.0
    share, square = successes / runs, SURENESS**2
    spread = SURENESS * math.sqrt(share * (1 - share) / runs + square / (4 * runs * runs))
    return max(0.0, (share + square / (2 * runs) - spread) / (1 + square / runs))


def plain_intent(text: str) -> str:
    """The intent as it is stored: one line, without control characters and secrets; empty if nothing is left."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text[: 10 * LONGEST_INTENT]).split())
    return without_secrets(line)[:LONGEST_INTENT].strip()


def intent_words(intent: str) -> Sequence[str]:
    """The words of an intent, without case and signs."""
    folded = unicodedata.normalize("NFKC", intent).casefold()
    return re.findall(r"[^\W_]+", folded) or folded.split()


def capability_id(intent: str) -> str:
    """The id of the capability for the intent: the same for the same words."""
    return f"cap_{content_id(*intent_words(intent))}"
