"""What the machine of Step Functions does around the slices of a run."""

import asyncio
import json
from typing import Any

import pytest

from loci.adapters.aws import step_functions
from tests.support.moving import Moving
from tests.surface.results import structured
from tests.surface.workflows.conftest import Flow, task
from tests.surface.workflows.test_decisions import FOUR, GATED, decision

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["aws"], indirect=True)]
PATIENCE = 30


@pytest.fixture
def moves(machine: Moving | None) -> Moving:
    assert machine is not None
    return machine


def entered(execution: dict[str, Any]) -> list[str]:
    """The names of the states, as the execution went through them."""
    found = (event.get("stateEnteredEventDetails") for event in execution["events"])
    return [one["name"] for one in found if one]


async def over(moves: Moving) -> list[dict[str, Any]]:
    """All executions, when none runs any more."""
    for _ in range(PATIENCE * 10):
        found = moves.executions()
        if all(one["status"] != "RUNNING" for one in found):
            return found
        await asyncio.sleep(0.1)
    raise AssertionError([(one["name"], one["status"], entered(one)) for one in moves.executions()])


async def test_twenty_tasks_in_five_layers_take_few_transitions(flow: Flow, moves: Moving) -> None:
    layers = [[f"t{layer}{at}" for at in range(4)] for layer in range(5)]
    tasks = [task(id, "echo", *(layers[at - 1] if at else []), value=1) for at, ids in enumerate(layers) for id in ids]
    assert (await flow.run(*tasks))["status"] == "complete"
    [execution] = await over(moves)
    assert entered(execution) == ["Advance", "Route", "Done"]
    assert len(entered(execution)) <= 6


async def test_payloads_hold_ids_only(flow: Flow, moves: Moving) -> None:
    await flow.run(task("t1", "note", value="a word that is private"))
    [execution] = await over(moves)
    told = json.dumps(execution, default=str)
    assert "wf_" in told
    assert "private" not in told


async def test_a_pause_is_an_execution_that_waits_and_a_decision_moves_it_on(flow: Flow, moves: Moving) -> None:
    answer = await flow.run(*FOUR, per_layer_validation=True)
    for _ in range(3):
        answer = await flow.answer("pml_continue", workflow_id=answer["workflow_id"])
    assert answer["status"] == "complete"
    assert {one["status"] for one in await over(moves)} == {"SUCCEEDED"}
    assert len(flow.begun()) == 4


async def test_an_answer_never_shows_the_token(flow: Flow) -> None:
    answer = await flow.run(*FOUR, per_layer_validation=True)
    again = await flow.answer("pml_workflow_status", workflow_id=answer["workflow_id"])
    assert "token" not in json.dumps([answer, again])


async def test_a_decision_before_the_machine_waits_is_not_lost(
    flow: Flow, moves: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided = asyncio.Event()
    loop, keep = asyncio.get_running_loop(), step_functions.StepFunctions.wait_for_decision

    def late(*given: Any) -> None:
        asyncio.run_coroutine_threadsafe(decided.wait(), loop).result(PATIENCE)
        keep(*given)

    monkeypatch.setattr(step_functions.StepFunctions, "wait_for_decision", late)
    asked = await flow.run(task("t1", "echo", value="v2"), GATED)
    answer = await flow.answer("pml_approval_response", **decision(asked))
    decided.set()
    assert answer["status"] == "complete"
    assert {one["status"] for one in await over(moves)} == {"SUCCEEDED"}
    assert [name for name, _ in flow.begun()].count("deploy") == 1


async def test_an_abort_ends_the_execution_that_waits(flow: Flow, moves: Moving) -> None:
    asked = await flow.run(task("t1", "echo", value="v2"), GATED)
    await flow.answer("pml_abort", workflow_id=asked["workflow_id"], reason="no")
    assert {one["status"] for one in await over(moves)} == {"SUCCEEDED"}


async def test_a_slice_that_crashes_is_repeated(flow: Flow, moves: Moving) -> None:
    moves.crashes = 2
    assert (await flow.run(task("t1", "note", value=1)))["status"] == "complete"
    assert len(flow.begun()) == 1


async def test_a_function_that_fails_for_good_ends_the_run_with_the_reason(flow: Flow, moves: Moving) -> None:
    moves.crashes = 100
    answer = structured(await flow.call("pml_execute_dag", workflow={"tasks": [task("t1", "note", value=1)]}))
    assert answer["status"] == "error"
    assert "the workflow failed" in answer["tasks"][0]["error"]
    assert "MemoryError" in answer["tasks"][0]["error"]
    [execution] = await over(moves)
    assert execution["status"] == "FAILED"
    assert flow.begun() == []


async def test_a_run_goes_on_in_the_next_slice_when_the_time_of_one_is_over(
    flow: Flow, moves: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_functions, "MARGIN_SECONDS", 0.0)
    moves.left_ms = 1000
    chain = [task(f"t{at}", "sleep", *([f"t{at - 1}"] if at else []), ms=500) for at in range(6)]
    assert (await flow.run(*chain))["status"] == "complete"
    [execution] = await over(moves)
    assert entered(execution).count("Advance") >= 3
    assert len(flow.begun()) == 6
