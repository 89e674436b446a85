"""A tool's words about itself, for a person who decides about a call. Its server wrote them: they may be untrue."""

from typing import TYPE_CHECKING, Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.seen import seen

if TYPE_CHECKING:
    from loci.tools.api import Tools

LONGEST: Final = 4000
HINTS: Final = {
    ("readOnlyHint", True): "It only reads",
    ("readOnlyHint", False): "It changes something",
    ("destructiveHint", True): "It may destroy something",
    ("destructiveHint", False): "It destroys nothing",
    ("idempotentHint", True): "A repetition changes nothing more",
    ("idempotentHint", False): "Each repetition changes something again",
    ("openWorldHint", True): "It reaches the world outside",
    ("openWorldHint", False): "It stays in its own world",
}


def tool_words(tools: "Tools", owner: Owner, tool: str) -> JsonObject | None:
    """The title, description, hints and change of a tool; None if nobody knows the tool any more."""
    from loci.tools.policy import hints as hints_of
    from loci.tools.tool_changes import change_of
    from loci.tools.tool_server import UpstreamTool

    try:
        known = tools.gateway.described(owner, tool)
    except LociError:
        return None
    said = hints_of(known)
    hints: list[Json] = [text for (name, value), text in HINTS.items() if said.get(name) is value]
    title = known.title and seen(known.title)
    changed = change_of(known) if isinstance(known, UpstreamTool) and known.seen else None
    change: JsonObject | None = changed and {"difference": changed.difference, "version": changed.version}
    return {"title": title, "description": seen(known.description[:LONGEST]), "hints": hints, "change": change}
