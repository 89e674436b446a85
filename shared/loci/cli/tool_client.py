"""The client of `loci call` and `loci add --url`: it calls the tools of a server."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from loci.cli.remote_address import endpoint_url, key_header
from loci.core.errors import LociError, Misconfigured, Refused, Unavailable

if TYPE_CHECKING:
    from mcp import Client
    from mcp.server.mcpserver import MCPServer

SECONDS = 120.0
"""That a tool may take."""
T = TypeVar("T")


def on_server(url: str, key: str | None, work: "Callable[[Client], Awaitable[T]]") -> T:
    """Run the work with a client of the server at the URL."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    endpoint = endpoint_url(url)
    client = httpx2.AsyncClient(headers=key_header(key), timeout=SECONDS, follow_redirects=True)
    return connected(streamable_http_client(endpoint, http_client=client), work, endpoint)


def connected(server: "MCPServer | Any", work: "Callable[[Client], Awaitable[T]]", where: str = "this machine") -> T:
    """Run the work with a client of this server."""
    import asyncio
    import logging

    import httpx2
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    # The SDK warns of tools that are not listed: those of tool servers are called all the same.
    logging.getLogger("client").setLevel(logging.ERROR)

    async def ask() -> T:
        async with Client(server, read_timeout_seconds=SECONDS) as client:
            return await work(client)

    try:
        return asyncio.run(ask())
    except* (httpx2.HTTPError, MCPError, OSError, TimeoutError) as errors:
        raise _explained(errors, where) from None


def _explained(error: BaseException, where: str) -> LociError:
    """The error of the connection as one that somebody can act on."""
    import httpx2
    from mcp.shared.exceptions import MCPError

    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, httpx2.HTTPStatusError) and error.response.status_code in (401, 403):
        what = f"{where} refuses access ({error.response.status_code})"
        return Misconfigured(what, "Give a valid key, in --key or LOCI_KEY")
    said = str(error) or type(error).__name__
    if isinstance(error, MCPError):
        return Refused(f"{where} refuses: {said}", "Check the URL, and the key in --key or LOCI_KEY")
    return Unavailable(f"{where} gave no answer ({said})", "Check the URL, and that a server listens there")
