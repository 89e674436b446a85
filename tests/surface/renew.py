"""Write tools.json anew, after a deliberate change of a tool: python -m tests.surface.renew."""

import json
import tempfile
from pathlib import Path

import anyio
from mcp import Client

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from loci.mcp.tool import OWN_TOOLS


async def main() -> None:
    """List the tools of all endpoints as clients see them, also those that `/mcp` does not list."""
    tools: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        app = build_app(load_settings({"data": folder}))
        for surface in OWN_TOOLS:
            async with Client(build_server(app, surface)) as client:
                for tool in (await client.list_tools()).tools:
                    tools[tool.name] = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        app.close()
    written = json.dumps([tools[name] for name in sorted(tools)], indent=2, ensure_ascii=False)
    Path(__file__).with_name("tools.json").write_text(written + "\n", "utf-8")


if __name__ == "__main__":
    anyio.run(main)
