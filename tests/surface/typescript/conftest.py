"""Loci with tool servers, and a client that calls pml_execute_code."""

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.tame_servers import TameServers, over_stdio
from tests.surface.results import error_of, structured, texts

COMMITS = "Analyze GitHub commits"
"""An intent that finds `github:list_commits` and no other tool."""


@dataclass
class Desk:
    """An app, and a client that sends it code."""

    app: App
    servers: TameServers
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
        """The error of code that fails, with what comes beside it."""
        result = await self.ask(code, **more)
        error = error_of(result)
        assert texts(result)[0].startswith(f"{error['code']}: ")
        assert error["resolution"]
        return error


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    readable = folder / "readable"
    (readable / "below").mkdir(parents=True)
    (readable / "below" / "a.txt").write_text("fine")
    (folder / "secret.txt").write_text("CANARY")
    (readable / "link").symlink_to(folder / "secret.txt")
    servers = over_stdio(folder / "servers")
    (servers.files / "a.txt").write_text("fine")
    settings = {"data": folder / "data", "models": folder / "models", "code_read_paths": (readable,)}
    with closing(build_app(load_settings({**settings, "allow_unsandboxed": True}))) as app:
        servers.configure(app, "github", "filesystem", "broken", "clock", "admin")
        yield Desk(app, servers, readable)
