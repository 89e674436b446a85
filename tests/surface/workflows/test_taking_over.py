"""Who moves a workflow on: leases, slots, expiry, and answers that come at the same time."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.workflow_threads import is_gone, this_process
from loci.core.errors import LociError, NotFound
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.json import JsonObject
from loci.workflows.parts import MOST_ACTIVE
from loci.workflows.run import Lease, TaskState
from loci.workflows.runs import ActiveOwners
from tests.support.answerers import AGENT
from tests.support.each import each
from tests.support.polling import until
from tests.surface.workflows.conftest import Flow, task

PLAN: JsonObject = {"tasks": [task("t1", "echo", value=1), task("t2", "note", "t1", value=2)]}
HOUR = 3600.0


def paused(flow: Flow) -> str:
    return str(flow.app.workflows.start(LOCAL_CALLER, PLAN, by_layer=True)["workflow_id"])


def left(flow: Flow, holder: str, until: float, **tasks: str) -> str:
    """A run that somebody else moves on, with tasks in these states."""
    id, runs = paused(flow), flow.app.workflows.parts.runs

    def held(run: Any) -> Any:
        states = {id: TaskState.model_validate({"status": status, "tries": 1}) for id, status in tasks.items()}
        lease = Lease(holder=holder, until=until)
        update = {"status": "running", "checkpoint": None, "lease": lease, "released": 2}
        return run.with_tasks(states).model_copy(update=update)

    runs.change(LOCAL, id, held)
    return id


def status(flow: Flow, id: str) -> Any:
    return flow.app.workflows.status(LOCAL, id)["status"]


def test_a_run_whose_holder_lives_is_left_alone_until_its_lease_ends(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = flow.app.workflows.parts.clock
    id = left(flow, this_process() + ".1", clock() + HOUR, t1="running")
    assert flow.app.workflows.resume(LOCAL) == 0
    flow.app.workflows.parts.engine.start(LOCAL, id)
    assert len(flow.begun()) == 1
    monkeypatch.setattr(flow.app.workflows.parts.slices, "clock", lambda: clock() + HOUR)
    assert flow.app.workflows.resume(LOCAL) == 1
    assert until(lambda: status(flow, id) == "complete")
    assert [tool for tool, _ in flow.begun()] == ["echo", "echo", "note"]


def test_what_writes_is_not_repeated_after_a_takeover(flow: Flow) -> None:
    id = left(flow, "1.0.elsewhere.1", 0.0, t2="running")
    assert flow.app.workflows.resume(LOCAL) == 1
    assert until(lambda: status(flow, id) == "error")
    assert "INTERRUPTED" in str(flow.app.workflows.status(LOCAL, id)["tasks"])
    assert [tool for tool, _ in flow.begun()] == ["echo"]


def test_a_dead_process_is_gone_and_one_with_its_number_is_another(flow: Flow) -> None:
    mine = this_process()
    assert not is_gone(mine)
    pid, began, place = mine.split(".")
    assert is_gone(f"{pid}.{began}0.{place}.1")  # the number was given again
    assert not is_gone(f"{pid}.{began}.elsewhere.1")  # a container: its numbers mean nothing here
    assert not is_gone("nonsense")
    command = "from loci.adapters.local.workflow_threads import *; print(this_process(), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", command], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout is not None
        holder = child.stdout.readline().strip() + ".1"
        assert not is_gone(holder)
        os.kill(child.pid, signal.SIGKILL)
        assert until(lambda: is_gone(holder))  # as soon as it is dead, though nobody has waited for it
    assert is_gone(holder)


def test_who_stalls_and_comes_back_changes_nothing_any_more(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = flow.journal.with_name("gate")
    plan: JsonObject = {"tasks": [task("t1", "wait_for", file=str(gate)), task("t2", "note", "t1", value=2)]}
    monkeypatch.setattr("loci.workflows.slice.NEWS_SECONDS", 60.0)
    answers: list[JsonObject] = []
    thread = threading.Thread(target=lambda: answers.append(flow.app.workflows.start(LOCAL_CALLER, plan)))
    thread.start()
    assert until(lambda: len(flow.begun()) == 1)
    runs = flow.app.workflows.parts.runs
    [id] = runs.all(LOCAL)
    # Another process believed it dead, and has ended its task.
    done = TaskState.model_validate({"status": "success", "value": {"found": "there"}, "tries": 2})
    over = {"lease": Lease(holder="other", until=flow.app.workflows.parts.clock() + 1.0)}
    runs.change(LOCAL, id, lambda run: run.with_tasks({"t1": done}).model_copy(update=over))
    gate.touch()
    assert until(lambda: flow.app.workflows.resume(LOCAL) == 1)
    thread.join(60)
    assert answers[0]["results"] == {"t1": {"found": "there"}, "t2": {"value": 2}}
    assert [tool for tool, _ in flow.begun()] == ["wait_for", "note"]


def test_a_status_tells_if_the_server_has_ended(flow: Flow) -> None:
    id = left(flow, "1.0.elsewhere.1", 0.0, t2="running")
    flow.app.workflows.wait_for_ends()
    told = flow.app.workflows.status(LOCAL, id)
    assert (told["status"], "loci serve" in str(told["next_action"])) == ("running", True)
    assert flow.app.workflows.proceed(LOCAL_CALLER, id)["status"] == "error"
    assert "INTERRUPTED" in str(flow.app.workflows.status(LOCAL, id)["tasks"])


def test_a_task_that_is_interrupted_again_and_again_is_given_up(flow: Flow) -> None:
    id = left(flow, "1.0.elsewhere.1", 0.0, t1="running")
    runs = flow.app.workflows.parts.runs
    often = TaskState(status="running", tries=12)
    runs.change(LOCAL, id, lambda run: run.with_tasks({"t1": often}))
    flow.app.workflows.resume(LOCAL)
    assert until(lambda: status(flow, id) == "error")
    assert len(flow.begun()) == 1


def test_the_slot_of_a_retry_is_kept_before_its_run_goes_on(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    workflows = flow.app.workflows
    id = str(workflows.start(LOCAL_CALLER, {"tasks": [task("t1", "flaky")]})["workflow_id"])
    change, freed = workflows.parts.runs.change, list[bool]()

    def looked_at(*given: Any, **named: Any) -> Any:
        if not freed:
            freed.append(id not in workflows.parts.active.states(LOCAL))
        return change(*given, **named)

    monkeypatch.setattr(workflows.parts.runs, "change", looked_at)
    assert workflows.proceed(LOCAL_CALLER, id, retry=["t1"])["status"] == "complete"
    assert freed == [False]
    assert id not in workflows.parts.active.states(LOCAL)


def test_runs_that_wait_take_no_place_and_slots_come_free(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    active = flow.app.workflows.parts.active
    ids = [paused(flow) for _ in range(3)]
    for at in range(MOST_ACTIVE - 3):
        active.begin(LOCAL, f"wf_{at}")
    for at in range(3):  # in place of those that wait
        active.begin(LOCAL, f"wf_more_{at}")
    with pytest.raises(LociError, match="100 workflows of yours are active") as refused:
        active.begin(LOCAL, "wf_one_too_many")
    assert refused.value.code == "TOO_MANY_WORKFLOWS"
    assert set(ids) <= active.states(LOCAL).keys()
    assert flow.app.workflows.proceed(LOCAL_CALLER, ids[0])["status"] == "complete"
    active.states(LOCAL)
    assert ids[0] not in active.states(LOCAL)
    later = flow.app.workflows.parts.clock() + 100
    monkeypatch.setattr(active, "_clock", lambda: later)  # those that were never stored are over
    paused(flow)


def test_owners_without_active_runs_are_not_looked_at(flow: Flow) -> None:
    owners = ActiveOwners(flow.app.records, flow.app.workflows.parts.clock)
    assert [*owners] == []
    id = paused(flow)
    assert [*owners] == [LOCAL]
    flow.app.workflows.abort(LOCAL, id, "no")
    assert [*owners] == []


def test_a_paused_run_waits_exactly_as_long_as_it_may(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(flow.app.records, SqliteRecords)
    id, continued = paused(flow), paused(flow)
    limits = {record.key: record.expires_at for record in flow.app.records.list(LOCAL, "workflow").records}
    limit, limit_of_other = limits[id], limits[continued]
    assert limit is not None
    assert limit_of_other is not None
    now = [0.0]
    for name in ("_clock", "_ages"):
        monkeypatch.setattr(flow.app.records, name, lambda: now[0])
    for now[0] in (limit - HOUR, limit - 0.001):
        assert status(flow, id) == "layer_complete"
    now[0] = limit_of_other - 0.001
    assert flow.app.workflows.proceed(LOCAL_CALLER, continued)["status"] == "complete"
    now[0] = limit
    calls: list[Callable[[], object]] = [
        lambda: status(flow, id),
        lambda: flow.app.workflows.proceed(LOCAL_CALLER, id),
        lambda: flow.app.workflows.abort(LOCAL, id, "late"),
        lambda: flow.app.workflows.decide(LOCAL, id, "cp_1", approved=True, by=AGENT),
    ]
    for late in calls:
        with pytest.raises(NotFound) as told:
            late()
        assert told.value.code == "WORKFLOW_NOT_FOUND"


def all_at_once(*calls: Callable[[], JsonObject]) -> list[Any]:
    """What each gave: its answer, or the code of its error."""
    barrier = threading.Barrier(len(calls))

    def call(one: Callable[[], JsonObject]) -> object:
        barrier.wait()
        try:
            return one()["status"]
        except LociError as error:
            return error.code

    with ThreadPoolExecutor(len(calls)) as threads:
        return [*threads.map(call, calls)]


@each("turn", range(3))
def test_answers_at_the_same_time_are_taken_once(flow: Flow, turn: int) -> None:
    flow.anew()
    layers: JsonObject = {
        "tasks": [task(f"t{at}", "note", *([f"t{at - 1}"] if at else []), value=at) for at in range(4)]
    }
    workflows = flow.app.workflows
    id = str(workflows.start(LOCAL_CALLER, layers, by_layer=True)["workflow_id"])
    for wanted in (2, 3):
        all_at_once(*[lambda: workflows.proceed(LOCAL_CALLER, id)] * 2)
        assert wanted <= len(flow.begun()) <= wanted + 1  # the second may have come when the layer had ended
        if len(flow.begun()) > wanted:
            break
    gated: JsonObject = {"tasks": [{**task("t1", "deploy", value=9), "approve": True}]}
    answer = workflows.start(LOCAL_CALLER, gated)
    id, checkpoint = str(answer["workflow_id"]), str(answer["checkpoint_id"])
    yes = lambda: workflows.decide(LOCAL, id, checkpoint, approved=True, by=AGENT)  # noqa: E731
    no = lambda: workflows.decide(LOCAL, id, checkpoint, approved=False, by=AGENT)  # noqa: E731
    said = all_at_once(yes, no, yes, no)
    assert said.count("CHECKPOINT_CLOSED") == 3
    deployed = [tool for tool, _ in flow.begun()].count("deploy")
    assert deployed == ("complete" in said)
    answer = workflows.start(LOCAL_CALLER, PLAN, by_layer=True)
    id = str(answer["workflow_id"])
    both = all_at_once(lambda: workflows.proceed(LOCAL_CALLER, id), lambda: workflows.abort(LOCAL, id, "no"))
    assert both[1] in ("aborted", "WORKFLOW_ENDED")
    assert both[0] == ("aborted" if both[1] == "aborted" else "complete")
