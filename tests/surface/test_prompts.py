"""Prompts as clients get them: ways to work that name the tools of the endpoint."""

import re

import pytest
from mcp import Client, MCPError
from mcp_types import TextContent

from loci.app import App
from loci.mcp.module import tool_families
from loci.mcp.resources import CALLED_TOOL
from loci.mcp.server import build_server
from loci.mcp.tool import SURFACES
from loci.mcp.tool_catalog import ToolCatalog
from tests.support.each import each
from tests.surface.conftest import Connect

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["embedded"], indirect=True)]
NAMES = [
    "session_start",
    "problem_solving",
    "discovery",
    "debrief",
    "session_end",
    "playbook",
    "gap_analysis",
    "research",
]
TOPIC = "why {the} ferry %s is late"


async def prompted(client: Client, name: str, **arguments: str) -> str:
    answer = await client.get_prompt(name, arguments)
    [message] = answer.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def test_the_endpoints_with_documents_list_them(connect: Connect) -> None:
    for surface in SURFACES:
        async with connect(surface) as client:
            listed = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert listed == (NAMES if surface in ("all", "core", "documents") else [])


async def test_each_has_a_title_and_one_described_argument(connect: Connect) -> None:
    async with connect() as client:
        for prompt in (await client.list_prompts()).prompts:
            assert prompt.title
            assert prompt.description
            [argument] = prompt.arguments or []
            assert argument.description


@each("name", NAMES)
async def test_it_has_the_topic_and_calls_for_tools_that_are_there(app: App, connect: Connect, name: str) -> None:
    async with connect("documents") as client:
        [argument] = next(one for one in (await client.list_prompts()).prompts if one.name == name).arguments or []
        text = await prompted(client, name, **{argument.name: TOPIC})
    tools = set(ToolCatalog(tool_families(app), "documents").names)
    assert TOPIC in text
    assert set(CALLED_TOOL.findall(text))
    assert set(CALLED_TOOL.findall(text)) <= tools
    assert re.findall(r"^(\d+)\. ", text, re.MULTILINE) == [str(at) for at in range(1, text.count("\n"))]


async def test_a_step_is_left_out_where_its_tool_is_not(app: App) -> None:
    some = [family for family in tool_families(app) if "find_gaps" not in family.ids]
    async with Client(build_server(app, "all", some)) as client:
        assert "find_gaps" not in await prompted(client, "gap_analysis", topic=TOPIC)


async def test_what_is_optional_may_be_missing(connect: Connect) -> None:
    async with connect() as client:
        assert "all of them" in await prompted(client, "gap_analysis")


async def test_a_missing_argument_is_an_invalid_parameter(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match="topic") as failed:
            await client.get_prompt("debrief")
        assert failed.value.code == -32602
        with pytest.raises(MCPError, match="characters"):
            await client.get_prompt("debrief", {"topic": "x" * 5000})


async def test_an_unknown_prompt_is_an_invalid_parameter(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match="prompts/list"):
            await client.get_prompt("nothing")


@each(
    ("name", "argument", "said"),
    [
        ("session_start", "topic", ['"… lessons learned", limit=5', "apply it to the task"]),
        ("problem_solving", "problem", ['solutions", limit=3', "Try the proven solution first"]),
    ],
)
async def test_a_session_begins_with_the_search_of_the_reference(
    connect: Connect, name: str, argument: str, said: list[str]
) -> None:
    async with connect("documents") as client:
        text = await prompted(client, name, **{argument: TOPIC})
    assert [one for one in said if one not in text] == []


@each(
    ("name", "when"),
    [
        ("debrief", ["not trivial", "a surprise", "a pattern that helped", "a dead end", "more than half an hour"]),
        ("playbook", ["third time", "a decision of the team", "a mistake to avoid", "a practice that has settled"]),
    ],
)
async def test_a_prompt_says_when_to_write(connect: Connect, name: str, when: list[str]) -> None:
    async with connect("documents") as client:
        [prompt] = [one for one in (await client.list_prompts()).prompts if one.name == name]
    assert [one for one in when if one not in (prompt.description or "")] == []


async def test_at_the_end_of_a_long_session_that_solved_something_a_debrief_is_suggested(connect: Connect) -> None:
    async with connect("documents") as client:
        text = await prompted(client, "session_end", topic=TOPIC)
    for said in ("more than 1800 seconds", "solve a problem", "suggest a debrief", "offer to help write it"):
        assert said in text
