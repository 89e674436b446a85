"""Workflows of a deployment: the gateway starts the machine, which invokes the function, as the stack made them."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.workflows.runs import RUN
from tests.deployed.deployment import Deployment
from tests.deployed.flow import LAYER_ENDED, Flow, written
from tests.support.polling import until

pytestmark = pytest.mark.aws


def test_a_workflow_runs_in_one_slice(flow: Flow) -> None:
    tasks = [written("a"), written("b"), written("c", "a", "b")]
    answer = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}))
    assert (answer["status"], set(answer["results"])) == ("complete", {"a", "b", "c"})
    assert flow.execution(answer["workflow_id"]) == ("SUCCEEDED", ["Advance", "Route", "Ended"])


def test_a_workflow_waits_for_its_approval_and_goes_on(flow: Flow) -> None:
    tasks = [written("a"), written("b", "a", approve=True)]
    asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}))
    assert (asked["status"], set(asked["results"])) == ("paused", {"a"})
    approved = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": True}
    answer = flow.settled(flow.answer("pml_approval_response", **approved))
    assert (answer["status"], set(answer["results"])) == ("complete", {"a", "b"})
    status, states = flow.execution(asked["workflow_id"])
    assert (status, states.count("WaitForDecision")) == ("SUCCEEDED", 1)


def test_a_workflow_that_waits_is_aborted(flow: Flow) -> None:
    asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": [written("a", approve=True)]}))
    aborted = flow.answer("pml_abort", workflow_id=asked["workflow_id"], reason="wrong folder")
    assert (aborted["status"], aborted["results"]) == ("aborted", {})
    status, _ = flow.execution(asked["workflow_id"])
    assert status == "SUCCEEDED"


def test_each_layer_waits(flow: Flow) -> None:
    tasks = [written("a"), written("b", "a"), written("c", "b")]
    answer = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}, per_layer_validation=True))
    for layer in (1, 2):
        assert (answer["status"], answer["current_layer"]) in [(one, layer) for one in LAYER_ENDED]
        answer = flow.settled(flow.answer("pml_continue", workflow_id=answer["workflow_id"]))
    assert answer["status"] == "complete"


def test_a_rejected_task_leaves_nothing_behind(flow: Flow) -> None:
    tasks = [written("a", approve=True), written("b", "a")]
    asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}))
    assert asked["status"] == "paused"
    rejected = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": False}
    answer = flow.settled(flow.answer("pml_approval_response", **rejected, feedback="not today"))
    assert (answer["status"], answer["results"]) == ("aborted", {})
    assert not flow.has(tasks[0])
    assert "CHECKPOINT_CLOSED" in flow.failed("pml_approval_response", **rejected)
    assert flow.execution(asked["workflow_id"])[0] == "SUCCEEDED"


def test_of_two_decisions_at_once_one_counts(flow: Flow) -> None:
    tasks = [written("a", approve=True)]
    asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}))
    decision = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"]}

    def decide(approved: bool) -> dict[str, Any]:
        return flow.result("pml_approval_response", **decision, approved=approved)

    with ThreadPoolExecutor(2) as both:
        said = [*both.map(decide, (True, False))]
    assert sorted(bool(one.get("isError")) for one in said) == [False, True]
    ended = flow.settled(flow.answer("pml_workflow_status", workflow_id=asked["workflow_id"]))
    assert ended["status"] == ("complete" if flow.has(tasks[0]) else "aborted")


def test_a_pause_that_is_over_leaves_no_workflow(
    flow: Flow, deployment: Deployment, clients: Clients, blobs: S3Blobs
) -> None:
    asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": [gated := written("a", approve=True)]}))
    id, owner = asked["workflow_id"], flow.user.owner
    now = [time.time()]
    records = DynamoRecords(deployment.outputs["Table"], blobs, lambda: now[0], clients)
    record = until(lambda: found if (found := records.get(owner, RUN, id)) and found.value.get("token") else None)
    assert record.expires_at is not None
    assert round(record.expires_at - now[0], -2) == 3600
    records.put(owner, RUN, id, record.value, expect_version=record.version, expires_at=now[0] - 1)
    answer = {"checkpoint_id": asked["checkpoint_id"], "approved": True}
    late = {
        "pml_workflow_status": {},
        "pml_continue": {},
        "pml_abort": {"reason": "late"},
        "pml_approval_response": answer,
    }
    for tool, more in late.items():
        assert "WORKFLOW_NOT_FOUND: " in flow.failed(tool, workflow_id=id, **more)
    # Whatever ends the wait, the next slice finds nothing to do.
    deployment.aws("stepfunctions").send_task_success(taskToken=record.value["token"], output="{}")
    assert flow.execution(id) == ("SUCCEEDED", ["Advance", "Route", "WaitForDecision", "Advance", "Route", "Ended"])
    assert not flow.has(gated)


def test_an_intent_is_planned_and_runs(flow: Flow) -> None:
    written_first = written("a")
    flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": [written_first]}))
    answer = flow.settled(flow.answer("pml_execute_dag", intent='Search the documents for "Written by a workflow"'))
    assert answer["status"] == "complete", answer
    assert "Written by a workflow" in str(answer["results"])


def looked(id: str, *after: str, **more: object) -> dict[str, Any]:
    """A task that changes nothing."""
    return {"id": id, "tool": "loci:list_directory_structure", "arguments": {}, "dependsOn": [*after], **more}


def chain(length: int, task: Callable[..., dict[str, Any]]) -> list[dict[str, Any]]:
    """Each task waits for the one before, and the first one for an approval."""
    return [task("t0", approve=True), *(task(f"t{at}", f"t{at - 1}") for at in range(1, length))]


def killed(flow: Flow, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """How the run ended whose function was killed in the middle. What had ended before is still there."""
    asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}))
    id = asked["workflow_id"]
    with ThreadPoolExecutor(1) as beside:
        approved = {"workflow_id": id, "checkpoint_id": asked["checkpoint_id"], "approved": True}
        beside.submit(flow.result, "pml_approval_response", **approved)
        before = until(lambda: done if len(done := flow.done(id)) > 2 else None)
        assert flow.kill() > 0
        # Another function may have found already what was interrupted: this answer begins with a cold start.
        assert flow.answer("pml_workflow_status", workflow_id=id)["status"] in ("running", "error")
    answer = flow.settled(flow.answer("pml_workflow_status", workflow_id=id), seconds=120)
    status, states = flow.execution(id)
    assert (status, states.count("MarkFailed")) == ("SUCCEEDED", 0)
    assert {task: answer["results"][task] for task in before} == before
    return answer


def test_after_a_kill_another_function_goes_on(flow: Flow) -> None:
    answer = killed(flow, chain(200, looked))
    assert (answer["status"], len(answer["results"])) == ("complete", 200)


def test_what_a_killed_function_was_doing_is_not_done_again(flow: Flow) -> None:
    tasks = chain(60, written)
    answer = killed(flow, tasks)
    if answer["status"] == "complete":  # it was killed between two tasks
        assert len(answer["results"]) == 60
    else:
        states = [one["status"] for one in answer["tasks"]]
        broken = states.index("error")
        assert "INTERRUPTED" in answer["tasks"][broken]["error"]
        assert states == ["success"] * broken + ["error"] + ["skipped"] * (59 - broken)
        assert not any(map(flow.has, tasks[broken + 1 :]))
