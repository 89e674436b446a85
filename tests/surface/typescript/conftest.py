"""Loci with a tool set, and a client that calls pml_execute_code."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.code.results_cache import ResultsCache
from loci.code.typescript import TypeScript
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.deno import STRONGEST, sandbox
from tests.support.tool_set import ToolSet
from tests.support.with_parts import with_typescript
from tests.surface.results import structured, texts


@dataclass
class Desk:
    """An app, and a client that sends it code."""

    app: App
    tools: ToolSet
    readable: Path

    async def ask(self, code: str, **more: object) -> CallToolResult:
        async with Client(build_server(self.app), mode="2026-07-28") as client:
            return await client.call_tool("pml_execute_code", {"code": code, **more})

    async def told(self, code: str, **more: object) -> dict[str, Any]:
        """The structured answer of the code. Its text says the same."""
        result = await self.ask(code, **more)
        assert not result.is_error, texts(result)
        assert json.loads(texts(result)[0]) == structured(result)
        return structured(result)

    async def value(self, code: str, **more: object) -> Any:
        return (await self.told(code, **more))["result"]

    async def failure(self, code: str, **more: object) -> dict[str, Any]:
        """The structured answer of code that fails: the error, and what comes beside it."""
        result = await self.ask(code, **more)
        assert result.is_error, texts(result)
        error = structured(result)
        assert texts(result)[0].startswith(f"{error['error']['code']}: ")
        assert error["error"]["resolution"]
        return error


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    readable = folder / "readable"
    (readable / "below").mkdir(parents=True)
    (readable / "below" / "a.txt").write_text("fine")
    (folder / "secret.txt").write_text("CANARY")
    (readable / "link").symlink_to(folder / "secret.txt")
    app = build_app(load_settings({"data": folder / "data", "models": folder / "models"}))
    tools = ToolSet(readable / "below")
    with sandbox(STRONGEST) as made:
        typescript = TypeScript(
            made,
            tools,
            app.scratchpad,
            app.telemetry,
            cache=ResultsCache(),
            read_roots=(readable,),
            private=folder / "data",
        )
        yield Desk(with_typescript(app, typescript), tools, readable)
