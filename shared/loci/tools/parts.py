"""The parts of the tools vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable

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
from loci.tools.ports import Changed, OwnTools, ServerConnections
from loci.tools.reaching import ReachedServers, Reaching
from loci.tools.secrets import Secrets
from loci.tools.tool_list import ToolList
from loci.tools.usage import Usage

MakeConnections = Callable[[Changed], ServerConnections]
"""Makes the connections, which tell whoever is given here that a server's tools changed."""


def tool_parts(
    settings: Settings,
    records: RecordStore,
    embedder: Callable[[], Embedder],
    box: SecretBox,
    connections: MakeConnections,
    variable: Callable[[str], str | None],
    own: OwnTools,
    calls: Calls,
) -> ToolParts:
    """Put the parts together."""
    known: list[ToolList] = []
    secrets = Secrets(records, box)
    reached = connections(lambda owner, name: known[0].ask_later(owner, name))
    logins = Logins(records, box, reached.authorization_servers, time.time)
    reaching = Reaching(secrets, variable, logins)
    made = ReachedServers(reached, reaching)
    tool_list = ToolList(records, made, reaching, time.time)
    known.append(tool_list)
    later = Later()
    usage = Usage(records, later, time.time)
    policy = Policy(read_only=settings.tools_read_only, approval=settings.tools_approval)
    shelf = Shelf(records, time.time)
    matching = Matching(shelf, Meanings(records, embedder, "capability_vectors"), usage)
    return ToolParts(
        tool_list,
        Gateway(tool_list, made, own, policy, calls),
        made,
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
