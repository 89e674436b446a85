"""What the reference promises of the search for tools and of upstream calls, with the servers of its examples."""

import json
from collections.abc import Generator
from contextlib import closing
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.reference_servers import entry
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
FILES = "read and parse JSON files"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """Loci with the three servers of the reference's examples."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "files").mkdir()
    (folder / "files" / "config.json").write_text('{"a": 1}')
    with closing(build_app(load_settings({"data": folder / "data", "models": folder / "models"}))) as app:
        for name in ("filesystem", "github", "memory"):
            app.tools.add(LOCAL, name, entry(name, folder / "files"))
            app.tools.ask(LOCAL, name)
        yield app


async def call(app: App, tool: str, **arguments: Any) -> CallToolResult:
    async with Client(build_server(app), mode="2026-07-28") as client:
        return await client.call_tool(tool, arguments)


async def found(app: App, query: str, **more: Any) -> list[dict[str, Any]]:
    answer = await call(app, "pml_search_tools", query=query, **more)
    assert not answer.is_error, texts(answer)
    return structured(answer)["tools"]


async def search_schema(app: App) -> dict[str, Any]:
    async with Client(build_server(app)) as client:
        return next(one.input_schema for one in (await client.list_tools()).tools if one.name == "pml_search_tools")


async def test_the_example_of_the_search_finds_read_file_first(app: App) -> None:
    tools = await found(app, FILES, limit=5, include_related=True)
    assert tools[0]["name"] == "filesystem:read_file"


async def test_the_search_of_the_project_s_analysis_finds_what_reads_files(app: App) -> None:
    tools = await found(app, "read files and analyze project structure", include_related=True)
    assert "filesystem:read_file" in [one["name"] for one in tools]


@each("spelling", ["pml:search_tools", "pml_search_tools", "search_tools"])
async def test_each_spelling_of_the_search_is_answered(app: App, spelling: str) -> None:
    assert structured(await call(app, spelling, query=FILES))["tools"]


async def test_the_search_is_listed_with_what_it_is_for(app: App) -> None:
    async with Client(build_server(app)) as client:
        tools = {one.name: one for one in (await client.list_tools()).tools}
    assert (tools["pml_search_tools"].description or "").startswith("Find tools by what they do")


async def test_the_tools_for_tools_and_code_carry_the_prefix(app: App) -> None:
    async with Client(build_server(app)) as client:
        names = {one.name for one in (await client.list_tools()).tools}
    assert {"pml_search_tools", "pml_call_tool", "pml_execute_code"} <= names


async def test_no_upstream_tool_is_listed(app: App) -> None:
    async with Client(build_server(app)) as client:
        names = [one.name for one in (await client.list_tools()).tools]
    assert not [one for one in names if one.startswith(("filesystem", "github", "memory"))]


async def test_a_search_without_a_query_is_refused(app: App) -> None:
    answer = await call(app, "pml_search_tools", limit=3)
    assert texts(answer)[0].startswith("INVALID_PARAMS: query: ")
    assert (await search_schema(app))["required"] == ["query"]


async def test_five_tools_come_by_default(app: App) -> None:
    assert len(await found(app, "read search list create add find")) == 5
    assert (await search_schema(app))["properties"]["limit"]["default"] == 5


@each("limit", [1, 2, 7])
async def test_no_more_than_the_limit_come(app: App, limit: int) -> None:
    assert len(await found(app, "read search list create add find", limit=limit)) == limit


async def test_related_tools_come_only_if_they_are_asked_for(app: App) -> None:
    assert not [one for one in await found(app, FILES, limit=50) if one["related"]]
    assert (await search_schema(app))["properties"]["include_related"].get("default", False) is False


async def test_the_context_is_an_optional_list_of_texts(app: App) -> None:
    schema = await search_schema(app)
    context = schema["properties"]["context_tools"]
    assert (context["type"], context["items"]) == ("array", {"type": "string"})
    assert "context_tools" not in schema["required"]


async def test_scores_fall_and_each_tool_is_complete(app: App) -> None:
    tools = await found(app, FILES, limit=50)
    assert [one["score"] for one in tools] == sorted((one["score"] for one in tools), reverse=True)
    assert all(one["description"] and ":" in one["name"] and one["related"] is False for one in tools)


async def test_the_answer_is_one_text_with_the_same_json(app: App) -> None:
    answer = await call(app, "pml_search_tools", query=FILES)
    [text] = texts(answer)
    assert json.loads(text) == structured(answer)


async def test_words_of_the_same_meaning_find_a_tool(app: App) -> None:
    tools = await found(app, "open a new ticket", limit=1)
    assert [one["name"] for one in tools] == ["github:create_issue"]


async def test_each_found_name_can_be_called_as_it_stands(app: App) -> None:
    for one in await found(app, "list", limit=50):
        answer = await call(app, one["name"], **{"not an argument": 1})
        assert "TOOL_NOT_FOUND" not in json.dumps(structured(answer) if answer.structured_content else texts(answer))


async def test_a_file_is_read_upstream(app: App) -> None:
    assert texts(await call(app, "filesystem:read_file", path="config.json")) == ['{"a": 1}']


async def test_an_issue_s_arguments_are_passed_on(app: App) -> None:
    given = {"repo": "owner/repo", "title": "Bug report", "body": "Description..."}
    assert json.loads(texts(await call(app, "github:create_issue", **given))[0]) == given


async def test_the_memory_answers_with_what_it_keeps(app: App) -> None:
    await call(app, "memory:create_entities", entities=[{"name": "configuration"}])
    assert json.loads(texts(await call(app, "memory:search_nodes", query="configuration"))[0]) == {
        "name": "configuration"
    }


@needs_deno
async def test_the_example_of_the_sandbox_counts_commits(app: App) -> None:
    code = """
// 'github' injected automatically thanks to intent
const commits = await github.listCommits({ limit: 100 });
return commits.filter(c => c.author === "alice").length;
"""
    answer = await call(app, "pml_execute_code", intent="Analyze GitHub commits", code=code)
    assert structured(answer)["result"] == 2
