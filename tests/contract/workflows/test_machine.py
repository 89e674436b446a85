"""What only the state machine can meet: lost slices, early decisions, several slices, and what it costs."""

import json
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import loci.workflows.api
import loci.workflows.state_machine
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.settings import Settings
from loci.workflows.run import Lease, Run
from loci.workflows.runs import SLOT
from tests.contract.workflows.test_engines import gated
from tests.support.answerers import AGENT
from tests.support.invoke_api import Handler
from tests.support.polling import until
from tests.support.workflow_machine import Machine
from tests.surface.workflows.conftest import Flow, task

pytestmark = [pytest.mark.aws, pytest.mark.anyio, pytest.mark.parametrize("app", ["aws"], indirect=True)]


class Short:
    """The context of a call that has half a second for new tasks."""

    def get_remaining_time_in_millis(self) -> int:
        return 320_500


def with_machine(settings: Settings, arn: str | None) -> Settings:
    """The settings with this state machine."""
    return settings.model_copy(update={"aws": settings.aws.model_copy(update={"workflow_machine": arn})})


def waits_with_token(flow: Flow, id: str) -> Run:
    """The run, as soon as its execution waits."""
    until = time.monotonic() + 60
    while not (run := flow.app.workflows.parts.runs.get(LOCAL, id)).token and time.monotonic() < until:
        time.sleep(0.02)
    return run


async def test_twenty_tasks_in_five_layers_take_six_transitions_at_most(flow: Flow, on_machine: Machine) -> None:
    layers = [[f"t{layer}{n}" for n in range(4)] for layer in range(5)]
    tasks = [
        task(id, "echo", *(layers[at - 1] if at else []), value=at) for at, layer in enumerate(layers) for id in layer
    ]
    answer = await flow.run(*tasks)
    assert (answer["status"], len(answer["results"])) == ("complete", 20)
    assert on_machine.ended() == [(answer["workflow_id"], "SUCCEEDED")]
    assert len(on_machine.entered(answer["workflow_id"])) <= 6


async def test_a_retry_is_another_execution(flow: Flow, on_machine: Machine) -> None:
    failed = await flow.run(task("a", "flaky"))
    id = failed["workflow_id"]
    assert (await flow.answer("pml_continue", workflow_id=id, retry=["a"]))["status"] == "complete"
    assert sorted(on_machine.ended()) == [(id, "SUCCEEDED"), (f"{id}-r1", "SUCCEEDED")]


async def test_an_execution_gets_ids_only(flow: Flow, on_machine: Machine) -> None:
    answer = await flow.run(task("a", "echo", value="a secret"))
    on_machine.ended()
    history = on_machine.history(answer["workflow_id"])
    [started] = [one["executionStartedEventDetails"] for one in history if one["type"] == "ExecutionStarted"]
    assert json.loads(started["input"]) == {"tenant": "", "subject": "local", "id": answer["workflow_id"]}
    assert "a secret" not in str(history)


async def test_a_decision_goes_on_with_the_execution_that_waits(flow: Flow, on_machine: Machine) -> None:
    asked = await flow.run(gated("a", value=1))
    id = asked["workflow_id"]
    assert waits_with_token(flow, id).token
    answer = await flow.answer(
        "pml_approval_response", workflow_id=id, checkpoint_id=asked["checkpoint_id"], approved=True
    )
    assert answer["status"] == "complete"
    assert on_machine.ended() == [(id, "SUCCEEDED")]
    assert on_machine.entered(id) == ["Advance", "Route", "WaitForDecision", "Advance", "Route", "Ended"]


async def test_a_decision_may_come_before_the_token_is_kept(flow: Flow, on_machine: Machine) -> None:
    """Between the slice that pauses and the call that keeps the token."""
    workflows, handler = flow.app.workflows, on_machine.function
    deciders: list[threading.Thread] = []

    def early(event: dict[str, Any], context: object) -> object:
        if event["op"] == "wait" and not deciders:
            checkpoint = workflows.parts.runs.get(LOCAL, event["id"]).checkpoint
            assert checkpoint is not None
            decision = partial(workflows.decide, LOCAL, event["id"], checkpoint.id, approved=True, by=AGENT)
            decide = threading.Thread(target=decision)
            decide.start()
            deciders.append(decide)
            while workflows.parts.runs.get(LOCAL, event["id"]).status == "paused":
                time.sleep(0.01)
        return handler(event, context)

    on_machine.function = early
    asked = await flow.run(gated("a", value=1))
    assert until(lambda: bool(deciders))
    deciders[0].join()
    assert on_machine.ended() == [(asked["workflow_id"], "SUCCEEDED")]
    assert (await flow.answer("pml_workflow_status", workflow_id=asked["workflow_id"]))["status"] == "complete"
    assert flow.begun() == [("note", {"value": 1})]


async def test_an_abort_ends_the_execution_that_waits(flow: Flow, on_machine: Machine) -> None:
    asked = await flow.run(gated("a", value=1))
    waits_with_token(flow, asked["workflow_id"])
    await flow.answer("pml_abort", workflow_id=asked["workflow_id"], reason="no")
    assert on_machine.ended() == [(asked["workflow_id"], "SUCCEEDED")]


async def test_a_decision_starts_another_execution_if_none_waits_any_more(flow: Flow, on_machine: Machine) -> None:
    asked = await flow.run(gated("a", value=1))
    id = asked["workflow_id"]
    waits_with_token(flow, id)
    [one] = on_machine.client.list_executions(stateMachineArn=flow.app.settings.aws.workflow_machine)["executions"]
    on_machine.client.stop_execution(executionArn=one["executionArn"])
    assert on_machine.ended() == [(id, "ABORTED")]
    answer = await flow.answer(
        "pml_approval_response", workflow_id=id, checkpoint_id=asked["checkpoint_id"], approved=True
    )
    assert answer["status"] == "complete"
    assert on_machine.ended() == [(id, "ABORTED"), (f"{id}-2", "SUCCEEDED")]


async def test_whoever_looks_at_a_run_that_nothing_moves_on_takes_it_up(
    flow: Flow, on_machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = on_machine.function

    tries: list[str] = []

    def broken(event: dict[str, Any], _: object) -> object:
        tries.append(event["op"])
        raise MemoryError("no room")

    on_machine.function = broken
    monkeypatch.setattr(flow.app.workflows.parts, "patience", 0.0)
    id = (await flow.answer("pml_execute_dag", workflow={"tasks": [task("a", "note", value=1)]}))["workflow_id"]
    assert until(lambda: bool(tries))
    [one] = on_machine.client.list_executions(stateMachineArn=flow.app.settings.aws.workflow_machine)["executions"]
    on_machine.client.stop_execution(executionArn=one["executionArn"])
    on_machine.function = handler
    assert (await flow.answer("pml_workflow_status", workflow_id=id))["status"] == "running"
    assert on_machine.ended() == [(id, "ABORTED")]
    monkeypatch.setattr(loci.workflows.api, "BEGINNING_SECONDS", 0.0)
    await flow.answer("pml_workflow_status", workflow_id=id)
    assert on_machine.ended() == [(id, "ABORTED"), (f"{id}-2", "SUCCEEDED")]
    assert (await flow.answer("pml_workflow_status", workflow_id=id))["status"] == "complete"
    assert flow.begun() == [("note", {"value": 1})]


async def test_a_run_longer_than_a_slice_goes_on_in_the_next(flow: Flow, on_machine: Machine) -> None:
    handler = on_machine.function

    def short(event: dict[str, Any], _: object) -> object:
        return handler(event, Short())

    on_machine.function = short
    tasks = [task(f"t{n}", "sleep", *([f"t{n - 1}"] if n else []), ms=300) for n in range(6)]
    answer = await flow.run(*tasks)
    assert answer["status"] == "complete"
    assert len(flow.begun()) == 6
    on_machine.ended()
    assert on_machine.entered(answer["workflow_id"]).count("Advance") > 2


def crashing(flow: Flow, handler: Handler) -> Handler:
    """A function whose first slice is killed while all its tasks run: it leaves them, and its lease."""
    crashed: list[str] = []

    def left(run: Run) -> Run:
        now = time.time()
        running = {id: state.model_copy(update={"status": "running", "tries": 1}) for id, state in run.tasks.items()}
        return run.with_tasks(running).model_copy(update={"lease": Lease(holder="killed", until=now + 2)})

    def function(event: dict[str, Any], context: object) -> object:
        if event["op"] == "advance" and not crashed:
            crashed.append(event["id"])
            flow.app.workflows.parts.runs.change(LOCAL, event["id"], left)
            raise RuntimeError("Runtime.ExitError")
        return handler(event, context)

    return function


async def test_a_slice_that_crashed_is_taken_up_when_its_lease_is_over(flow: Flow, on_machine: Machine) -> None:
    on_machine.function = crashing(flow, on_machine.function)
    began = time.monotonic()
    answer = await flow.run(task("reads", "echo", value=1), task("writes", "note", value=2))
    assert time.monotonic() - began > 2
    assert (answer["status"], answer["results"]) == ("error", {"reads": {"value": 1}})
    assert flow.begun() == [("echo", {"value": 1})]
    [error] = [one["error"] for one in answer["tasks"] if one["taskId"] == "writes"]
    assert error.startswith("INTERRUPTED")
    assert on_machine.ended() == [(answer["workflow_id"], "SUCCEEDED")]


async def test_a_slice_that_crashes_again_and_again_ends_the_run_with_the_reason(
    flow: Flow, on_machine: Machine
) -> None:
    handler = on_machine.function

    def broken(event: dict[str, Any], context: object) -> object:
        if event["op"] == "advance":
            raise MemoryError("no room")
        return handler(event, context)

    on_machine.function = broken
    answer = await flow.run(task("a", "note", value=1), task("b", "note", "a", value=2))
    assert (answer["status"], flow.begun()) == ("error", [])
    assert all("MemoryError" in one["error"] for one in answer["tasks"])
    assert on_machine.ended() == [(answer["workflow_id"], "FAILED")]
    assert on_machine.entered(answer["workflow_id"]) == ["Advance", "MarkFailed", "Failed"]


async def test_a_pause_that_nobody_ends_ends_the_execution(
    flow: Flow, on_machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = on_machine.function
    workflows = flow.app.workflows

    def expiring(event: dict[str, Any], context: object) -> object:
        if event["op"] == "advance" and asked:
            # The store forgets it, as after the minutes of the setting.
            flow.app.records.remove(LOCAL, "workflow", event["id"])
        return handler(event, context)

    asked: list[str] = []
    monkeypatch.setattr(loci.workflows.state_machine, "AFTER_EXPIRY", 1 - 7 * 86_400)
    on_machine.function = expiring
    started = workflows.start(LOCAL_CALLER, {"tasks": [gated("a", value=1)]})
    id = str(started["workflow_id"])
    asked.append(id)
    assert on_machine.ended() == [(id, "SUCCEEDED")]
    assert on_machine.entered(id) == ["Advance", "Route", "WaitForDecision", "Advance", "Route", "Ended"]
    assert "WORKFLOW_NOT_FOUND" in await flow.failed("pml_workflow_status", workflow_id=id)


async def test_without_a_machine_nothing_is_started_and_the_reason_is_told(app: App, tmp_path: Path) -> None:
    without = build_app(with_machine(app.settings, None))
    flow = Flow(without, tmp_path / "journal.jsonl")
    text = await flow.failed("pml_execute_dag", workflow={"tasks": [task("a", "note", value=1)]})
    assert text.startswith("WORKFLOWS_UNAVAILABLE: This deployment runs no workflows.")
    assert not without.records.list(LOCAL, "workflow").records


async def test_a_run_whose_machine_does_not_start_holds_no_slot(app: App, flow: Flow) -> None:
    settings = with_machine(app.settings, f"{app.settings.aws.workflow_machine}-gone")
    gone = Flow(build_app(settings), flow.journal)
    text = await gone.failed("pml_execute_dag", workflow={"tasks": [task("a", "note", value=1)]})
    assert "StateMachineDoesNotExist" in text
    assert [run.status for run in app.workflows.parts.runs.all(LOCAL).values()] == ["aborted"]
    assert not app.records.list(LOCAL, SLOT).records
    assert flow.begun() == []
