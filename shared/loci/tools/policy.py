"""Which upstream tools may be called."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from loci.core.errors import Refused
from loci.tools.configuration import Entry
from loci.tools.tool_server import UpstreamTool


def check(tool: UpstreamTool, entry: Entry, *, read_only: bool) -> None:
    """Raise `Refused` if the operator does not allow calls of this tool."""
    if _fits(tool, entry.deny):
        raise _denied(tool, "the operator denies it")
    if entry.allow and not _fits(tool, entry.allow):
        raise _denied(tool, "it is not among those that the operator allows")
    if read_only and tool.annotations.get("readOnlyHint") is not True:
        raise _denied(tool, "only tools that say that they change nothing may be called (tools_read_only)")


def _fits(tool: UpstreamTool, patterns: Sequence[str]) -> bool:
    """Patterns name the tool with its server or without."""
    return any(fnmatchcase(name, one) for one in patterns for name in (tool.name, tool.id))


def _denied(tool: UpstreamTool, why: str) -> Refused:
    return Refused(f"{tool.id} may not be called: {why}", "Use another tool, or ask the operator", code="TOOL_DENIED")
