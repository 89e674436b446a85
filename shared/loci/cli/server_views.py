"""A tool server as `loci tools` shows it: as text or as JSON."""

import time
from collections import Counter
from collections.abc import Mapping

from loci.cli.destination import OwnersTools
from loci.cli.terminal import printable
from loci.core.diagnosis import counted
from loci.gateway.configuration import ConfiguredServer, shown_entry
from loci.gateway.logins import LoginState
from loci.gateway.tool_list import listed_time
from loci.search.language_stage import remark

SHOWN_TOOLS = 8


def text(server: ConfiguredServer, login: LoginState | None, warnings: Mapping[str, str]) -> str:
    """The server as text: its tools, and what a person should know about them."""
    names = ", ".join(one.name for one in server.tools[:SHOWN_TOOLS])
    more = ", …" if len(server.tools) > SHOWN_TOOLS else ""
    known = "not asked yet" if server.is_new else f"{counted(len(server.tools), 'tool')}: {names}{more}"
    known = "turned off" if server.entry.disabled else server.failure or known
    lines = [f"{server.name}  {shown_entry(server.entry)}", f"  {known}"]
    kinds = Counter(one.kind for one in server.offers)
    if kinds and not server.entry.tools_only:
        lines.append(f"  {', '.join(counted(count, kind) for kind, count in kinds.items())}")
    lines += ["  Its views are passed on"] if server.entry.trust_views else []
    lines += [f"  Nobody can call {one.name}: its server describes it wrongly ({one.fault})" for one in server.unfit]
    if login is not None and login.is_for(server.entry.url):
        lines.append(f"  {login.describe(server.name, time.time())}")
    told = [f"  Take care of {one.name}: {warnings[one.id]}" for one in server.tools if one.id in warnings]
    lines += [*told[:SHOWN_TOOLS], *([f"  … and of {len(told) - SHOWN_TOOLS} more"] if told[SHOWN_TOOLS:] else [])]
    if any(one.seen for one in server.tools):
        lines.append(f"  See what has changed, and accept it: loci tools accept {server.name}")
    return "\n".join(map(printable, lines))


def view(opened: OwnersTools, server: ConfiguredServer, login: LoginState | None) -> dict[str, object]:
    """The server as JSON."""
    gateway, known = opened.tools.parts.gateway, opened.tools.known(opened.owner)
    names, warnings = gateway.names(known, [one.id for one in server.tools]), gateway.warnings(known)
    to_approve = {id for id, one in gateway.policies(known, with_own=False).items() if one.approval}
    return {
        "name": server.name,
        "server": shown_entry(server.entry),
        "tools": [
            {
                "name": one.id,
                "tool_id": names[one.id],
                "description": remark(one.description) or "",
                **({"needs_approval": True} if one.id in to_approve else {}),
                **({"warning": warnings[one.id]} if one.id in warnings else {}),
            }
            for one in server.tools
        ],
        "unfit": [{"name": one.id, "fault": one.fault} for one in server.unfit],
        "offers": dict(Counter(one.kind for one in server.offers)),
        "listed": listed_time(server),
        "failure": server.failure,
        "login": login.facts(time.time()) if login is not None and login.is_for(server.entry.url) else None,
    }
