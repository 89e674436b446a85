"""The list of tools, and what it tells a model."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import Tool

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.module import tool_families
from loci.mcp.server import ERRORS, KEPT, build_server
from loci.mcp.tool import OWN_TOOLS, SURFACES, WIRE, Surface, loci_tool
from loci.mcp.tool_catalog import ToolCatalog, family_of
from loci.registry import ABOUT_DOCUMENTS as DOCUMENTS
from loci.registry import ABOUT_FILES as FILES
from loci.registry import ABOUT_TOOLS as TOOLS
from tests.support.each import each
from tests.surface.conftest import Connect, on_both

pytestmark = pytest.mark.anyio
SNAPSHOT = Path(__file__).with_name("tools.json")
BYTES_PER_TOKEN = 4
REFERENCES = (
    "search_documents read_node_content explore_links list_directory_structure find_gaps inject_tags scratchpad_read"
    " scratchpad_list get_memorylake_metadata search_memory fetch_memory create_memory_code_runner run_memory_code"
    " pml_search_tools pml_search_capabilities pml_execute_dag pml_execute_code pml_continue pml_abort pml_replan"
    " pml_approval_response"
)
UNLISTED: dict[str, dict[str, object]] = {
    "temporal_search": {"query": "ferry", "date_range": "2026"},
    "query_by_tags": {"tags": ["ferry"]},
    "cluster_documents": {},
    "suggest_reading": {"context": "ferries"},
}


def sent_bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@on_both
async def test_the_listing_is_the_one_that_was_agreed(connect: Connect) -> None:
    """Renew it on purpose: python -m tests.surface.renew."""
    agreed = {tool["name"]: tool for tool in json.loads(SNAPSHOT.read_text("utf-8"))}
    seen: set[str] = set()
    for surface in ("all", "core", *OWN_TOOLS):
        async with connect(surface) as client:
            for tool in (await client.list_tools()).tools:
                assert tool.model_dump(mode="json", by_alias=True, exclude_none=True) == agreed[tool.name]
                seen.add(tool.name)
    assert seen == agreed.keys()


@each(
    ("surface", "tools", "read", "sent"),
    [("all", 26, 4000, 7400), ("core", 8, 1900, 3000), ("documents", 20, 2600, 5200)],
)
async def test_a_listing_is_small(connect: Connect, surface: Surface, tools: int, read: int, sent: int) -> None:
    """Clients send a model the names, descriptions and input schemas of all tools with each of its requests."""
    async with connect(surface) as client:
        listed = (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]
    for_models = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in listed]
    assert len(listed) <= tools
    assert sent_bytes(for_models) / BYTES_PER_TOKEN <= read
    assert sent_bytes(listed) / BYTES_PER_TOKEN <= sent


@each(("surface", "word"), [("documents", "note"), ("files", "file")])
async def test_the_first_sentence_says_if_a_tool_is_for_notes_or_for_files(
    connect: Connect, surface: Surface, word: str
) -> None:
    async with connect(surface) as client:
        said = {tool.name: (tool.description or "").partition(". ")[0] for tool in (await client.list_tools()).tools}
    neither = {"scratchpad_list", "scratchpad_read", "create_memory_code_runner"}
    assert [name for name, first in said.items() if word not in first and name not in neither] == []


async def test_the_tools_of_the_references_are_listed(connect: Connect) -> None:
    async with connect() as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
    assert set(REFERENCES.split()) <= listed


async def test_what_is_not_listed_is_called_all_the_same(connect: Connect) -> None:
    """By its name, by `pml_call_tool`, and out of code and plans (tests/surface/tools/test_own_tools_in_code.py)."""
    for surface in ("all", "core"):
        async with connect(surface) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            for name, arguments in UNLISTED.items():
                assert name not in listed
                called = await client.call_tool(name, arguments)
                passed = await client.call_tool("pml_call_tool", {"tool": name, "arguments": arguments})
                assert not called.is_error, called
                assert passed.structured_content == called.structured_content


async def test_every_tool_is_complete(app: App, connect: Connect) -> None:
    tools: list[Tool] = []
    for surface in OWN_TOOLS:
        async with connect(surface) as client:
            tools += (await client.list_tools()).tools
    assert {tool.name for tool in tools} == set(ToolCatalog(tool_families(app), "all").names)
    for tool in tools:
        assert WIRE.fullmatch(tool.name)
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is not None
        if tool.name == "pml_call_tool":  # its results are those of other tools
            continue
        assert tool.output_schema is not None
        more = tool.output_schema.get("additionalProperties", True)
        assert more is True or {"type": "string"} in more["anyOf"], f"{tool.name} has no room for scratchpad_id"


def test_tools_are_loaded_together_that_are_registered_together(app: App) -> None:
    for family in tool_families(app):
        assert "tools" not in vars(family)
        assert tuple(door.id for door in family.tools) == family.ids


async def test_every_endpoint_of_loci_s_own_tools_has_the_scratchpad(connect: Connect) -> None:
    for surface in ("all", *OWN_TOOLS):
        async with connect(surface) as client:
            assert {"scratchpad_list", "scratchpad_read"} <= {tool.name for tool in (await client.list_tools()).tools}


async def test_a_subset_serves_its_own_tools_and_that_of_tools_all_that_can_be_found(connect: Connect) -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    extra = (family_of(loci_tool(ping, title="Ping"), ["files"]),)
    expected: dict[Surface, bool] = {"all": False, "core": False, "documents": True, "files": False, "tools": False}
    for surface, is_error in expected.items():
        async with connect(surface, extra) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert ("ping" in listed) == (surface in ("all", "core", "files"))
            assert (await client.call_tool("ping", {})).is_error is is_error


asked_for = pytest.mark.parametrize("mode", ["legacy", "auto"])  # who is pinned to the newest revision does not ask


async def test_the_eight_tools_of_the_reference_are_at_the_endpoint_of_documents(connect: Connect) -> None:
    async with connect("documents") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"search_documents", "read_node_content", "explore_links", "list_directory_structure", "find_gaps"} <= names
    assert {"inject_tags", "scratchpad_read", "scratchpad_list"} <= names


@asked_for
async def test_a_client_is_given_the_instructions_which_are_short_enough_for_every_client(connect: Connect) -> None:
    for surface in SURFACES:
        async with connect(surface) as client:
            documents = DOCUMENTS if surface in ("all", "core", "documents") else ""
            files = FILES if surface in ("all", "core", "files") else ""
            tools = TOOLS if surface in ("all", "core", "tools") else ""
            kept = "" if surface == "search" else KEPT
            assert client.instructions == kept + ERRORS + documents + files + tools
            assert len((client.instructions or "").encode()) <= 2048


@asked_for
@each(
    ("begin", "said"),
    [
        ("- search_documents: your default", ["was learned", "was solved", "related work", "met before"]),
        ("- search_documents: your default", ["technical work", "unasked", "show the user", "offer to review"]),
        ("- read_node_content: after a search", ["the whole", "a detail", "is right", "copy a solution"]),
        ("- explore_links: ", ["a chain of thought", "related topics"]),
        (
            "- find_gaps: now and then, for upkeep",
            ["missing connections", "holes in the documentation", "better order"],
        ),
        ("Do not search", ["a fresh approach", "a wholly new domain", "less than 5 minutes", "the user experiments"]),
        ("Do not search", ["yours to decide", "weigh what is known against new thinking"]),
    ],
)
async def test_agents_are_told_which_tool_for_what_and_when_not_to_search(
    connect: Connect, begin: str, said: list[str]
) -> None:
    async with connect("documents") as client:
        [line] = [one for one in (client.instructions or "").splitlines() if one.startswith(begin)]
    assert [one for one in said if one not in line] == []


async def test_a_setting_lists_names_with_a_colon(tmp_path: Path) -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    app = build_app(load_settings({"data": tmp_path, "tool_names": "colon"}))
    async with Client(
        build_server(app, "all", [*tool_families(app), family_of(loci_tool(ping, title="Ping", id="pml:ping"))])
    ) as client:
        assert "pml:ping" in {tool.name for tool in (await client.list_tools()).tools}
        assert not (await client.call_tool("pml:ping", {})).is_error
        assert not (await client.call_tool("pml_ping", {})).is_error


LIST_ALONE = """
import asyncio, json, sys
from mcp import Client
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server

async def main():
    async with Client(build_server(build_app(load_settings({"data": sys.argv[1]})))) as client:
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                for tool in (await client.list_tools()).tools]

listed = asyncio.run(main())
print(json.dumps([listed, [one for one in sys.modules if one.startswith("loci.")]]))
"""


async def test_a_kept_listing_is_answered_without_loading_a_tool(tmp_path: Path) -> None:
    def listed() -> tuple[list[dict[str, object]], set[str]]:
        done = subprocess.run([sys.executable, "-c", LIST_ALONE, str(tmp_path)], capture_output=True, check=True)
        tools, modules = json.loads(done.stdout)
        return tools, set(modules)

    first, second = listed(), listed()
    assert first[0] == second[0]
    assert len(first[0]) == 26
    assert "loci.documents.tools.search_tools" in first[1] - second[1]
    assert not [one for one in second[1] if re.search(r"\.tools\.|_tools$|\.tools$", one)]


async def test_a_kept_listing_counts_only_for_what_it_was_made_of(tmp_path: Path) -> None:
    async def said(**settings: object) -> dict[str, str]:
        app = build_app(load_settings({"data": tmp_path, **settings}))
        async with Client(build_server(app)) as client:
            listed = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        app.close()
        return listed

    file = tmp_path / "tool-listing.json"
    made = await said()
    kept = file.read_text("utf-8")
    file.write_text(kept.replace(json.dumps(made["find_gaps"], ensure_ascii=False), '"It is read."'), "utf-8")
    assert (await said())["find_gaps"] == "It is read."
    assert (await said(tool_names="colon"))["pml:search_tools"] == made["pml_search_tools"]
    older = json.loads(file.read_text("utf-8"))
    older["made_of"] = "0.0.1 " + older["made_of"].partition(" ")[2]
    for content in (json.dumps(older), kept[:1000], "[]", '{"made_of": 1}', ""):
        file.write_text(content, "utf-8")
        assert await said() == made
        assert file.read_text("utf-8") == kept
