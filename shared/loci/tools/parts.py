"""The parts of the tools vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable

from loci.core.settings import Settings
from loci.core.stores import RecordStore
from loci.search.inference import Embedder
from loci.tools.api import ToolParts
from loci.tools.capabilities.learning import Learning
from loci.tools.capabilities.matching import Matching
from loci.tools.capabilities.shelf import Shelf
from loci.tools.discovery import Discovery
from loci.tools.gateway import Gateway
from loci.tools.meanings import Meanings
from loci.tools.ports import Changed, ToolServers
from loci.tools.tool_list import ToolList
from loci.tools.usage import Usage

MakeServers = Callable[[Changed], ToolServers]
"""Makes the connections, which tell whoever is given here that a server's tools changed."""


def tool_parts(
    settings: Settings,
    records: RecordStore,
    embedder: Callable[[], Embedder],
    servers: MakeServers,
    variable: Callable[[str], str | None],
) -> ToolParts:
    """Put the parts together."""
    known: list[ToolList] = []
    made = servers(lambda owner, name: known[0].ask_later(owner, name))
    tool_list = ToolList(records, made, variable, time.time)
    known.append(tool_list)
    usage = Usage(records, time.time)
    gateway = Gateway(tool_list, made, usage, read_only=settings.tools_read_only)
    shelf = Shelf(records, time.time)
    matching = Matching(shelf, Meanings(records, embedder, "capability_vectors"), usage)
    return ToolParts(
        tool_list,
        gateway,
        made,
        Discovery(usage, Meanings(records, embedder)),
        usage,
        shelf,
        matching,
        Learning(shelf, matching.prepare),
    )
