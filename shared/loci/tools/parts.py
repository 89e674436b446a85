"""The parts of the tools vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from loci.core.background import Background
from loci.core.calls import Calls
from loci.core.events import Tell, untold
from loci.core.settings import Settings
from loci.core.stores import RecordStore, SecretBox
from loci.search.inference import Embedder
from loci.tools.api import ToolParts
from loci.tools.approval_links import ApprovalLinks
from loci.tools.call_log import CallLog
from loci.tools.capabilities.learning import Learning
from loci.tools.capabilities.matching import Matching
from loci.tools.capabilities.shelf import Shelf
from loci.tools.discovery import Discovery
from loci.tools.gateway import Gateway
from loci.tools.logins import Logins
from loci.tools.meanings import Meanings
from loci.tools.policy import Policy
from loci.tools.ports import AskLater, AuthorizationServers, Changed, OwnTools, ToolServers
from loci.tools.reaching import Reaching
from loci.tools.secrets import Secrets
from loci.tools.tool_list import ToolList
from loci.tools.usage import Usage
from loci.tools.waiting_calls import WaitingCalls

GATHER_SECONDS = 0.25
"""What is noted meanwhile is written together, and calls are answered first."""


@dataclass(frozen=True, slots=True)
class ToolAdapters:
    """The ports on one runtime."""

    box: SecretBox
    servers: Callable[[Changed, Reaching], ToolServers]
    """Makes what reaches the servers, and tells whoever is given here that a server's tools changed."""
    authorization_servers: AuthorizationServers
    variable: Callable[[str], str | None]
    """The variables that entries may name."""
    ask_later: AskLater | None = None
    """None: this process asks, on a thread."""
    only_public: bool = False
    """No programs, and no private addresses."""


def tool_parts(
    settings: Settings,
    records: RecordStore,
    embedder: Callable[[], Embedder],
    adapters: ToolAdapters,
    own: OwnTools,
    calls: Calls,
    links: ApprovalLinks,
    tell: Tell = untold,
) -> ToolParts:
    """Put the parts together."""
    reached = reached_servers(records, adapters, tell)
    servers, tool_list = reached.servers, reached.tool_list
    later = Background(GATHER_SECONDS)
    usage = Usage(records, later, time.time)
    policy = Policy(read_only=settings.tools_read_only, approval=settings.tools_approval)
    shelf = Shelf(records, time.time)
    matching = Matching(shelf, Meanings(records, embedder, "capability_vectors"), usage)
    log = CallLog(records, later, time.time)
    waiting = WaitingCalls(records, log, links, time.time, settings.approval_seconds, tell)
    return ToolParts(
        tool_list,
        Gateway(tool_list, servers, own, policy, calls, waiting),
        waiting,
        servers,
        Discovery(usage, Meanings(records, embedder)),
        usage,
        reached.secrets,
        log,
        later,
        shelf,
        matching,
        Learning(shelf, matching.prepare, later),
        reached.logins,
        reached.reaching,
    )


@dataclass(frozen=True, slots=True)
class Reached:
    """The owners' servers, what they need, and what reaches them."""

    secrets: Secrets
    logins: Logins
    reaching: Reaching
    servers: ToolServers
    tool_list: ToolList


def reached_servers(records: RecordStore, adapters: ToolAdapters, tell: Tell = untold) -> Reached:
    """Put together what reaches the servers: all that a process needs that does nothing else."""
    known: list[ToolList] = []
    secrets = Secrets(records, adapters.box)
    logins = Logins(records, adapters.box, adapters.authorization_servers, time.time)
    reaching = Reaching(secrets, adapters.variable, logins, only_public=adapters.only_public)
    servers = adapters.servers(lambda owner, name: known[0].changed(owner, name), reaching)
    known.append(ToolList(records, servers, reaching, time.time, ask_later=adapters.ask_later, tell=tell))
    return Reached(secrets, logins, reaching, servers, known[0])
