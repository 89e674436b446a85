"""The policy: the tools that may be called, and the calls that a person must approve."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from loci.core.errors import Refused
from loci.core.json import JsonObject
from loci.gateway.configuration import ServerEntry
from loci.gateway.ports import BuiltInTool
from loci.gateway.tool_server import UpstreamTool

Approval = Literal["chosen", "destructive", "writes", "all"]
AnyTool = UpstreamTool | BuiltInTool
NO_PATTERNS = ServerEntry.model_validate({})
"""The entry that stands for Loci's own tools, which no patterns concern."""


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The policy for one tool."""

    denied: str | None
    """The reason why it may not be called; None if it may."""
    approval: str | None
    """The reason why a person must approve each call; None if no approval is needed."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's rules for all tools. The patterns of a server are in its entry."""

    read_only: bool = False
    approval: Approval = "chosen"

    def check(self, tool: AnyTool, entry: ServerEntry = NO_PATTERNS) -> None:
        """Raise `Refused` if the operator does not allow calls of this tool."""
        if denied := self.denied(tool, entry):
            raise Refused(denied, "Use another tool, or ask the operator", code="TOOL_DENIED")

    def denied(self, tool: AnyTool, entry: ServerEntry = NO_PATTERNS) -> str | None:
        """The reason why this tool may not be called; None if it may."""
        if entry.disabled:
            why = "its server is turned off"
        elif _fits(tool, entry.deny):
            why = "the operator denies it"
        elif entry.allow and not _fits(tool, entry.allow):
            why = "it is not among those that the operator allows"
        elif self.read_only and not reads(tool):
            why = "only tools that say that they change nothing may be called (tools_read_only)"
            why = f"{why}; {changed}" if (changed := _changed(tool)) else why
        else:
            return None
        return f"{tool.id} may not be called: {why}"

    def shows_views(self, entry: ServerEntry) -> bool:
        """True if the views of this server are passed on. Nobody would be asked about them if each call needs that."""
        return entry.trust_views and not (entry.tools_only or entry.disabled) and self.approval != "all"

    def for_tool(self, tool: AnyTool, entry: ServerEntry = NO_PATTERNS) -> ToolPolicy:
        """The policy for this tool, with the reasons in words."""
        return ToolPolicy(self.denied(tool, entry), self.approval_needed(tool, entry))

    def approval_needed(self, tool: AnyTool, entry: ServerEntry = NO_PATTERNS) -> str | None:
        """The reason why a person must approve each call of this tool; None if no approval is needed."""
        reason, changed = self._reason(tool, entry), _changed(tool)
        if reason and changed:
            return f"{reason}; {changed}"
        goes_by_hints = self.read_only or self.approval in ("destructive", "writes")
        return reason or (changed if goes_by_hints and not _word(tool) else None)

    def _reason(self, tool: AnyTool, entry: ServerEntry) -> str | None:
        if _fits(tool, entry.approve):
            return "the operator wants that a person approves each call of it"
        if self.approval == "all":
            return "a person approves each call (tools_approval)"
        if self.approval in ("destructive", "writes") and _word(tool) == "destructive":
            return "the operator says that it may destroy something"
        # By the protocol's own defaults: a tool that says nothing may change things, and may destroy some.
        if self.approval == "writes" and not reads(tool):
            return "it does not say that it changes nothing"
        if self.approval == "destructive" and not reads(tool) and hints(tool).get("destructiveHint") is not False:
            return "it does not say that it destroys nothing"
        return None


class ApprovalNeeded(Refused):
    """The refusal of a call that a person must approve."""

    default_code = "APPROVAL_NEEDED"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(f"A person must approve this call of {tool}: {reason}", "Ask them to approve it")
        self.reason = reason


def matches(tool: UpstreamTool, patterns: Sequence[str]) -> bool:
    """True if one of the patterns fits the tool's id."""
    return any(fnmatchcase(tool.id, one) for one in patterns)


def is_safe(tool: AnyTool) -> bool:
    """True if the tool says that a repetition changes nothing more."""
    return reads(tool) or hints(tool).get("idempotentHint") is True


def hints(tool: AnyTool) -> JsonObject:
    """The hints that count."""
    return tool.hints if isinstance(tool, UpstreamTool) else tool.annotations


def word_of(tool: UpstreamTool, entry: ServerEntry) -> Literal["reads", "destructive"] | None:
    """The operator's word about the tool, if they gave one."""
    if _fits(tool, entry.destructive):
        return "destructive"
    return "reads" if _fits(tool, entry.reads) else None


def _fits(tool: AnyTool, patterns: Sequence[str]) -> bool:
    """True if a pattern names the tool, with its server or without."""
    return any(fnmatchcase(name, one) for one in patterns for name in (tool.id, tool.id.partition(":")[2]))


def reads(tool: AnyTool) -> bool:
    return hints(tool).get("readOnlyHint") is True


def _word(tool: AnyTool) -> str | None:
    return tool.word if isinstance(tool, UpstreamTool) else None


def _changed(tool: AnyTool) -> str | None:
    """The reason to ask about a tool that its server has changed, or added later."""
    if not isinstance(tool, UpstreamTool) or tool.seen is None:
        return None
    what = "changed it since it was first seen" if tool.seen.version else "added it later"
    return f"its server {what}, and nobody has accepted that (loci tools accept {tool.server})"
