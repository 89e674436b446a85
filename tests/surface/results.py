"""Calling tools, and reading results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from mcp import Client
from mcp_types import CallToolResult, TextContent

from loci.app import App
from loci.mcp.server import build_server
from tests.surface.conftest import Connect


def texts(result: CallToolResult) -> list[str]:
    """The texts of all blocks."""
    return [block.text for block in result.content if isinstance(block, TextContent)]


def structured(result: CallToolResult) -> dict[str, Any]:
    """The structured content, which is an object."""
    content = cast("object", result.structured_content)
    assert isinstance(content, dict)
    return cast("dict[str, Any]", content)


def error_of(result: CallToolResult) -> dict[str, Any]:
    """The error as programs read it: code, message, resolution and further details."""
    assert result.is_error, texts(result)
    assert result.structured_content is None  # some clients check an error's, too, against the output schema
    return (result.meta or {})["loci/error"]


async def call(connect: Connect, tool: str, **arguments: object) -> Any:
    """What the tool answers, as structure."""
    async with connect("documents") as client:
        answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def call_files(app: App, tool: str, **arguments: object) -> Any:
    """What a tool of files answers, as structure."""
    async with Client(build_server(app, "files"), mode="2026-07-28") as client:
        answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def failed(connect: Connect, tool: str, **arguments: object) -> str:
    """The text of the error that the tool answers with."""
    async with connect("documents") as client:
        answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return texts(answer)[0]


def written(folder: Path, notes: Mapping[str, str]) -> Path:
    """The folder, with these notes in it."""
    for name, text in notes.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
