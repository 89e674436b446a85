"""Code that calls tools: those that it was given, under every name, and no others."""

import json

import pytest

from loci.code.bridge import READING
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.typescript.conftest import COMMITS, Desk

pytestmark = [pytest.mark.anyio, needs_deno]


@each(
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
    assert await desk.value(code, intent=COMMITS) == 50


async def test_without_an_intent_there_are_only_those_that_read_documents(desk: Desk) -> None:
    assert await desk.value("[typeof github, Object.keys(mcp)]") == ["undefined", [*READING]]


FIRE = "broken:fails failed: Error executing tool fails: The server is on fire. Correct the call."


@each(
    ("tool", "intent", "code", "said"),
    [
        ("fails", "try what fails", "TOOL_ERROR", FIRE),
        ("bug", "break because of a bug", "TOOL_ERROR", ""),
        ("dies", "die in the middle of a call", "MCP_SERVER_ERROR", "The disk is full"),
    ],
)
async def test_a_failing_tool_throws_what_it_said(desk: Desk, tool: str, intent: str, code: str, said: str) -> None:
    failing = f"try {{ await broken.{tool}() }} catch (e) {{ return [e.name, e.code, e.message] }}"
    *named, message = await desk.value(failing, intent=intent)
    assert named == ["ToolError", code]
    assert message == said if tool == "fails" else said in message


async def test_a_tool_that_is_not_there_names_those_that_are(desk: Desk) -> None:
    told = await desk.failure("await github.deleteAll()", intent=COMMITS)
    assert "github has no tool 'deleteAll' here; it has: listCommits" in told["message"]


async def test_nothing_can_be_called_that_was_not_given(desk: Desk) -> None:
    before = len(desk.servers.calls())
    code = """
const line = JSON.stringify({t: 'call', n: 77, tool: 'admin:delete_all', args: {}});
Deno.stdout.writeSync(new TextEncoder().encode(line + '\\n'));
await github.listCommits();
return 'done'
"""
    told = await desk.told(code, intent=COMMITS)
    assert told["result"] == "done"
    assert [one["name"] for one in told["tools_offered"]] == ["github:list_commits"]
    assert [one["tool"] for one in desk.servers.calls()[before:]] == ["github:list_commits"]


async def test_the_201st_call_is_refused(desk: Desk) -> None:
    code = """
let done = 0;
try { for (;;) { await github.listCommits(); done++ } } catch (e) { return [done, e.code, e.message] }
"""
    assert await desk.value(code, intent=COMMITS) == [200, "TOOL_DENIED", "A run may call tools 200 times"]


async def test_arguments_have_a_size(desk: Desk) -> None:
    code = "try { await github.listCommits({a: 'x'.repeat(2e6)}) } catch (e) { return e.message }"
    assert "at most 1024 KB" in await desk.value(code, intent=COMMITS)


@each("argument", ["5", "[1]", "'text'"])
async def test_a_tool_is_called_with_an_object(desk: Desk, argument: str) -> None:
    code = f"try {{ await github.listCommits({argument}) }} catch (e) {{ return e.code }}"
    assert await desk.value(code, intent=COMMITS) == "INVALID_PARAMS"


async def test_each_run_has_one_line_in_the_log_without_contents(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.value("await github.listCommits({secret: 'hunter2'}); 1", intent=COMMITS)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    [ran] = [line for line in lines if line["message"] == "ran"]
    assert (ran["tools"], ran["denied"], ran["outcome"]) == ({"github:list_commits": 1}, 0, "ok")
    assert "hunter2" not in json.dumps(lines)
