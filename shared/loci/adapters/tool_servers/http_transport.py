"""The protocol over Streamable HTTP, as a transport of the official client."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp.client.streamable_http import streamable_http_client

from loci.adapters.tool_servers.http_client import HttpClient
from loci.adapters.tool_servers.limits import LARGEST_ANSWER
from loci.adapters.tool_servers.public_addresses import PublicAddresses
from loci.tools.tool_server import Endpoint, ToolServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


@asynccontextmanager
async def http_transport(
    server: ToolServer, endpoint: Endpoint, doubtful: Callable[[], None], *, only_public: bool
) -> AsyncGenerator["TransportStreams"]:
    """Connect to the endpoint. The client follows redirects only to the same host."""
    transport = PublicAddresses() if only_public or endpoint.only_public else None
    async with (
        HttpClient(server, endpoint, transport, doubtful) as client,
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
    ):
        yield streams
