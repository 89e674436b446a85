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
from loci.tools.call_log import CallLog
from loci.tools.capabilities.learning import Learning
from loci.tools.capabilities.matching import Matching
from loci.tools.capabilities.shelf import Shelf
from loci.tools.gateway import Gateway
from loci.tools.logins import Logins
from loci.tools.meanings import Meanings
from loci.tools.policy import Policy
from loci.tools.ports import AskLater, AuthorizationServers, Changed, OwnTools, ToolServers
from loci.tools.reaching import Reaching, Secrets
from loci.tools.tool_list import ToolList
from loci.tools.tool_search import Discovery
from loci.tools.usage import Usage
from loci.tools.waiting_calls import ApprovalLinks, WaitingCalls

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


class ToolParts:
    """The parts behind `Tools`, put together on the adapters of a runtime."""

    def __init__(
        self,
        settings: Settings,
        records: RecordStore,
        embedder: Callable[[], Embedder],
        adapters: ToolAdapters,
        own: OwnTools,
        calls: Calls,
        links: ApprovalLinks,
        tell: Tell = untold,
    ) -> None:
        self.tool_list = reached_servers(records, adapters, tell)
        self.servers, self.reaching = self.tool_list.servers, self.tool_list.reaching
        self.secrets, self.logins = self.reaching.secrets, self.reaching.logins
        self.later = Background(GATHER_SECONDS)
        self.usage = Usage(records, self.later, time.time)
        self.call_log = CallLog(records, self.later, time.time)
        self.waiting = WaitingCalls(records, self.call_log, links, time.time, settings.approval_seconds, tell)
        policy = Policy(read_only=settings.tools_read_only, approval=settings.tools_approval)
        self.gateway = Gateway(self.tool_list, own, policy, calls, self.waiting)
        self.discovery = Discovery(self.usage, Meanings(records, embedder))
        self.shelf = Shelf(records, time.time)
        self.matching = Matching(self.shelf, Meanings(records, embedder, "capability_vectors"), self.usage)
        self.learning = Learning(self.shelf, self.matching.prepare, self.later)


def reached_servers(records: RecordStore, adapters: ToolAdapters, tell: Tell = untold) -> ToolList:
    """Put together what reaches the servers: all that a process needs that does nothing else."""
    secrets = Secrets(records, adapters.box)
    logins = Logins(records, adapters.box, adapters.authorization_servers, time.time)
    reaching = Reaching(secrets, adapters.variable, logins, only_public=adapters.only_public)
    return ToolList(records, adapters.servers, reaching, time.time, ask_later=adapters.ask_later, tell=tell)
