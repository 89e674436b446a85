"""Write tools.json anew, after a deliberate change of a tool: python -m tests.surface.renew."""

import json
import tempfile
from pathlib import Path

import anyio
from mcp import Client

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server


async def main() -> None:
    """List the tools as a client sees them."""
    with tempfile.TemporaryDirectory() as folder:
        async with Client(build_server(build_app(load_settings({"data": folder})))) as client:
            tools = [
                tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                for tool in (await client.list_tools()).tools
            ]
    Path(__file__).with_name("tools.json").write_text(json.dumps(tools, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    anyio.run(main)
