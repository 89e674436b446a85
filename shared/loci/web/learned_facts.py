"""Capabilities as JSON, for the page of what was learned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from loci.core.json import JsonObject, iso

if TYPE_CHECKING:
    from loci.tools.capabilities.capability import Capability, Version
    from loci.tools.capabilities.matching import FoundCapability

TOOLS_IN_LIST: Final = 3


def list_facts(known: "Sequence[Capability]") -> JsonObject:
    """All capabilities, those that were used last first."""
    newest = sorted(known, key=lambda one: (-one.best.used_at, one.id))
    return {"capabilities": [_row(one) for one in newest]}


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
