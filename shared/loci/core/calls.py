"""Calls of tools: the end of each, whoever made it, passes here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from loci.core.identity import Caller
from loci.core.telemetry import Outcome, Telemetry

Door = Literal["mcp", "cli", "code", "workflow", "page"]
"""How a call came: by the protocol, by `loci call`, by code in a sandbox, as a task of a workflow, or from a page."""
HowAsked = Literal["here", "page", "wait"]
"""How a person is asked: by the door itself, on a page that the client shows, or wherever they look, while the call
waits."""
UNKNOWN = "unknown"
"""Stands for a name that no tool has: that is the caller's text."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call that has ended."""

    tool: str
    caller: Caller
    door: Door
    ms: float
    outcome: Outcome
    code: str
    """Of the error; empty if there was none."""
    asked: int
    """Characters of the arguments."""
    answered: int
    counted_as: str | None = None
    """The id under which its use is counted; None if it says nothing about which tools are used together."""
    is_upstream: bool = False
    """True: the tool is another server's."""
    arguments: Mapping[str, object] = field(default_factory=dict[str, object], repr=False, compare=False)
    """They may be secret: whoever tells of the call tells their sizes."""


class Calls:
    """Writes a line about each call to the log, and tells who counts."""

    def __init__(self, telemetry: Telemetry, count: Callable[[Called], None]) -> None:
        """`count` must not wait for anything: the call has not been answered yet."""
        self._telemetry = telemetry
        self._count = count

    def ended(self, called: Called) -> None:
        """The call has ended."""
        self._telemetry.call(
            tool=called.tool,
            door=called.door,
            owner=called.caller.owner.key,
            ms=called.ms,
            outcome=called.outcome,
            code=called.code,
            asked=called.asked,
            answered=called.answered,
        )
        self._count(called)
