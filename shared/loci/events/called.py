"""A call, as an event tells it."""

from loci.core.calls import Called
from loci.core.json import JsonObject
from loci.events.argument_sizes import argument_sizes


def call_fields(called: Called) -> JsonObject:
    """The fields of a call's event."""
    return {
        "tool": called.tool,
        "door": called.door,
        "outcome": called.outcome,
        "code": called.code,
        "ms": round(called.ms, 2),
        "asked": called.asked,
        "answered": called.answered,
        "arguments": argument_sizes(called.arguments),
    }
