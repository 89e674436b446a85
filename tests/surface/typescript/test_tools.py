"""Code that calls tools: those that it was given, under every name, and no others."""

import json

import pytest

from tests.support.deno import needs_deno
from tests.surface.typescript.conftest import Desk

pytestmark = [pytest.mark.anyio, needs_deno]


async def test_the_example_of_the_reference_counts_commits(desk: Desk) -> None:
    code = """
// 'github' injected automatically thanks to intent
const commits = await github.listCommits({ limit: 100 });
return commits.filter(c => c.author === "alice").length;
"""
    told = await desk.told(code, intent="Analyze GitHub commits")
    assert (told["result"], told["tool_calls"]) == (2, 1)


@pytest.mark.parametrize(
    "call",
    [
        "filesystem.read_file({path: 'a.txt'})",
        "filesystem.readFile({path: 'a.txt'})",
        "mcp['filesystem:read_file']({path: 'a.txt'})",
    ],
)
async def test_a_tool_has_three_names(desk: Desk, call: str) -> None:
    assert await desk.value(f"await {call}", intent="read files") == "fine"


async def test_tools_answer_side_by_side(desk: Desk) -> None:
    code = "(await Promise.all(Array.from({length: 50}, () => github.listCommits({limit: 1})))).flat().length"
    assert await desk.value(code, intent="everything") == 50


async def test_without_an_intent_there_are_no_tools(desk: Desk) -> None:
    assert await desk.value("[typeof github, Object.keys(mcp)]") == ["undefined", []]


async def test_a_failing_tool_throws_what_it_said(desk: Desk) -> None:
    code = "try { await broken.fails() } catch (e) { return [e.name, e.code, e.message] }"
    assert await desk.value(code, intent="everything") == [
        *("ToolError", "MCP_SERVER_ERROR", "The server is on fire. Call the fire brigade.")
    ]


async def test_a_tool_that_is_not_there_names_those_that_are(desk: Desk) -> None:
    told = await desk.failure("await github.deleteAll()", intent="everything")
    assert "github has no tool 'deleteAll' here; it has: listCommits" in told["error"]["message"]


async def test_nothing_can_be_called_that_was_not_given(desk: Desk) -> None:
    desk.tools.called.clear()
    code = """
const line = JSON.stringify({t: 'call', n: 77, tool: 'admin:delete_all', args: {}});
Deno.stdout.writeSync(new TextEncoder().encode(line + '\\n'));
await github.listCommits();
return 'done'
"""
    assert await desk.value(code, intent="everything") == "done"
    assert [tool for _, tool, _ in desk.tools.called] == ["github:list_commits"]


async def test_the_201st_call_is_refused(desk: Desk) -> None:
    code = """
let done = 0;
try { for (;;) { await github.listCommits(); done++ } } catch (e) { return [done, e.code, e.message] }
"""
    assert await desk.value(code, intent="everything") == [200, "TOOL_DENIED", "A run may call tools 200 times"]


async def test_arguments_have_a_size(desk: Desk) -> None:
    code = "try { await github.listCommits({a: 'x'.repeat(2e6)}) } catch (e) { return e.message }"
    assert "at most 1024 KB" in await desk.value(code, intent="everything")


@pytest.mark.parametrize("argument", ["5", "[1]", "'text'"])
async def test_a_tool_is_called_with_an_object(desk: Desk, argument: str) -> None:
    code = f"try {{ await github.listCommits({argument}) }} catch (e) {{ return e.code }}"
    assert await desk.value(code, intent="everything") == "INVALID_PARAMS"


async def test_each_run_has_one_line_in_the_log_without_contents(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.value("await github.listCommits({secret: 'hunter2'}); 1", intent="everything")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    [ran] = [line for line in lines if line["message"] == "ran"]
    assert (ran["tools"], ran["denied"], ran["outcome"]) == ({"github:list_commits": 1}, 0, "ok")
    assert "hunter2" not in json.dumps(lines)
