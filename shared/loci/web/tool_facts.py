"""Tool servers, their tools, their calls, and learned code as JSON, for the page of tools."""

import time
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, iso
from loci.web.tool_words import tool_words

if TYPE_CHECKING:
    from loci.tools.api import Overview, Tools
    from loci.tools.capabilities.capability import Capability, Version
    from loci.tools.capabilities.matching import FoundCapability
    from loci.tools.configuration import Configured
    from loci.tools.policy import AnyTool

OWN: Final = "loci"
"""Stands for Loci's own tools where a server is named."""
CALLS: Final = 40
MOST_TOOLS: Final = 1_000
"""In one answer."""
TOOLS_IN_LIST: Final = 3
LONGEST_LINE: Final = 160
LONGEST_FAILURE: Final = 1_000
MOST_PATTERNS: Final = 50


def servers(tools: "Tools", owner: Owner) -> tuple[Iterable[JsonObject], int]:
    """The servers with their health as rows of a list, Loci itself as the first, and how many there are."""
    seen = tools.overview(owner)
    own: JsonObject = {"name": OWN, "server": "Loci itself", **_counts(seen, seen.own)}
    return chain([own], (_server(seen, one) for one in seen.servers)), len(seen.servers) + 1


def calls(tools: "Tools", owner: Owner) -> tuple[Iterable[JsonObject], int]:
    """The last calls as rows of a list, the newest first. They have neither arguments nor results."""
    found = tools.last_calls(owner, CALLS)
    rows: Iterable[JsonObject] = (
        {
            "id": f"{one.at}",
            "at": iso(one.at),
            "tool": one.tool,
            "door": one.door,
            "who": one.who,
            "outcome": one.outcome,
            "ms": round(one.ms),
        }
        for one in found
    )
    return rows, len(found)


def tools_facts(tools: "Tools", owner: Owner, server: str) -> JsonObject:
    """The tools of a server, or Loci's own. Raises `NotFound` if there is no such server."""
    seen = tools.overview(owner)
    found = seen.own if server == OWN else tools.get(owner, server).tools
    return {"tools": [_row(seen, one) for one in found[:MOST_TOOLS]], "total": len(found)}


def tool_facts(tools: "Tools", owner: Owner, spelling: str) -> JsonObject:
    """One tool with what it says about itself. Raises `LociError` if there is none."""
    tool, seen = tools.gateway.described(owner, spelling), tools.overview(owner)
    return {**_row(seen, tool), "says": tool_words(tools, owner, tool.id), "schema": tool.input_schema}


def _server(seen: "Overview", server: "Configured") -> JsonObject:
    from loci.tools.configuration import shown

    entry, login = server.entry, seen.logins.get(server.name)
    of_it = login if login is not None and login.is_for(entry.url) else None
    return {
        "name": server.name,
        "server": shown(entry),
        "failure": server.failure and server.failure[:LONGEST_FAILURE],
        "failed": None if server.failed_at is None else iso(server.failed_at),
        "listed": None if server.listed_at is None else iso(server.listed_at),
        "is_new": server.is_new,
        "login": of_it and of_it.told(server.name, time.time()),
        "allow": _texts(entry.allow),
        "deny": _texts(entry.deny),
        "approve": _texts(entry.approve),
        **_counts(seen, server.tools),
    }


def _texts(patterns: Sequence[str]) -> list[Json]:
    return [*patterns[:MOST_PATTERNS]]


def _counts(seen: "Overview", tools: "Sequence[AnyTool]") -> JsonObject:
    standing = [seen.standing[one.id] for one in tools if one.id in seen.standing]
    return {
        "tools": len(tools),
        "denied": sum(one.denied is not None for one in standing),
        "to_approve": sum(one.approval is not None and one.denied is None for one in standing),
        "warned": sum(one.id in seen.warnings for one in tools),
    }


def _row(seen: "Overview", tool: "AnyTool") -> JsonObject:
    standing = seen.standing.get(tool.id)
    line = " ".join(tool.description.split())
    return {
        "id": tool.id,
        "call": seen.names.get(tool.id, tool.id),
        "title": tool.title,
        "line": line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…",
        "denied": standing and standing.denied,
        "approval": standing and standing.approval,
        "warning": seen.warnings.get(tool.id),
    }


def capability_facts(found: "FoundCapability") -> JsonObject:
    """One capability with the code of a version, and what is known of all versions."""
    capability, shown = found.capability, found.version
    return {
        **capability_row(capability),
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
                **_runs_of(one),
            }
            for one in reversed(capability.versions)
        ],
    }


def capability_row(one: "Capability") -> JsonObject:
    """One capability as a row of a list."""
    return {
        "id": one.id,
        "intent": one.intent,
        "tools_used": [*one.best.tools[:TOOLS_IN_LIST]],
        "version_count": len(one.versions),
        **_runs_of(one.best),
    }


def _runs_of(one: "Version") -> JsonObject:
    return {
        "success_rate": round(one.success_rate, 3),
        "is_proven": one.is_proven,
        "worked": one.successes,
        "runs": one.successes + one.failures,
        "reuse_count": one.reuse_count,
        "used": iso(one.used_at),
    }
