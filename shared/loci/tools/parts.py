"""The parts of the tools vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from loci.core.calls import Calls
from loci.core.secret_box import SecretBox
from loci.core.settings import Settings
from loci.core.stores import RecordStore
from loci.search.inference import Embedder
from loci.tools.api import ToolParts
from loci.tools.call_log import CallLog
from loci.tools.capabilities.learning import Learning
from loci.tools.capabilities.matching import Matching
from loci.tools.capabilities.shelf import Shelf
from loci.tools.discovery import Discovery
from loci.tools.gateway import Gateway
from loci.tools.later import Later
from loci.tools.logins import Logins
from loci.tools.meanings import Meanings
from loci.tools.policy import Policy
from loci.tools.ports import AskLater, AuthorizationServers, Changed, OwnTools, ServerConnections, ToolServers
from loci.tools.reaching import ReachedServers, Reaching
from loci.tools.secrets import Secrets
from loci.tools.tool_list import ToolList
from loci.tools.usage import Usage

MakeConnections = Callable[[Changed], ServerConnections]
"""Makes the connections, which tell whoever is given here that a server's tools changed."""


@dataclass(frozen=True, slots=True)
class ServersElsewhere:
    """Tool servers that another process reaches."""

    servers: ToolServers
    ask_later: AskLater
    authorization: AuthorizationServers


@dataclass(frozen=True, slots=True)
class ToolAdapters:
    """The ports on one runtime."""

    box: SecretBox
    servers: MakeConnections | ServersElsewhere
    variable: Callable[[str], str | None]
    """The variables that entries may name."""
    only_public: bool = False
    """No programs, and no private addresses."""


def tool_parts(
    settings: Settings,
    records: RecordStore,
    embedder: Callable[[], Embedder],
    adapters: ToolAdapters,
    own: OwnTools,
    calls: Calls,
) -> ToolParts:
    """Put the parts together."""
    secrets, logins, reaching, servers, tool_list = reached_servers(records, adapters)
    later = Later()
    usage = Usage(records, later, time.time)
    policy = Policy(read_only=settings.tools_read_only, approval=settings.tools_approval)
    shelf = Shelf(records, time.time)
    matching = Matching(shelf, Meanings(records, embedder, "capability_vectors"), usage)
    return ToolParts(
        tool_list,
        Gateway(tool_list, servers, own, policy, calls),
        servers,
        Discovery(usage, Meanings(records, embedder)),
        usage,
        secrets,
        CallLog(records, later, time.time),
        later,
        shelf,
        matching,
        Learning(shelf, matching.prepare, later),
        logins,
        reaching,
    )


def reached_servers(
    records: RecordStore, adapters: ToolAdapters
) -> tuple[Secrets, Logins, Reaching, ToolServers, ToolList]:
    """The owners' secrets and logins, what reaches their servers, and the list of these with their tools."""
    known: list[ToolList] = []
    secrets = Secrets(records, adapters.box)

    def reaching_with(authorization: AuthorizationServers) -> tuple[Logins, Reaching]:
        logins = Logins(records, adapters.box, authorization, time.time)
        return logins, Reaching(secrets, adapters.variable, logins, only_public=adapters.only_public)

    match adapters.servers:
        case ServersElsewhere() as elsewhere:
            logins, reaching = reaching_with(elsewhere.authorization)
            servers: ToolServers = elsewhere.servers
            known.append(ToolList(records, servers, reaching, time.time, ask_later=elsewhere.ask_later))
        case connections:
            made = connections(lambda owner, name: known[0].ask_later(owner, name))
            logins, reaching = reaching_with(made.authorization_servers)
            servers = ReachedServers(made, reaching)
            known.append(ToolList(records, servers, reaching, time.time))
    return secrets, logins, reaching, servers, known[0]
