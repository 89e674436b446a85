"""Workflows that are given whole."""

import pytest

from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio


async def test_tasks_run_and_their_results_come_by_id(flow: Flow) -> None:
    answer = await flow.run(task("t1", "items"), task("t2", "note", value="$t1.result.items[1].name"))
    assert answer["status"] == "complete"
    assert answer["results"]["t2"] == {"value": "b"}
    assert answer["metrics"]["parallel_branches"] == 1
    assert answer["metrics"]["total_time_ms"] > 0
    assert flow.begun() == [("items", {}), ("note", {"value": "b"})]


async def test_a_layer_is_paused_and_continued(flow: Flow) -> None:
    answer = await flow.run(task("t1", "echo", value=1), task("t2", "note", "t1", value=2), per_layer_validation=True)
    assert answer["status"] == "layer_complete"
    assert (answer["current_layer"], answer["total_layers"]) == (1, 2)
    assert answer["layer_results"][0]["result"] == {"value": 1}
    assert flow.begun() == [("echo", {"value": 1})]
    answer = await flow.answer("pml_continue", workflow_id=answer["workflow_id"], reason="Layer 1 validated, continue")
    assert answer["status"] == "complete"
    assert answer["results"] == {"t1": {"value": 1}, "t2": {"value": 2}}


async def test_what_waits_for_a_failed_task_is_skipped(flow: Flow) -> None:
    answer = await flow.run(task("t1", "fail"), task("t2", "note", "t1", value=2), task("t3", "note", value=3))
    assert answer["status"] == "error"
    assert {one["taskId"]: one["status"] for one in answer["tasks"]} == {
        "t1": "error",
        "t2": "skipped",
        "t3": "success",
    }
    assert flow.begun()[1:] == [("note", {"value": 3})] or flow.begun()[:1] == [("note", {"value": 3})]
