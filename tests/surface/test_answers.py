"""What becomes of a tool's answer or failure on its way to the client."""

import json
from typing import Annotated, Any

import jsonschema
import pytest
from mcp import Client
from pydantic import BaseModel

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.mcp.head import BUDGET
from loci.mcp.tool import LociTool, loci_tool
from tests.support.each import each
from tests.surface.conftest import Connect, on_both
from tests.surface.results import error_of, structured, texts

pytestmark = pytest.mark.anyio


class Hit(BaseModel):
    id: str
    snippet: str


class Hits(BaseModel):
    results: list[Hit]
    query: str


def hits(count: int, length: int = 200) -> Hits:
    """Find some."""
    return Hits(results=[Hit(id=f"doc-{n}", snippet="wörd " * (length // 5)) for n in range(count)], query="q")


def poem(lines: int) -> str:
    """Write one."""
    return "Zeile für Zeile\n" * lines


def edges(count: int) -> list[dict[str, str]]:
    """Find some."""
    return [{"target": f"doc-{n}", "type": "references"} for n in range(count)]


def broken() -> str:
    """Fail by mistake."""
    raise ZeroDivisionError("the password is hunter2")


def refusing() -> str:
    """Fail on purpose."""
    raise Refused("The code has 200 KB", "Send at most 100 KB", code="CODE_TOO_LARGE")


def typed(count: Annotated[int, "how many"], names: list[str]) -> str:
    """Take arguments."""
    return f"{count} {names}"


EXTRA: tuple[LociTool, ...] = (
    loci_tool(hits, title="Hits", id="pml:hits"),
    *(loci_tool(fn, title=fn.__name__.title()) for fn in (poem, edges, broken, refusing, typed)),
)


async def schema_of(client: Client, name: str) -> dict[str, Any]:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    schema = listed[name].output_schema
    assert schema is not None
    return schema


async def test_an_object_comes_structured_and_as_one_line_of_json(connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool("pml_hits", {"count": 2})
    assert json.loads(texts(result)[0]) == structured(result) == hits(2).model_dump()
    assert "\n" not in texts(result)[0]


async def test_a_bare_string_is_the_text_itself(connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool("poem", {"lines": 2})
    assert texts(result) == [poem(2)]
    assert structured(result) == {"result": poem(2)}


async def test_a_bare_array_is_one_text(connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool("edges", {"count": 2})
    assert [json.loads(text) for text in texts(result)] == [edges(2)]
    assert structured(result) == {"result": edges(2)}


@each(
    ("tool", "arguments"),
    [
        ("pml_hits", {"count": 300}),
        ("pml_hits", {"count": 1, "length": 90_000}),
        pytest.param("pml_hits", {"count": 1, "length": 15_000}, id="too many bytes, not too many characters"),
        ("poem", {"lines": 3000}),
        ("edges", {"count": 2000}),
    ],
)
async def test_the_head_of_a_large_answer_fits_and_is_valid(
    app: App, connect: Connect, tool: str, arguments: dict[str, int]
) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool(tool, arguments)
        jsonschema.validate(structured(result), await schema_of(client, tool))
    id = structured(result)["scratchpad_id"]
    assert len(texts(result)[0].encode()) <= BUDGET + 100
    assert len(texts(result)[0].encode()) > BUDGET / 2
    assert texts(result)[1] == f"Results cached. Use scratchpad_read('{id}') for full output"


@on_both
async def test_the_whole_of_a_large_answer_is_in_the_scratchpad(connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        head = structured(await client.call_tool("pml_hits", {"count": 300}))
        whole = await client.call_tool("scratchpad_read", {"id": head["scratchpad_id"]})
    assert json.loads(texts(whole)[0]) == hits(300).model_dump()
    assert head["results"] == hits(300).model_dump()["results"][: len(head["results"])]
    assert head["query"] == "q"


async def test_an_answer_within_its_budget_is_left_alone(app: App, connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool("pml_hits", {"count": 50})
    assert structured(result) == hits(50).model_dump()
    assert app.scratchpad.list(LOCAL) == []


async def test_a_planned_failure_says_what_to_do(connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool("refusing", {})
    assert texts(result) == ["CODE_TOO_LARGE: The code has 200 KB. Send at most 100 KB."]
    assert error_of(result) == {
        "code": "CODE_TOO_LARGE",
        "message": "The code has 200 KB",
        "resolution": "Send at most 100 KB",
    }


async def test_a_bug_tells_the_client_nothing_of_itself(connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool("broken", {})
    assert result.is_error
    assert error_of(result)["code"] == "INTERNAL_ERROR"
    assert "hunter2" not in result.model_dump_json()


async def test_a_bug_is_logged_with_its_traceback(connect: Connect, capfd: pytest.CaptureFixture[str]) -> None:
    async with connect(extra=EXTRA) as client:
        await client.call_tool("broken", {})
    assert "ZeroDivisionError" in capfd.readouterr().err


async def test_wrong_arguments_are_named_but_not_repeated(connect: Connect) -> None:
    async with connect(extra=EXTRA) as client:
        result = await client.call_tool("typed", {"count": "hunter2"})
    assert error_of(result)["code"] == "INVALID_PARAMS"
    assert "count: " in texts(result)[0]
    assert "names: Field required" in texts(result)[0]
    assert "hunter2" not in result.model_dump_json()


@each(
    "tool, arguments, said",
    [
        ("pml_search_tools", {"query": "x", "context_tools": [0] * 50_000}, "50,000 values do not fit"),
        ("inject_tags", {"file_path": "a.md", "tags": [0] * 50}, "tags.4: Input should be a valid string; and 45 more"),
        ("search_documents", {"query": "x", "properties": {"k" * 10_000: 0}}, "Input should be a valid string"),
        ("pml_search_tools", {"query": "x", "context_tools": "[" + "0," * 50_000 + "0]"}, "a text with JSON of more"),
        ("pml_execute_dag", {"workflow": '{"a":' * 200 + "0" + "}" * 200}, "or of more than 100 levels"),
    ],
)
async def test_very_many_wrong_values_are_refused_in_one_line(
    connect: Connect, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with connect() as client:
        result = await client.call_tool(tool, arguments)
    assert error_of(result)["code"] == "INVALID_PARAMS"
    assert said in texts(result)[0]
    assert len(texts(result)[0]) < 600


async def test_an_unknown_tool_is_an_error_that_lists_the_known_ones(connect: Connect) -> None:
    async with connect() as client:
        result = await client.call_tool("no_such_tool", {})
    assert error_of(result)["code"] == "TOOL_NOT_FOUND"
    assert "scratchpad_read" in texts(result)[0]


@each("spelling", ["pml:hits", "pml_hits", "hits"])
async def test_a_call_may_use_any_spelling_of_the_name(connect: Connect, spelling: str) -> None:
    async with connect(extra=EXTRA) as client:
        assert structured(await client.call_tool(spelling, {"count": 1})) == hits(1).model_dump()


async def test_one_line_is_logged_for_a_call_without_its_contents(
    connect: Connect, capfd: pytest.CaptureFixture[str]
) -> None:
    async with connect(extra=EXTRA) as client:
        await client.call_tool("typed", {"count": 1, "names": ["hunter2"]})
    lines = [line for line in capfd.readouterr().err.splitlines() if '"message":"call"' in line]
    [call] = [json.loads(line) for line in lines]
    assert (call["tool"], call["outcome"], call["owner"]) == ("typed", "ok", LOCAL.key)
    assert call["asked"] > 0
    assert call["answered"] > 0
    assert "hunter2" not in lines[0]


async def test_reading_a_kept_result_does_not_run_its_tool_again(connect: Connect) -> None:
    runs: list[int] = []

    def long() -> str:
        """Write a lot."""
        runs.append(1)
        return "x" * 99_999

    async with connect(extra=(loci_tool(long, title="Long"),)) as client:
        id = structured(await client.call_tool("long", {}))["scratchpad_id"]
        assert len(texts(await client.call_tool("scratchpad_read", {"id": id}))[0]) == 99_999
    assert runs == [1]
