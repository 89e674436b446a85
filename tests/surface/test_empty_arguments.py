"""Empty texts, nulls and zeros in optional arguments: some clients send every argument that a tool has."""

import json
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, texts
from tests.surface.test_listing import SNAPSHOT
from tests.surface.test_revisions import steady

pytestmark = pytest.mark.anyio
LISTED: list[dict[str, Any]] = json.loads(SNAPSHOT.read_text("utf-8"))
VALUES: dict[str | None, object] = {"string": "none", None: "none", "array": ["none"], "boolean": True}
"""By their types: what required arguments get."""
LEAST: dict[str | None, object] = {"string": "", "integer": 0, "array": []}


def optional(tool: dict[str, Any]) -> list[str]:
    """The names of the arguments that a call may leave out."""
    schema = tool["inputSchema"]
    return [name for name in schema["properties"] if name not in schema.get("required", ())]


def required(tool: dict[str, Any]) -> dict[str, object]:
    """The arguments that a call needs, with values."""
    schema = tool["inputSchema"]
    return {name: VALUES[schema["properties"][name].get("type")] for name in schema.get("required", ())}


def least(tool: dict[str, Any], names: list[str]) -> dict[str, object]:
    """The value of each that says least and fits the schema; of one with alternatives null."""
    schemas = {name: tool["inputSchema"]["properties"][name] for name in names}
    return {name: schema.get("default", LEAST.get(schema.get("type"))) for name, schema in schemas.items()}


@each(
    ("tool", "names"),
    [(tool["name"], names) for tool in LISTED for names in (*([one] for one in optional(tool)), optional(tool))],
)
async def test_nothing_for_an_optional_argument_is_none(connect: Connect, tool: str, names: list[str]) -> None:
    """Each alone, and all at once."""
    [listed] = [one for one in LISTED if one["name"] == tool]
    async with connect() as client:
        without = await client.call_tool(tool, required(listed))
        for nothing in (dict.fromkeys(names, ""), dict.fromkeys(names), least(listed, names)):
            sent = await client.call_tool(tool, {**required(listed), **nothing})
            assert steady(texts(sent)[0]) == steady(texts(without)[0]), nothing


async def test_a_document_is_written_by_a_client_that_sends_all_arguments(app: App, connect: Connect) -> None:
    others = {"mode": "create", "heading": "", "old": "", "new": "", "expected_hash": ""}
    await call(connect, "write_document", path="notes/a.md", content="A tram, a bus.", **others)
    others = {"content": "", "mode": "edit", "heading": "", "expected_hash": ""}
    await call(connect, "write_document", path="notes/a.md", old=", a bus", new="", **others)
    document = app.documents.parts.library.get(LOCAL, "notes/a.md")
    assert app.documents.parts.library.content(LOCAL, document) == b"A tram.\n"
