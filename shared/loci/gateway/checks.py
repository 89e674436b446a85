"""Checks of `loci doctor`: the tool servers as they listed their tools last, and the logins. No server is asked."""

import time
from typing import TYPE_CHECKING

from loci.core.diagnosis import Finding, counted, for_owners, run_checks
from loci.core.identity import LOCAL, Owner
from loci.gateway.api import Tools

if TYPE_CHECKING:
    from loci.app import App


NAME = "tool servers"


def check_tool_servers(app: "App") -> list[Finding]:
    """Check the servers of the person at this machine, and of every owner with an API key."""

    def check(owner: Owner) -> list[Finding]:
        found = run_checks(NAME, lambda: check_owner(app.tools, owner))
        return [one for one in found if owner == LOCAL or one.state != "ok"]

    return for_owners(NAME, app.api_keys.owners, check)


def check_owner(tools: Tools, owner: Owner) -> list[Finding]:
    """Check the servers of one owner."""
    servers, logins, now = tools.known(owner), tools.logins(owner), time.time()
    bad: list[Finding] = []
    for one in servers:
        if one.entry.disabled:
            continue
        login = logins.get(one.name)
        if login is not None and login.is_for(one.entry.url) and login.needs_person(now):
            bad.append(Finding(NAME, "warning", f"The login to {one.name} has ended", login.describe(one.name, now)))
        elif one.failure is not None:
            bad.append(Finding(NAME, "warning", one.failure, f"Ask it again with: loci tools test {one.name}"))
        elif one.unfit:
            first = f"{one.unfit[0].name} ({one.unfit[0].fault})"
            what = f"{one.name} describes {counted(len(one.unfit), 'tool')} wrongly: {first}"
            bad.append(Finding(NAME, "warning", what, "Its other tools work. Tell the people who make the server"))
        elif changed := sum(tool.seen is not None for tool in one.tools):
            what = f"{one.name} has changed {counted(changed, 'tool')} since they were first seen"
            bad.append(Finding(NAME, "warning", what, f"See how, and accept it with: loci tools accept {one.name}"))
    count = counted(sum(len(one.tools) for one in servers), "tool")
    what = f"{counted(len(servers), 'server')} with {count}" if servers else "None yet"
    return bad or [Finding(NAME, "ok", what)]
