"""Code that takes longer than its call waits."""

import json
import threading
from collections.abc import Callable, Generator
from dataclasses import replace

import anyio.to_thread
import pytest
from mcp import Client

from loci.code.api import Code
from loci.code.runs import RunQueue
from loci.core.errors import NotFound
from loci.core.identity import LOCAL, Owner
from loci.mcp.server import build_server
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.polling import until
from tests.support.with_parts import with_patience
from tests.surface.results import error_of, structured
from tests.surface.typescript.conftest import Desk

pytestmark = [pytest.mark.anyio, needs_deno]
SLOW = "console.log('begun'); return [await clock.waitForIt(), 1]"


@pytest.fixture
def hasty(desk: Desk) -> Generator[Desk]:
    desk.servers.hold()
    yield replace(desk, app=with_patience(desk.app, 0.2))
    desk.servers.let_go()


def _entry(desk: Desk, id: str) -> str | None:
    return next((one.id for one in desk.app.scratchpad.list(LOCAL) if one.id == id), None)


async def test_it_goes_on_and_is_read_from_the_scratchpad(hasty: Desk) -> None:
    told = await hasty.told(SLOW, intent="wait")
    assert (told["status"], told["result"], told["logs"]) == ("running", None, [])
    id = told["scratchpad_id"]
    assert f"scratchpad_read('{id}')" in told["hint"]
    async with Client(build_server(hasty.app), mode="2026-07-28") as client:
        early = await client.call_tool("scratchpad_read", {"id": id})
        assert error_of(early)["code"] == "STILL_RUNNING"
        hasty.servers.let_go()
        until(lambda: _entry(hasty, id))
        read = structured(await client.call_tool("scratchpad_read", {"id": id}))
    whole = json.loads(read["result"])
    assert whole["result"] == ["it came", 1]
    assert whole["logs"] == [{"level": "log", "text": "begun"}]
    assert whole["tool_calls"] == 1


async def test_a_late_failure_is_read_there_too(hasty: Desk) -> None:
    told = await hasty.told("await clock.waitForIt(); null.x", intent="wait")
    hasty.servers.let_go()
    until(lambda: _entry(hasty, told["scratchpad_id"]))
    kept = json.loads(hasty.app.scratchpad.read(LOCAL, told["scratchpad_id"]).text)
    assert kept["error"]["code"] == "CODE_ERROR"


async def test_a_promise_that_nobody_keeps_is_told(hasty: Desk) -> None:
    id = hasty.app.scratchpad.promise(LOCAL, "pml_execute_code", -1)
    async with Client(build_server(hasty.app), mode="2026-07-28") as client:
        answer = await client.call_tool("scratchpad_read", {"id": id})
    assert error_of(answer)["code"] == "RUN_LOST"


def test_another_owner_sees_no_promise(hasty: Desk) -> None:
    id = hasty.app.scratchpad.promise(LOCAL, "pml_execute_code", 60)
    with pytest.raises(NotFound):
        hasty.app.scratchpad.read(Owner("", "somebody else"), id)


@each("mode", ["legacy", "2026-07-28"])
async def test_a_call_that_is_cancelled_ends_its_run(desk: Desk, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    async with Client(build_server(desk.app), mode=mode) as client:
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("pml_execute_code", {"code": "for (;;) {}"})
        assert scope.cancelled_caught

        await anyio.to_thread.run_sync(until, lambda: _is_ended(caplog))


async def test_a_call_that_is_cancelled_while_its_run_begins_ends_the_run(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled, enter = threading.Event(), RunQueue.enter

    def enter_late(queue: RunQueue, owner: str, work: Callable[[], None]) -> None:
        cancelled.wait(30)
        enter(queue, owner, work)

    monkeypatch.setattr(RunQueue, "enter", enter_late)
    monkeypatch.setattr(Code, "starts_typescript_at_once", False)  # as before the sandbox is loaded
    async with Client(build_server(desk.app), mode="2026-07-28") as client:
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("pml_execute_code", {"code": "for (;;) {}"})
        assert scope.cancelled_caught
        cancelled.set()
        await anyio.to_thread.run_sync(until, lambda: _is_ended(caplog))


def _is_ended(caplog: pytest.LogCaptureFixture) -> bool:
    return any("SANDBOX_CANCELLED" in str(vars(one)) for one in caplog.records)
