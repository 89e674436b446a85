"""Each engine does the same."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from loci.core.identity import LOCAL
from tests.contract.workflows.conftest import opened
from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio
PATIENCE = 60


async def seen(flow: Flow, tool: str) -> str:
    """The id of the one run, as soon as a tool of it was called."""
    until = time.monotonic() + PATIENCE
    while tool not in [name for name, _ in flow.begun()]:
        assert time.monotonic() < until
        await anyio.sleep(0.02)
    [id] = flow.app.workflows.parts.runs.all(LOCAL)
    return id


def gated(id: str, *after: str, **arguments: object) -> dict[str, Any]:
    return {**task(id, "note", *after, **arguments), "approve": True}


async def test_a_run_is_complete(flow: Flow) -> None:
    answer = await flow.run(
        task("a", "items"), task("b", "echo", value="$a.result.items[0].name"), task("c", "note", "a", "b", value=3)
    )
    assert answer["status"] == "complete"
    assert answer["results"]["b"] == {"value": "a"}
    assert [tool for tool, _ in flow.begun()] == ["items", "echo", "note"]


async def test_tasks_run_side_by_side(flow: Flow) -> None:
    answer = await flow.run(*(task(f"t{n}", "meet", others=8) for n in range(8)))
    assert answer["status"] == "complete"
    assert [result["met"] for result in answer["results"].values()] == [True] * 8


async def test_each_layer_waits_for_a_decision(flow: Flow) -> None:
    tasks = [task("a", "note", value=1), task("b", "note", "a", value=2), task("c", "note", "b", value=3)]
    answer = await flow.run(*tasks, per_layer_validation=True)
    for layer in (1, 2):
        assert (answer["status"], answer["current_layer"], answer["total_layers"]) == ("layer_complete", layer, 3)
        assert len(flow.begun()) == layer
        answer = await flow.answer("pml_continue", workflow_id=answer["workflow_id"])
    assert (answer["status"], len(flow.begun())) == ("complete", 3)


async def test_an_approved_task_runs(flow: Flow) -> None:
    asked = await flow.run(task("a", "echo", value=1), gated("b", "a", value="$a.result.value"))
    assert (asked["status"], flow.begun()) == ("paused", [("echo", {"value": 1})])
    answer = await flow.answer(
        "pml_approval_response",
        workflow_id=asked["workflow_id"],
        checkpoint_id=asked["checkpoint_id"],
        approved=True,
    )
    assert (answer["status"], answer["results"]["b"]) == ("complete", {"value": 1})


async def test_a_rejected_task_and_what_waits_for_it_do_not_run(flow: Flow) -> None:
    asked = await flow.run(gated("a", value=1), task("b", "note", "a", value=2))
    answer = await flow.answer(
        "pml_approval_response",
        workflow_id=asked["workflow_id"],
        checkpoint_id=asked["checkpoint_id"],
        approved=False,
        feedback="not today",
    )
    assert (answer["status"], flow.begun()) == ("aborted", [])


async def test_a_second_decision_is_refused(flow: Flow) -> None:
    asked = await flow.run(gated("a", value=1), gated("b", "a", value=2))
    decide = partial(
        flow.call,
        "pml_approval_response",
        workflow_id=asked["workflow_id"],
        checkpoint_id=asked["checkpoint_id"],
        approved=True,
    )
    assert not (await decide()).is_error
    again = await decide()
    assert again.is_error
    assert "CHECKPOINT_CLOSED" in str(again.content)
    assert flow.begun() == [("note", {"value": 1})]


async def test_a_run_is_aborted_while_a_task_runs(flow: Flow, door: Path) -> None:
    answers: list[dict[str, Any]] = []

    async def run() -> None:
        answers.append(await flow.run(task("a", "wait_for", file=str(door)), task("b", "note", "a", value=2)))

    with opened(door):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            id = await seen(flow, "wait_for")
            aborted = await flow.answer("pml_abort", workflow_id=id, reason="wrong folder")
            assert (aborted["status"], aborted["reason"]) == ("aborted", "wrong folder")
    assert [one["status"] for one in answers] == ["aborted"]
    assert [tool for tool, _ in flow.begun()] == ["wait_for"]


async def test_a_paused_run_is_aborted(flow: Flow) -> None:
    asked = await flow.run(gated("a", value=1))
    aborted = await flow.answer("pml_abort", workflow_id=asked["workflow_id"], reason="no")
    assert aborted["status"] == "aborted"
    assert "CHECKPOINT_CLOSED" in await flow.failed(
        "pml_approval_response",
        workflow_id=asked["workflow_id"],
        checkpoint_id=asked["checkpoint_id"],
        approved=True,
    )


async def test_a_run_that_is_started_again_runs_once(flow: Flow, door: Path) -> None:
    with opened(door):
        async with anyio.create_task_group() as group:
            group.start_soon(flow.run, task("a", "note_and_wait", file=str(door)))
            id = await seen(flow, "note_and_wait")
            for _ in range(3):
                flow.app.workflows.parts.engine.start(LOCAL, id)
            door.touch()
    assert len(flow.begun()) == 1


async def test_no_answer_has_the_token_of_a_pause(flow: Flow) -> None:
    asked = await flow.run(gated("a", value=1))
    status = await flow.answer("pml_workflow_status", workflow_id=asked["workflow_id"])
    token = flow.app.workflows.parts.runs.get(LOCAL, asked["workflow_id"]).token
    assert "token" not in {*asked, *status}
    assert not token or (token not in str(asked) and token not in str(status))


async def test_a_failed_run_goes_on_and_what_is_done_stays(flow: Flow) -> None:
    failed = await flow.run(
        task("a", "note", value=1),
        task("b", "note_flaky", "a", key="b"),
        task("c", "note", value="$b.result.tries"),
        task("d", "fail") | {"on_error": "continue"},
    )
    id = failed["workflow_id"]
    assert (failed["status"], failed["results"]) == ("error", {"a": {"value": 1}})
    assert failed["next_action"].startswith('pml_continue with retry: ["b", "d"] runs what failed again')
    assert "'a' is done" in await flow.failed("pml_continue", workflow_id=id, retry=["b", "a"])
    assert "c' cannot run: b failed. Name what failed: b, d" in await flow.failed(
        "pml_continue", workflow_id=id, retry=["c"]
    )
    assert "no task 'x'" in await flow.failed("pml_continue", workflow_id=id, retry=["x"])
    answer = await flow.answer("pml_continue", workflow_id=id, retry=["b"], reason="once more")
    assert (answer["status"], answer["results"]["b"], answer["results"]["c"]) == (
        "complete",
        {"tries": 2},
        {"value": 2},
    )
    assert sorted(name for name, _ in flow.begun()) == ["fail", "note", "note", "note_flaky", "note_flaky"]
    assert [one["what"] for one in answer["decisions"]] == ["retry: b"]
    assert "'b' is done" in await flow.failed("pml_continue", workflow_id=id, retry=["b"])


async def test_a_task_that_may_have_run_is_run_again_if_that_is_wanted(flow: Flow, door: Path) -> None:
    with opened(door):
        slow = task("a", "note_and_wait", file=str(door)) | {"timeout": 300}
        failed = await flow.run(slow, task("b", "note", "a", value=1))
        assert failed["status"] == "error"
        assert failed["next_action"].endswith(". a may have run: look first")
    answer = await flow.answer("pml_continue", workflow_id=failed["workflow_id"], retry=["a"])
    assert (answer["status"], answer["results"]["b"]) == ("complete", {"value": 1})


async def test_a_retried_task_is_approved_again(flow: Flow) -> None:
    flaky = task("a", "note_flaky", key="a") | {"approve": True}
    asked, checkpoints = await flow.run(flaky), list[str]()
    id = asked["workflow_id"]
    for status in ("error", "complete"):
        assert (asked["status"], asked["checkpoint_id"] in checkpoints) == ("paused", False)
        checkpoints.append(asked["checkpoint_id"])
        answer = await flow.answer(
            "pml_approval_response", workflow_id=id, checkpoint_id=checkpoints[-1], approved=True
        )
        assert answer["status"] == status
        if status == "error":
            asked = await flow.answer("pml_continue", workflow_id=id, retry=["a"])
    assert len(flow.begun()) == 2


async def test_one_of_two_retries_wins(flow: Flow, door: Path) -> None:
    with opened(door):
        slow = task("a", "note_and_wait", file=str(door)) | {"timeout": 20_000}
        failed = await flow.run(task("f", "flaky"), slow | {"dependsOn": ["f"]})
        told: list[str] = []

        async def retry() -> None:
            result = await flow.call("pml_continue", workflow_id=failed["workflow_id"], retry=["f"])
            told.append(str(result.content) if result.is_error else result.structured_content["status"])  # type: ignore[index]
            door.touch()

        async with anyio.create_task_group() as group:
            group.start_soon(retry)
            group.start_soon(retry)
    assert "WORKFLOW_ACTIVE" in told[0]
    assert told[1] == "complete"
    assert [name for name, _ in flow.begun()] == ["flaky", "flaky", "note_and_wait"]


async def test_an_aborted_run_does_not_go_on(flow: Flow) -> None:
    asked = await flow.run(gated("a", value=1))
    await flow.answer("pml_abort", workflow_id=asked["workflow_id"], reason="no")
    told = await flow.failed("pml_continue", workflow_id=asked["workflow_id"], retry=["a"])
    assert told.startswith("WORKFLOW_ENDED: The workflow was aborted")
    assert flow.begun() == []
