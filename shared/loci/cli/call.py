"""`loci call`: call a tool, of a server or of the data folder on this machine."""

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

import typer

from loci.cli.terminal import ConfigOption, DataOption, printable
from loci.core.errors import LociError, Misconfigured, Refused, Unavailable
from loci.core.json import JsonObject
from loci.core.settings import load_settings

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp_types import CallToolResult

SECONDS = 120.0
"""That a tool may take."""
EXAMPLES = """\b
Examples:
  loci call get_memorylake_metadata --url https://loci.example.com/mcp
  loci call search_memory '{"parsed_query": "travel costs in May"}'
  loci call query_table '{"memory_id": "ds-…", "sql": "SELECT 1"}'
  loci call run_memory_code - < run.json
"""


def call(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its name.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Its arguments; - reads them from stdin.")] = "{}",
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="Call the Loci or other MCP server at URL.", show_default=False),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="The API key for that server (or set LOCI_KEY).", show_default=False),
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Call a tool and print its result.

    Without --url, the tool works on the data folder of this machine; no server needs to run. The result is JSON. If the
    tool fails, its error goes to stderr, and the exit code is 1.
    """
    given = _arguments(sys.stdin.read() if arguments == "-" else arguments)
    key = key or os.environ.get("LOCI_KEY")
    result = _called(tool, given, url, key) if url else _called_here(tool, given, data, config)
    texts = [block.text for block in result.content if block.type == "text"]
    if result.is_error:
        for line in "\n".join(texts).splitlines():
            typer.echo(printable(line), err=True)
        raise typer.Exit(1)
    structured = cast("object", result.structured_content)
    shown = "\n".join(texts) if structured is None else json.dumps(structured, ensure_ascii=False, indent=2)
    typer.echo("\n".join(printable(line) for line in shown.split("\n")))


def _arguments(text: str) -> JsonObject:
    try:
        given: object = json.loads(text)
    except ValueError as error:
        raise Refused(f"The arguments are no JSON ({error})", 'Give an object, such as {"limit": 5}') from None
    if not isinstance(given, dict):
        raise Refused("The arguments are no JSON object", 'Give one, such as {"limit": 5}')
    return cast("JsonObject", given)


def _called_here(tool: str, given: JsonObject, data: Any, config: Any) -> "CallToolResult":
    from loci.compose import build_app  # slow to load, and `--help` does not need it
    from loci.mcp.server import build_server

    # The lines of its log would stand between the error and whoever reads it.
    app = build_app(load_settings({"data": data, "log_level": "ERROR"}, config))
    try:
        return _asked(tool, given, build_server(app))
    finally:
        app.close()


def _called(tool: str, given: JsonObject, url: str, key: str | None) -> "CallToolResult":
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(f"{url!r} is not a URL", "Give the endpoint's URL, such as https://loci.example.com/mcp")
    if key and not key.strip().isascii():
        raise Refused("The key has characters that no key has", "Give the whole key, in --key or LOCI_KEY")
    headers = {"Authorization": f"Bearer {key.strip()}"} if key else {}
    endpoint = url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"
    client = httpx2.AsyncClient(headers=headers, timeout=SECONDS, follow_redirects=True)
    return _asked(tool, given, streamable_http_client(endpoint, http_client=client), endpoint)


def _asked(tool: str, given: JsonObject, server: "MCPServer | Any", where: str = "this machine") -> "CallToolResult":
    import asyncio

    import httpx2
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    async def ask() -> "CallToolResult":
        async with Client(server, read_timeout_seconds=SECONDS) as client:
            return await client.call_tool(tool, dict(given))

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
