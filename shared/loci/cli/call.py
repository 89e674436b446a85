"""`loci call`: call a tool, of a server or of the data folder on this machine."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from loci.cli.destination import connected, on_server
from loci.cli.terminal import ConfigOption, DataOption, KeyOption, command_settings, printable, value
from loci.core.errors import Refused
from loci.core.json import JsonObject

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

WORKFLOWS = ("pml_execute_dag", "pml_continue", "pml_approval_response")
"""Tools that start runs, which last as long as this command."""
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
    url: Annotated[str | None, value("Call the Loci or other MCP server at URL.", "--url", "URL")] = None,
    key: KeyOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Call a tool and print its result.

    Without --url, the tool works on the data folder of this machine; no server needs to run. The result is JSON. If the
    tool fails, its error goes to stderr, and the exit code is 1.
    """
    given = _arguments(sys.stdin.read() if arguments == "-" else arguments)
    key = key or os.environ.get("LOCI_KEY")

    async def ask(client: "Client") -> "CallToolResult":
        return await client.call_tool(tool, dict(given))

    result = on_server(url, key, ask) if url else _called_here(tool, ask, data, config)
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


def _called_here(
    tool: str, ask: "Callable[[Client], Awaitable[CallToolResult]]", data: Any, config: Any
) -> "CallToolResult":
    import loci.mcp.sdk  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from loci.compose import build_app  # slow to load, and `--help` does not need it
    from loci.mcp.server import build_server

    app = build_app(command_settings(data, config))
    if app.settings.mode == "embedded" and tool in WORKFLOWS:
        app.workflows.wait_for_ends()
    try:
        return connected(build_server(app, door="cli"), ask)
    finally:
        app.close()
