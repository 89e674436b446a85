"""What a client is sent by `tools/list` with ten servers configured: `python -m tests.quality.tool_context`.

Beside it, what it would be sent if all their tools were listed.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from loci.mcp.tool import Surface
from tests.quality.tool_definitions import listed_tools, programs

SERVERS = (
    *("brave-search", "filesystem", "git", "github", "gitlab"),
    *("google-maps", "memory", "playwright", "postgres", "slack"),
)
LISTINGS: tuple[tuple[str, Surface, list[str]], ...] = (
    ("`/mcp`", "all", []),
    ("`/mcp/core`", "core", []),
    ("`/mcp` with all tools of ten servers", "all", ["*"]),
)
READ = ("name", "description", "inputSchema")
"""What a model gets to read."""
BYTES_PER_TOKEN = 4


def main() -> None:
    listed_tools()
    print("| listed | tools | bytes of `tools/list` | tokens that a model reads |")
    print("|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for what, surface, patterns in LISTINGS:
            settings = {"data": Path(folder) / "data", "models": Path(folder) / "models", "tools_listed": patterns}
            app = build_app(load_settings(settings))
            try:
                print(f"| {what} | {asyncio.run(_sizes(app, surface))} |", flush=True)
            finally:
                app.close()


async def _sizes(app: App, surface: Surface) -> str:
    if not app.tools.servers(LOCAL):
        for name, program in programs().items():
            if name in SERVERS:
                at = {
                    "command": program.command,
                    "args": [*program.args],
                    "env": {**program.env},
                    "cwd": program.folder,
                }
                app.tools.add(LOCAL, name, at)
                app.tools.ask(LOCAL, name)
    async with Client(build_server(app, surface)) as client:
        sent = (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)
    read = [{name: tool[name] for name in READ if name in tool} for tool in sent["tools"]]
    return f"{len(read)} | {_size(sent):,} | {_size(read) // BYTES_PER_TOKEN:,}"


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
