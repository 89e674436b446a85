"""Aborts, time-outs, failures of the store and of Loci itself: what runs stops, and nobody waits for ever."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

import anyio
import pytest

from loci.compose import build_app
from loci.core.cancellation import Cancellation
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL, LOCAL_CALLER, Caller
from loci.core.json import Json, JsonObject
from loci.workflows.attempts import Attempts
from loci.workflows.plan import Task
from loci.workflows.run import Run
from loci.workflows.runs import TaskResult
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.polling import until
from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio


def of(answer: dict[str, Any], id: str) -> dict[str, Any]:
    return next(one for one in answer["tasks"] if one["taskId"] == id)


def journal(flow: Flow) -> str:
    return flow.journal.read_text() if flow.journal.exists() else ""


async def start(flow: Flow, *tasks: dict[str, Any]) -> str:
    """Start a workflow whose call nobody waits for; its id. The first task has begun."""
    before = journal(flow).count('"begin"')
    with anyio.move_on_after(30):
        async with anyio.create_task_group() as group:

            async def begun() -> None:
                while journal(flow).count('"begin"') == before:
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()

            group.start_soon(begun)
            await flow.run(*tasks)
    [id] = [id for id, run in flow.app.workflows.parts.runs.all(LOCAL).items() if run.status == "running"]
    return id


async def test_an_abort_stops_the_call_that_runs_and_starts_nothing(flow: Flow) -> None:
    wait = task("t2", "wait_for", "t1", file=str(flow.journal) + ".never", key="t2")
    id = await start(flow, task("t1", "echo", value=1), wait, task("t3", "note", "t2", value=3))
    assert await anyio.to_thread.run_sync(lambda: until(lambda: '"t2"' in journal(flow)))
    answer = await flow.answer("pml_abort", workflow_id=id, reason="Wrong folder")
    assert (answer["status"], answer["results"]) == ("aborted", {"t1": {"value": 1}})
    assert "ABORTED" in of(answer, "t2")["error"]
    assert of(answer, "t3")["status"] == "skipped"
    # The server is told that nobody waits any more.
    assert await anyio.to_thread.run_sync(lambda: until(lambda: '"cancelled"' in journal(flow)))
    assert [tool for tool, _ in flow.begun()] == ["echo", "wait_for"]
    assert "WORKFLOW_ENDED" in await flow.failed("pml_abort", workflow_id=id, reason="again")
    again = await flow.answer("pml_continue", workflow_id=id)
    assert again["status"] == "aborted"


@needs_deno
async def test_an_abort_kills_code_that_runs(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    code: dict[str, Any] = {"id": "t1", "type": "code_execution", "timeout": 60_000, "intent": "list some items"}
    code |= {"code": "await journal.items({}); while (true) {}"}
    running: list[Any] = []
    typescript, ended = flow.app.code.run_typescript, threading.Event()

    def run_typescript(*given: Any) -> Any:
        try:
            return typescript(*given)
        finally:
            ended.set()

    monkeypatch.setattr(flow.app.code, "run_typescript", run_typescript)

    def run() -> None:
        running.append(flow.app.workflows.start(LOCAL_CALLER, {"tasks": [code, task("t2", "note", "t1", value=1)]}))

    thread = threading.Thread(target=run)
    thread.start()
    assert until(flow.begun, 60)
    [id] = flow.app.workflows.parts.runs.all(LOCAL)
    flow.app.workflows.abort(LOCAL, id, "It never ends")
    thread.join(60)
    assert running[0]["status"] == "aborted"
    assert ended.wait(30), "it runs on until its time is over"
    assert typescript(LOCAL_CALLER, _request("return 1"))["result"] == 1  # its place is free again


def _request(code: str) -> Any:
    from loci.code.typescript import TypeScriptRequest

    return TypeScriptRequest(code, None, {}, 30_000, 512)


async def test_another_process_aborts_what_this_one_runs(flow: Flow) -> None:
    id = await start(flow, task("t1", "wait_for", file=str(flow.journal) + ".never", key="t1"))
    other = build_app(flow.app.settings)
    other.workflows.abort(LOCAL, id, "from beside")
    assert await anyio.to_thread.run_sync(lambda: until(lambda: '"cancelled"' in journal(flow)))
    other.close()


async def test_a_cancelled_request_leaves_the_workflow_running(flow: Flow) -> None:
    gate = flow.journal.with_name("gate")
    id = await start(flow, task("t1", "wait_for", file=str(gate), key="t1"), task("t2", "note", "t1", value=2))
    gate.touch()
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "complete"


async def test_a_task_that_takes_too_long_is_told_and_stopped(flow: Flow) -> None:
    slow = {**task("t1", "wait_for", file=str(flow.journal) + ".never", key="t1"), "timeout": 500}
    answer = await flow.run(slow, task("t2", "note", "t1", value=1), task("t3", "echo", value=3))
    assert answer["status"] == "error"
    assert "0.5 s" in of(answer, "t1")["error"]
    assert answer["results"] == {"t3": {"value": 3}}
    assert await anyio.to_thread.run_sync(lambda: until(lambda: '"cancelled"' in journal(flow)))


class Steps:
    """Tasks that do what a test says."""

    def __init__(self, flow: Flow, does: Callable[[int, Cancellation], Json]) -> None:
        self.real = flow.app.workflows.parts.steps
        self.does = does
        self.tries = 0
        slices = flow.app.workflows.parts.slices
        slices.steps = self  # pyright: ignore[reportAttributeAccessIssue]

    def checker(self, owner: Any) -> Any:
        return self.real.checker(owner)

    def run(
        self,
        caller: Caller,
        task: Task,
        arguments: JsonObject,
        results: JsonObject,
        cancelled: Cancellation,
        *,
        approved: bool,
    ) -> TaskResult:
        if task.id != "t1":
            return self.real.run(caller, task, arguments, results, cancelled, approved=approved)
        self.tries += 1
        return TaskResult(self.does(self.tries, cancelled))

    def wants_text(self, owner: Any, task: Task) -> Any:
        return self.real.wants_text(owner, task)


async def test_the_late_end_of_a_try_that_was_given_up_does_not_hide_the_next_one(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    second, taken = threading.Event(), threading.Event()
    ends = vars(Attempts)["_ends"]

    def takes(tries: Attempts, run: Run, given: Iterable[Any]) -> list[Any]:
        came = [*given]
        found = [*ends(tries, run, came)]
        if any(one.number == 1 for one in came):
            taken.set()
        return found

    def does(tries: int, cancelled: Cancellation) -> Json:
        if tries == 1:
            monkeypatch.setattr("loci.workflows.attempts.MARGIN_SECONDS", 60.0)  # for the second one
            cancelled.wait(60)
            second.wait(60)
            return "late"  # it ends while the second one runs
        second.set()
        taken.wait(60)
        return "second"

    monkeypatch.setattr("loci.workflows.attempts.MARGIN_SECONDS", 0.0)
    monkeypatch.setattr("loci.workflows.attempts.Attempts._ends", takes)
    Steps(flow, does)
    answer = await flow.run({**task("t1", "echo", value=1), "timeout": 500, "retry": 1})
    assert (answer["status"], answer["results"]) == ("complete", {"t1": "second"})


async def test_a_bug_in_a_task_is_told(flow: Flow, thread_errors: list[BaseException | None]) -> None:
    def does(tries: int, _: Cancellation) -> Json:
        raise ZeroDivisionError(tries)

    Steps(flow, does)
    answer = await flow.run(task("t1", "echo", value=1), task("t2", "note", value=2))
    assert "INTERNAL_ERROR" in of(answer, "t1")["error"]
    assert answer["results"] == {"t2": {"value": 2}}
    until(lambda: thread_errors)


async def test_a_bug_in_what_moves_a_workflow_on_is_told(
    flow: Flow, monkeypatch: pytest.MonkeyPatch, thread_errors: list[BaseException | None]
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("loci.workflows.attempts.Attempts.start", fails)
    answer = await flow.run(task("t1", "echo", value=1), task("t2", "note", "t1", value=2))
    assert answer["status"] == "error"
    assert "INTERNAL_ERROR" in of(answer, "t1")["error"]
    assert of(answer, "t2")["status"] == "skipped"
    until(lambda: thread_errors)


@each("fails", [1, 3])
@each("kind", ["workflow", "workflow_value"])
async def test_a_store_that_fails_for_a_while_loses_nothing(flow: Flow, fails: int, kind: str) -> None:
    flow.anew()
    records = flow.app.records
    put, failed = records.put, list[int]()

    def sometimes(owner: Any, of: str, *args: Any, **kwargs: Any) -> Any:
        ended = kwargs.get("expect_version") != ""  # not the first write, which the caller is told about
        if of == kind and ended and flow.begun() and len(failed) < fails:
            failed.append(1)
            raise Unavailable("No space is left", "Free some")
        return put(owner, of, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "put", sometimes)
        answer = await flow.run(task("t1", "note", value="x" * 5000), task("t2", "note", "t1", value=2))
    assert answer["status"] == "complete"
    assert answer["results"]["t1"] == {"value": "x" * 5000}
    assert len(flow.begun()) == 2
    assert len(failed) == fails


@each(
    ("value", "kept"),
    [
        pytest.param(float("nan"), None, id="nan"),
        pytest.param({"a": [float("inf"), 1]}, {"a": [None, 1]}, id="inf"),
        pytest.param("half \ud800 a pair", "half \ud800 a pair", id="surrogate"),
        pytest.param("x" * 1_000_000, "x" * 1_000_000, id="1 MB"),
        pytest.param("x" * 50_000_000, "x" * 50_000_000, id="50 MB"),
        pytest.param(2**70, 2**70, id="large number"),
    ],
)
async def test_values_of_any_size_and_kind_are_kept(flow: Flow, value: Json, kept: Json) -> None:
    Steps(flow, lambda _, __: value)
    answer = flow.app.workflows.start(LOCAL_CALLER, {"tasks": [task("t1", "echo", value=1)]})
    id = str(answer["workflow_id"])
    run = flow.app.workflows.ended_run(LOCAL, id)
    assert (answer["status"], flow.app.workflows.values(LOCAL, id, run)) == ("complete", {"t1": kept})


async def test_a_value_that_is_too_deep_is_told(flow: Flow) -> None:
    deep: Json = 1
    for _ in range(5000):
        deep = [deep]
    Steps(flow, lambda _, __: deep)
    answer = await flow.run(task("t1", "echo", value=1))
    assert "RESULT_TOO_DEEP" in of(answer, "t1")["error"]


async def test_200_tasks_run_each_once(flow: Flow) -> None:
    answer = await flow.run(*(task(f"t{at}", "note", value=at) for at in range(200)))
    assert answer["status"] == "complete"
    assert sorted(given["value"] for _, given in flow.begun()) == [*range(200)]
    assert answer["results"]["t199"] == {"value": 199}


async def test_a_damaged_record_is_told_and_gives_its_slot_back(flow: Flow) -> None:
    answer = await flow.run(task("t1", "echo", value=1), task("t2", "echo", "t1", value=2), per_layer_validation=True)
    id = answer["workflow_id"]
    flow.app.records.put(LOCAL, "workflow", id, {"plan": "gone"})
    assert "damaged" in await flow.failed("pml_continue", workflow_id=id)
    assert "WORKFLOW_NOT_FOUND" in await flow.failed("pml_workflow_status", workflow_id=id)


async def test_what_a_task_gave_and_is_lost_is_told(flow: Flow) -> None:
    large = task("t1", "large", characters=5000)
    answer = await flow.run(large, task("t2", "note", value="$t1.result.text"), per_layer_validation=True)
    id = answer["workflow_id"]
    flow.app.records.remove(LOCAL, "workflow_value", f"{id}/t1/1")
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert "RESULT_LOST" in of(answer, "t2")["error"]
    assert [tool for tool, _ in flow.begun()] == ["large"]
