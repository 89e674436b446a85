"""The parts of the tools vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.background import BackgroundQueue
from loci.core.events import Tell, untold
from loci.core.stores import RecordStore, SecretBox
from loci.gateway.call_history import CallLog, Usage
from loci.gateway.capabilities.api import Learning
from loci.gateway.capabilities.capability_store import CapabilityStore
from loci.gateway.capabilities.matching import CapabilitySearch
from loci.gateway.gateway import Gateway
from loci.gateway.logins import Logins
from loci.gateway.offers import Offers
from loci.gateway.policy import Policy
from loci.gateway.ports import AskLater, AuthorizationServers, BuiltInTools, Changed, ToolServers
from loci.gateway.seen_shapes import SeenShapes
from loci.gateway.server_config import Secrets, ServerResolver
from loci.gateway.tool_embeddings import ToolEmbeddings
from loci.gateway.tool_list import ToolList
from loci.gateway.tool_search import ToolSearch
from loci.gateway.waiting_calls import WaitingCalls

if TYPE_CHECKING:
    from loci.app import App
    from loci.search.inference import Embedder

GATHER_SECONDS = 0.25
"""Seconds in which notes gather, to be written together. Calls are answered first."""


@dataclass(frozen=True, slots=True)
class ToolAdapters:
    """The ports on one runtime."""

    box: SecretBox
    servers: Callable[[Changed, ServerResolver], ToolServers]
    """Makes the connections to the servers. Its first argument is called when the tools of a server change."""
    authorization_servers: AuthorizationServers
    variable: Callable[[str], str | None]
    """The variables that entries may name."""
    ask_later: AskLater | None = None
    """Asks servers for their tools in another process; None: this process asks, on a thread."""
    only_public: bool = False
    """No programs, and no private addresses."""


class ToolParts:
    """The parts behind `Tools`, put together on the adapters of a runtime."""

    def __init__(self, app: "App", own: BuiltInTools) -> None:
        settings, records, self.readings = app.settings, app.records, app.readings
        self.tool_list = build_tool_list(records, app.runtime.tools(), app.tell)
        self.servers, self.resolver = self.tool_list.servers, self.tool_list.resolver
        self.secrets, self.logins = self.resolver.secrets, self.resolver.logins
        self.later = BackgroundQueue(GATHER_SECONDS)
        self.usage = Usage(records, self.later, time.time)
        self.call_log = CallLog(records, self.later, time.time)
        self.waiting = WaitingCalls(
            records, self.call_log, app.approval_links, time.time, settings.approval_seconds, app.tell
        )
        policy = Policy(read_only=settings.tools_read_only, approval=settings.tools_approval)
        seen_shapes = SeenShapes(records, self.later, time.time)
        asks = settings.untrusted_writes == "ask"
        self.gateway = Gateway(
            self.tool_list, own, policy, app.calls, self.waiting, seen_shapes, app.readings, asks_untrusted=asks
        )
        self.offers = Offers(self.tool_list, policy, app.calls, app.readings)

        def embedder() -> "Embedder":
            return app.search_adapters.embedder

        self.tool_search = ToolSearch(self.usage, ToolEmbeddings(records, embedder))
        self.capability_store = CapabilityStore(records, time.time)
        self.capability_search = CapabilitySearch(
            self.capability_store, ToolEmbeddings(records, embedder, "capability_vectors"), self.usage
        )
        self.learning = Learning(self.capability_store, self.capability_search.prepare, self.later)


def build_tool_list(
    records: RecordStore,
    adapters: ToolAdapters,
    tell: Tell = untold,
) -> ToolList:
    """Put together what reaches the servers: all that a process needs that does nothing else."""
    secrets = Secrets(records, adapters.box)
    logins = Logins(records, adapters.box, adapters.authorization_servers, time.time)
    resolver = ServerResolver(secrets, adapters.variable, logins, only_public=adapters.only_public)
    return ToolList(
        records,
        adapters.servers,
        resolver,
        time.time,
        ask_later=adapters.ask_later,
        tell=tell,
    )
