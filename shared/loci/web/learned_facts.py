"""Capabilities as JSON, for the page of what was learned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from loci.core.json import JsonObject, iso
from loci.web.first_rows import FIRST, first_rows

if TYPE_CHECKING:
    from loci.tools.capabilities.capability import Capability, Version
    from loci.tools.capabilities.matching import FoundCapability

TOOLS_IN_LIST: Final = 3
MOST: Final = 200
"""Capabilities in one answer."""


def list_facts(known: "Sequence[Capability]", first: int = 0, most: int = MOST) -> JsonObject:
    """Some of the capabilities, from this one on, and how many there are: those that were used last come first."""
    newest = sorted(known, key=lambda one: (-one.best.used_at, one.id))
    return {"capabilities": [_row(one) for one in newest[first : first + most]], "total": len(newest)}


def first_facts(known: "Sequence[Capability]") -> JsonObject:
    """The same, as many as come with the page."""
    facts = list_facts(known, most=FIRST)
    return {**facts, "capabilities": first_rows(cast("list[JsonObject]", facts["capabilities"]))}


def capability_facts(found: "FoundCapability") -> JsonObject:
    """One capability with the code of a version, and what is known of all versions."""
    capability, shown = found.capability, found.version
    return {
        **_row(capability),
        "other_intents": [*capability.other_intents],
        "code": found.stored.code,
        "needs": [*found.stored.needs],
        "tools_used": [*shown.tools],
        "version": shown.number,
        "versions": [
            {
                "id": f"{capability.id}.{one.number}",
                "number": one.number,
                "is_offered": one.number == capability.best.number,
                "learned": iso(one.learned_at),
                **_counts(one),
            }
            for one in reversed(capability.versions)
        ],
    }


def _row(one: "Capability") -> JsonObject:
    return {
        "id": one.id,
        "intent": one.intent,
        "tools_used": [*one.best.tools[:TOOLS_IN_LIST]],
        "version_count": len(one.versions),
        **_counts(one.best),
    }


def _counts(one: "Version") -> JsonObject:
    return {
        "success_rate": round(one.success_rate, 3),
        "is_proven": one.is_proven,
        "worked": one.successes,
        "runs": one.successes + one.failures,
        "reuse_count": one.reuse_count,
        "used": iso(one.used_at),
    }
