"""Tool servers, their tools and their calls as JSON, for the page of tools."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, iso
from loci.web.first_rows import LARGEST_LIST, first_rows
from loci.web.tool_words import tool_words

if TYPE_CHECKING:
    from loci.tools.api import Overview, Tools
    from loci.tools.configuration import Configured
    from loci.tools.policy import AnyTool

OWN: Final = "loci"
"""Stands for Loci's own tools where a server is named."""
CALLS: Final = 40
MOST_TOOLS: Final = 1_000
"""In one answer."""
MOST_SERVERS: Final = 1_000
LONGEST_LINE: Final = 160
LONGEST_FAILURE: Final = 1_000
MOST_PATTERNS: Final = 50


def servers_facts(tools: "Tools", owner: Owner, room: int = LARGEST_LIST) -> JsonObject:
    """The servers with their health, as many as there is room for, how many there are, and the last calls."""
    seen = tools.overview(owner)
    own: JsonObject = {
        "name": OWN,
        "server": "Loci itself",
        "failure": None,
        "failed": None,
        "listed": None,
        "login": None,
        "is_new": False,
        "allow": [],
        "deny": [],
        "approve": [],
        **_counts(seen, seen.own),
    }
    first = first_rows((_server(seen, one) for one in seen.servers), MOST_SERVERS, room)
    return {"servers": [*first, own], "total": len(seen.servers), **calls_facts(tools, owner)}


def calls_facts(tools: "Tools", owner: Owner) -> JsonObject:
    """The last calls, the newest first. They have neither arguments nor results."""
    return {
        "calls": [
            {
                "at": iso(one.at),
                "tool": one.tool,
                "door": one.door,
                "who": one.who,
                "outcome": one.outcome,
                "ms": round(one.ms),
            }
            for one in tools.last_calls(owner, CALLS)
        ]
    }


def tools_facts(tools: "Tools", owner: Owner, server: str) -> JsonObject:
    """The tools of a server, or Loci's own. Raises `NotFound` if there is no such server."""
    seen = tools.overview(owner)
    found = seen.own if server == OWN else tools.get(owner, server).tools
    return {"tools": [_row(seen, one) for one in found[:MOST_TOOLS]], "total": len(found)}


def tool_facts(tools: "Tools", owner: Owner, spelling: str) -> JsonObject:
    """One tool with its schema, and what it says about itself. Raises `LociError` if there is none."""
    tool, seen = tools.described(owner, spelling), tools.overview(owner)
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
