"""Code that runs with the tools of a shop, on either runtime, and what is learned from it."""

import json
from dataclasses import dataclass
from typing import Any

from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.core.identity import LOCAL
from loci.mcp.server import build_server
from tests.surface.results import structured, texts

SUM = "const told = await shop.addNumbers({a: 20, b: 22});\nreturn told.sum"
INTENT = "add the prices of two orders"


@dataclass
class Workbench:
    """An app, and a client that runs code and searches for what worked."""

    app: App

    async def call(self, tool: str, **arguments: object) -> CallToolResult:
        async with Client(build_server(self.app, "tools"), mode="2026-07-28") as client:
            return await client.call_tool(tool, arguments)

    async def run(self, code: str, intent: str | None = INTENT, **more: object) -> dict[str, Any]:
        """Run code that works; return the answer when it is learned from."""
        answer = await self.call("pml_execute_code", code=code, intent=intent, **more)
        assert not answer.is_error, texts(answer)
        self.app.tools.finish_learning()
        return structured(answer)

    def forget(self) -> None:
        """All that was learned."""
        for one in self.app.tools.capabilities.all(LOCAL):
            self.app.tools.capabilities.delete(LOCAL, one.id)

    async def fail(self, code: str, intent: str | None = INTENT, **more: object) -> None:
        """Run code that fails."""
        answer = await self.call("pml_execute_code", code=code, intent=intent, **more)
        assert answer.is_error, texts(answer)
        self.app.tools.finish_learning()

    async def answer(self, intent: str = INTENT, **more: object) -> dict[str, Any]:
        """The answer of a search. Its text says the same."""
        answer = await self.call("pml_search_capabilities", intent=intent, **more)
        assert not answer.is_error, texts(answer)
        [text] = texts(answer)
        assert json.loads(text) == structured(answer)
        return structured(answer)

    async def search(self, intent: str = INTENT, **more: object) -> list[dict[str, Any]]:
        """The capabilities that are found."""
        return (await self.answer(intent, **more))["capabilities"]

    async def learned(self, code: str, intent: str = INTENT, **more: object) -> dict[str, Any]:
        """The capability that a run of the code makes."""
        await self.run(code, intent, **more)
        [one] = await self.search(intent)
        return one
