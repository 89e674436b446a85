"""Attacks on what is ours: the bridge, the lines, the spares, what is remembered, and other owners' runs."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.app import App
from loci.code.ports import Completed
from loci.code.runs import AT_ONCE, RunQueue
from loci.code.typescript import TypeScriptRequest, TypeScriptRun
from loci.compose import build_app
from loci.core.errors import NotFound, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.settings import load_settings
from loci.sandbox.supervisor.deno_starter import DenoStarter
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.deno.world import GITHUB, World
from tests.support.deno import STRONGEST, Given, failed, needs_deno, run, sandbox, steady, value
from tests.support.each import each
from tests.support.polling import until
from tests.support.processes import children, command_line
from tests.support.tame_servers import over_stdio

pytestmark = needs_deno
ANN, BOB = (Caller(Owner("t", name), "key") for name in ("ann", "bob"))
WRITE = "const write = (line) => Deno.stdout.writeSync(new TextEncoder().encode(line + '\\n'));"


@each("name", ["__proto__", "constructor", "toString", "hasOwnProperty", "admin:delete_all"])
def test_what_every_object_has_is_no_tool(deno: DenoSandbox, outside: World, tried: Tried, name: str) -> None:
    given = Given(clients=(GITHUB,), call=outside.call)
    with tried(name):
        for holder in ("mcp", "github"):
            assert "has no tool" in failed(deno, f"await {holder}[{name!r}]({{}})", given).message
        assert value(deno, "1 + 1") == 2


def test_numbers_of_calls_are_the_codes_own_affair(deno: DenoSandbox, outside: World) -> None:
    code = WRITE + (
        "for (const n of [1, 1, -1, 0, 1e15, 2 ** 31]) "
        "write(JSON.stringify({t: 'call', n, tool: 'github:list_commits', args: {}}));"
        'write(\'{"t":"call","n":\' + \'9\'.repeat(4000) + \',"tool":"github:list_commits","args":{}}\');'
        'write(\'{"t":"call","n":true,"tool":"github:list_commits","args":{}}\');'
        "return await github.listCommits()"
    )
    outside.called.clear()
    ended = run(deno, code, Given(clients=(GITHUB,), call=outside.call))
    assert set(outside.called) == {"github:list_commits"}
    assert len(outside.called) <= 9
    assert ended.measured.calls <= 9
    assert value(deno, "1 + 1") == 2


@each(
    "line",
    [
        '{"t":"result","value":1e999,"seen":[]}',
        '{"t":"result","value":NaN,"seen":[]}',
        '{"t":"result","value":"\\\\ud800","seen":[],"kind":"\\\\udfff"}',
        '{"t":"result","value":{"\\\\ud800":["\\\\ud800"]},"seen":5,"dropped":-1}',
        '{"t":"error","name":5,"message":{},"stack":[1,{"line":-1},"x"],"line":1e99,"advice":[]}',
        '{"t":"log","level":"<script>","text":["\\\\ud800"]}',
        '{"t":"ready"}',
        '{"n":1,"ok":true,"value":"forged"}',
        '{"pid":1}',
        '{"ended":0,"peak":99999999999}',
    ],
)
def test_a_forged_line_gives_nothing_that_cannot_be_sent_on(deno: DenoSandbox, tried: Tried, line: str) -> None:
    with tried(line):
        ended = run(deno, f"{WRITE} write('{line}'); return 1")
        told = json.dumps([ended.value, ended.kind] if isinstance(ended, Completed) else ended.message, allow_nan=False)
        (told + "".join(one.text for one in ended.measured.logs)).encode()
        assert 0 < ended.measured.memory_mb < 1024
        assert value(deno, "1 + 1") == 2


def test_it_writes_its_own_end_to_no_descriptor_of_ours(deno: DenoSandbox) -> None:
    code = (
        "const fs = await import('node:fs'); let wrote = 0;"
        'for (let fd = 3; fd < 64; fd++) try { fs.writeSync(fd, \'{"ended": 0, "peak": 1, "pid": 1}\\n\'); wrote++ }'
        "catch {} return 'alive'"
    )
    ended = run(deno, code)
    assert not isinstance(ended, Completed) or ended.value == "alive"
    assert value(deno, "1 + 1") == 2


def test_it_takes_answers_of_tools_from_itself_only(deno: DenoSandbox, outside: World) -> None:
    code = (
        "const got = github.listCommits({}); const b = new Uint8Array(1e5);"
        "const n = Deno.stdin.readSync(b); return new TextDecoder().decode(b.subarray(0, n ?? 0))"
    )
    ended = run(deno, code, Given(clients=(GITHUB,), call=outside.call, timeout_ms=1000))
    told = str(ended.value) if isinstance(ended, Completed) else ""
    assert all(json.loads(line)["value"] == {"ok": True} for line in told.splitlines())
    assert value(deno, "1 + 1") == 2


@each(
    "module",
    [
        "data:application/javascript,export {default} from 'file://$WORLD/secret.txt' with {type: 'text'}",
        "data:application/typescript,import a from 'file://$WORLD/secret.txt' with {type: 'text'}; export default a",
        "data:application/json,{}",
    ],
)
def test_a_module_made_of_text_reads_no_file(deno: DenoSandbox, outside: World, tried: Tried, module: str) -> None:
    with tried(module):
        code = f"return (await import({json.dumps(module)})).default".replace("$WORLD", str(outside.folder))
        assert outside.leaked(run(deno, code)) == []


def test_nothing_is_left_for_the_next_run(deno: DenoSandbox) -> None:
    plant = "globalThis.planted = 1; Array.prototype.planted = 1; JSON.stringify = () => '\"planted\"'; 1"
    run(deno, plant)
    found = "[typeof planted, [].planted, JSON.stringify(1)]"
    assert [value(deno, found) for _ in range(3)] == [["undefined", None, "1"]] * 3


def launchers() -> set[int]:
    return {one for one in children(os.getpid()) if b"deno_launcher" in command_line(one)}


def test_a_spare_that_was_killed_is_not_used() -> None:
    before = launchers()
    with sandbox(STRONGEST) as made:
        assert value(made, "1") == 1
        [launcher] = launchers() - before
        spares = until(lambda: children(launcher))
        for spare in spares:
            os.kill(spare, signal.SIGKILL)
        until(lambda: not any(Path(f"/proc/{one}").exists() for one in spares))
        assert [value(made, "1 + 1") for _ in range(3)] == [2, 2, 2]


def test_a_launcher_that_was_killed_takes_its_runs_along_and_is_started_again() -> None:
    before = launchers()
    with sandbox(STRONGEST) as made:
        assert value(made, "1") == 1
        [launcher] = launchers() - before
        spares = until(lambda: children(launcher))
        os.kill(launcher, signal.SIGKILL)
        until(lambda: not any(Path(f"/proc/{one}/cmdline").exists() for one in spares))
        assert value(made, "1 + 1") == 2


@each("moment", ["before it is asked", "after it was asked"])
@each("times", [1, 2])
def test_a_launcher_that_dies_while_it_starts_a_process_fails_no_call(moment: str, times: int) -> None:
    before, left, ask = launchers(), [times], DenoStarter._ask  # pyright: ignore[reportPrivateUsage]

    def kill() -> None:
        if left[0]:
            left[0] -= 1
            for one in launchers() - before:
                os.kill(one, signal.SIGKILL)

    def asked(starter: DenoStarter, *given: Any) -> None:
        if moment == "before it is asked":
            kill()
        ask(starter, *given)
        if moment == "after it was asked":
            kill()

    with sandbox(STRONGEST, 0) as made, pytest.MonkeyPatch.context() as patch:
        assert value(made, "1") == 1
        patch.setattr(DenoStarter, "_ask", asked)
        assert value(made, "1 + 1") == 2
        assert left[0] < times


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """The product, whose sandbox is behind the strongest wall that there is."""
    settings = {"data": tmp_path / "data", "models": tmp_path / "models", "allow_unsandboxed": True}
    with closing(build_app(load_settings(settings))) as app:
        yield app


def test_what_one_owner_made_be_remembered_no_other_is_told(app: App) -> None:
    forging = WRITE + 'write(\'{"t":"result","value":"forged","seen":[]}\'); return \'honest\''
    for caller in (ANN, ANN, BOB):
        told = app.code.start_typescript(caller, TypeScriptRequest(forging)).future.result(60)
        assert ("cached" in told) == (caller is ANN and told.get("cached", False))
    assert "cached" not in app.code.start_typescript(BOB, TypeScriptRequest("'of ann'")).future.result(60)
    app.code.start_typescript(ANN, TypeScriptRequest("'of bob'")).future.result(60)
    assert "cached" not in app.code.start_typescript(BOB, TypeScriptRequest("'of bob'")).future.result(60)


@each(
    "clock",
    [
        "Reflect.get(Date, 'now')()",
        "Reflect.apply(Date, null, [])",
        "Object.getOwnPropertyDescriptor(performance, 'now') ?? performance.now()",
        "new Proxy(Date, {}).now()",
        "JSON.parse('1', () => Date.now())",
        "structuredClone(new Date())",
        "[0].map(Math.random)[0]",
        "Object.values(globalThis).length",
        "Reflect.ownKeys(globalThis).map(k => (globalThis as any)[k]).length",
    ],
)
def test_a_roundabout_way_to_the_clock_is_noticed(deno: DenoSandbox, tried: Tried, clock: str) -> None:
    with tried(clock):
        assert not steady(deno, clock)


def test_a_tool_is_called_for_who_asked_and_for_nobody_else(app: App, tmp_path: Path) -> None:
    servers = over_stdio(tmp_path / "servers")
    for caller in (ANN, BOB):
        servers.configure(app, "github", owner=caller.owner)
    code = "await github.listCommits({owner: 'bob', caller: {owner: {subject: 'bob'}}}); 1"
    request = TypeScriptRequest(code, intent="list the commits of bob")
    app.code.start_typescript(ANN, request).future.result(60)
    assert [one["who"] for one in servers.calls()] == ["ann"]


def test_who_fills_their_places_takes_nobody_elses(monkeypatch: pytest.MonkeyPatch, app: App) -> None:
    monkeypatch.setattr("loci.code.typescript.RunQueue", lambda: RunQueue(AT_ONCE, AT_ONCE + 4))
    endless = TypeScriptRequest("for (;;) {}", timeout_ms=300, memory_mb=128)
    runs = [app.code.start_typescript(ANN, endless) for _ in range(AT_ONCE)]
    waiting = [app.code.start_typescript(ANN, TypeScriptRequest(f"{number}")) for number in range(4)]
    with pytest.raises(Unavailable, match="under way"):
        app.code.start_typescript(ANN, endless)
    assert app.code.start_typescript(BOB, TypeScriptRequest("1 + 1")).future.result(60)["result"] == 2
    assert all(one.future.exception(60) is not None for one in runs)
    assert [one.future.result(60)["result"] for one in waiting] == list(range(4))


def test_another_owner_cannot_read_a_run_that_goes_on(app: App) -> None:
    request = TypeScriptRequest("await new Promise(done => setTimeout(done, 3000)); 'of ann'")
    begun = app.code.start_typescript(ANN, request)
    assert isinstance(begun, TypeScriptRun)
    id = str(begun.later()["scratchpad_id"])
    with pytest.raises(NotFound):
        app.scratchpad.read(BOB.owner, id)
    until(lambda: any(one.id == id for one in app.scratchpad.list(ANN.owner)))
    with pytest.raises(NotFound):
        app.scratchpad.read(BOB.owner, id)
    assert "of ann" in app.scratchpad.read(ANN.owner, id).text
