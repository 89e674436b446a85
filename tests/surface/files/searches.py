"""Texts in the lake, and searches among them through the tool."""

from collections.abc import Mapping
from typing import Any

from loci.app import App
from loci.core.identity import LOCAL
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts


def add(app: App, name: str, text: str) -> str:
    return app.files.add(LOCAL, name, text.encode()).id


async def call(connect: Connect, tool: str, **arguments: object) -> Any:
    """The result of a tool of files."""
    async with connect("files") as client:
        answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)["result"]


async def search(connect: Connect, query: object, **more: object) -> dict[str, Any]:
    return await call(connect, "search_memory", parsed_query=query, **more)


def names(answer: Mapping[str, Any]) -> list[str]:
    return [one["name"] for one in answer["results"]]
