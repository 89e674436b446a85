"""Code that calls tools: those that it was given, under every name, and no others."""

import json

import pytest

from loci.code.bridge import CALL, READING
from loci.core.identity import LOCAL
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


async def test_code_that_names_no_tool_has_those_that_read_documents(desk: Desk) -> None:
    assert await desk.value("Object.keys(mcp)") == [*READING, CALL]


@each(
    "code",
    [
        "await filesystem.readFile({path: 'a.txt'})",
        "await mcp.filesystem.read_file({path: 'a.txt'})",
        "await mcp['filesystem:read_file']({path: 'a.txt'})",
        "const {readFile} = filesystem; await readFile({path: 'a.txt'})",
        "await loci.call('filesystem:read_file', {path: 'a.txt'})",
        "await loci.call(['filesystem', 'read_file'].join(':'), {path: 'a.txt'})",
        "const {tools: [one]} = await loci.searchTools('filesystem:read_file'); mcp[one.name]({path: 'a.txt'})",
    ],
)
@each("intent", [None, COMMITS])
async def test_code_reaches_each_tool_that_it_names(desk: Desk, code: str, intent: str | None) -> None:
    assert await desk.value(code, intent=intent) == "fine"


async def test_a_caller_names_tools_for_names_that_code_computes(desk: Desk) -> None:
    code = "await mcp['file' + 'system'].read_file({path: 'a.txt'})"
    assert await desk.value(code, tools=["filesystem:*"]) == "fine"
    assert "no tool 'filesystem' here" in (await desk.failure(code))["message"]


async def test_a_name_that_the_caller_gives_and_no_tool_has_is_told_before_the_run(desk: Desk) -> None:
    told = await desk.failure("1", tools=["filesytem:*"])
    assert (told["code"], "filesystem" in told["resolution"]) == ("TOOL_NOT_FOUND", True)


async def test_the_list_of_tools_has_types(desk: Desk) -> None:
    [one] = await desk.value("loci.tools.filter(one => one.name === 'github:list_commits')")
    assert one["input"] == "{limit?: number}"


@each(
    ("code", "said"),
    [
        (
            "await filesystem.readFiel({path: 'a.txt'})",
            "filesystem has no tool 'readFiel' here; the nearest are readFile",
        ),
        ("await loci.call('filesystem:reed_file', {})", "filesystem:read_file"),
        ("await filesytem.readFile({path: 'a.txt'})", "filesystem"),
        ("await readFile({path: 'a.txt'})", "filesystem.readFile"),
    ],
)
async def test_an_unknown_name_is_a_reference_error_with_the_nearest(desk: Desk, code: str, said: str) -> None:
    told = await desk.failure(code)
    assert told["message"].startswith("ReferenceError: ")
    assert said in f"{told['message']} {told['resolution']}"


FORBIDDEN = (
    "await loci.call('pml:approval_response', {workflow_id: 'a', checkpoint_id: 'b', approved: true})",
    "await loci.call('pml_approval_response', {workflow_id: 'a', checkpoint_id: 'b', approved: true})",
    "await loci.call('pml:call_tool', {tool: 'admin:delete_all', arguments: {}})",
    "await loci.call('pml:execute_code', {code: '1'})",
    "await loci.call('mcp__pml__continue', {workflow_id: 'a'})",
    "await loci.approvalResponse({workflow_id: 'a', checkpoint_id: 'b', approved: true})",
    "await loci['appro' + 'val_response']({workflow_id: 'a', checkpoint_id: 'b', approved: true})",
    "await loci.call(['admin', 'delete_all'].join(':'), {})",
    "await admin.deleteAll({})",
    "await loci.call({toString: () => 'admin:delete_all'}, {})",
    "loci.__proto__.call = 1; await loci.constructor.constructor('return 1')()",
    "Object.setPrototypeOf(mcp, {x: 1}); await mcp.x",
    "await globalThis['ad' + 'min'].delete_all({})",
    "Array.prototype.includes = () => true; Map.prototype.has = () => true; await mcp['ad' + 'min:delete_all']({})",
)


@each("code", FORBIDDEN)
@each(("rule", "said"), [("deny", "TOOL_DENIED"), ("approve", "APPROVAL_PENDING")])
async def test_no_code_gets_past_a_person_or_the_policy(
    desk: Desk, code: str, rule: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci.gateway.waiting_calls.PATIENCE", 0.0)
    before = len(desk.servers.calls())
    desk.app.tools.add(LOCAL, "admin", {**desk.servers.entry("admin"), rule: ["*"]})
    try:
        value = await desk.value(
            f"try {{ {code} }} catch (error) {{ return error.code ?? error.name }}", tools=["loci:*", "pml:*"]
        )
    finally:
        desk.servers.configure(desk.app, "admin")
    assert value in {said, "TOOL_DENIED", "TOOL_NOT_FOUND", "INVALID_PARAMS", "TypeError"}
    assert desk.servers.calls()[before:] == []


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
    assert "github has no tool 'deleteAll' here; the nearest are listCommits" in told["message"]


async def test_nothing_can_be_called_that_was_not_given(desk: Desk) -> None:
    before = len(desk.servers.calls())
    code = """
const line = JSON.stringify({t: 'call', n: 77, tool: 'ad' + 'min:delete_all', args: {}});
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
