"""The parts of the tools vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable

from loci.core.secret_box import SecretBox
from loci.core.settings import Settings
from loci.core.stores import RecordStore
from loci.search.inference import Embedder
from loci.tools.api import ToolParts
from loci.tools.discovery import Discovery
from loci.tools.gateway import Gateway
from loci.tools.logins import Logins
from loci.tools.meanings import Meanings
from loci.tools.ports import Changed, ServerConnections
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
    usage = Usage(records, time.time)
    gateway = Gateway(tool_list, made, usage, read_only=settings.tools_read_only)
    return ToolParts(
        tool_list, gateway, made, Discovery(usage, Meanings(records, embedder)), usage, secrets, logins, reaching
    )
