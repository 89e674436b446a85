"""Code that calls Loci's own tools, through `pml_execute_code`."""

from pathlib import Path

import pytest

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL_CALLER
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import written
from tests.surface.runtimes import take_in
from tests.surface.tools.test_tools_in_code import run

pytestmark = pytest.mark.anyio
SAID = "let said; try {{ await {call} }} catch (error) {{ said = `${{error.code}}: ${{error.message}}` }}; said"
NOTES = {"ferries.md": "# Ferries\n\nThe ferry sails at noon.\n"}


@pytest.fixture
def notes(app: App, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", NOTES))


@needs_deno
@pytest.mark.usefixtures("notes")
@each("name", ["mcp.loci.search_documents", "loci.searchDocuments", "mcp['loci:search_documents']"])
async def test_code_searches_documents(connect: Connect, name: str) -> None:
    code = f"(await {name}({{query: 'ferry'}})).results.map(one => one.path)"
    [path] = (await run(connect, code, "search documents"))["result"]
    assert path.endswith("ferries.md")


@needs_deno
async def test_documents_are_counted_by_month_in_one_run_without_an_intent(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    days = ("2024-01-03", "2024-01-20", "2024-03-01")
    dated = {f"{day}-log.md": f"Saw a heron at the weir on {day}.\n" for day in days}
    take_in(app, written(tmp_path / "logs", {**dated, "other.md": "Nothing to see.\n"}))
    code = """
        const months: Record<string, number> = {};
        for (const {id, date} of (await loci.search_documents({query: "heron", limit: 100})).results) {
            const text = await loci.read_node_content({id});
            if (JSON.stringify(text).includes("heron")) months[date.slice(0, 7)] = (months[date.slice(0, 7)] ?? 0) + 1;
        }
        return months;
    """
    answer = await run(connect, code, "")
    assert answer["result"] == {"2024-01": 2, "2024-03": 1}
    assert "tools_offered" not in answer


@needs_deno
async def test_own_tools_and_upstream_tools_work_together(served: App, connect: Connect) -> None:
    code = "const {sum} = await shop.add_numbers({a: 1, b: 1}); [sum, typeof (await loci.scratchpad_list()).entries]"
    told = await run(connect, code, "add two numbers and list what the scratchpad keeps")
    assert (told["result"], told["tool_calls"]) == ([2, "object"], 2)


@needs_deno
@each(
    ("call", "intent", "error"),
    [
        ("loci.search_documents({limit: 3})", "search documents", "INVALID_PARAMS: query: "),
        ("loci.scratchpad_read({id: 'none'})", "read a kept result", "SCRATCHPAD_NOT_FOUND: "),
    ],
)
async def test_an_error_comes_with_its_code_and_the_path_of_the_argument(
    connect: Connect, call: str, intent: str, error: str
) -> None:
    assert (await run(connect, SAID.format(call=call), intent))["result"].startswith(error)


@needs_deno
async def test_tools_that_run_code_are_not_offered_to_code(connect: Connect) -> None:
    offered = (await run(connect, "Object.keys(mcp)", "run TypeScript code, call a tool, run Python"))["result"]
    assert not {"pml:execute_code", "pml:call_tool", "loci:run_memory_code"} & set(offered)


@each("tool", ["pml:execute_code", "pml_call_tool", "run_memory_code", "create_memory_code_runner"])
def test_a_tool_that_runs_code_or_calls_tools_cannot_be_called_from_code(app: App, tool: str) -> None:
    with pytest.raises(Refused, match="runs code or calls tools itself") as caught:
        app.tools.value(LOCAL_CALLER, "code", tool, {"code": "1", "tool": "x"})
    assert caught.value.code == "TOOL_DENIED"


@each("spelling", ["loci:scratchpad_list", "loci_scratchpad_list", "scratchpad_list"])
def test_each_spelling_reaches_the_tool(app: App, spelling: str) -> None:
    listed = app.tools.value(LOCAL_CALLER, "code", spelling, {})
    assert isinstance(listed, dict)
    assert listed["entries"] == []


async def test_a_client_may_name_loci_too(connect: Connect) -> None:
    async with connect("tools") as client:
        for name in ("loci:scratchpad_list", "mcp__loci__scratchpad_list"):
            assert not (await client.call_tool(name, {})).is_error


def test_code_gets_the_whole_answer(app: App) -> None:
    text = "word " * 20_000
    id = app.scratchpad.keep(LOCAL_CALLER.owner, "t", text).id
    got = app.tools.value(LOCAL_CALLER, "code", "loci:scratchpad_read", {"id": id, "limit": 1_000_000})
    assert text in str(got)
