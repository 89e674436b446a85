"""Workflows of a deployment: the gateway starts the machine, which invokes the function, as the stack made them."""

import os
import signal
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.deployed.deployment import Deployment, Door
from tests.deployed.users import NewUser, User
from tests.support.polling import until
from tests.support.serving import call

pytestmark = pytest.mark.aws
MACHINE = "loci-local-workflow"
LAYER_ENDED = ("layer_complete", "paused")
"""As a call tells that ends then, and as `pml_workflow_status` does."""


@pytest.fixture
def user(new_user: NewUser) -> User:
    return new_user()


class Flow:
    """A user's workflows, and the executions behind them."""

    def __init__(self, deployment: Deployment, user: User) -> None:
        self._door: Door = deployment.door("REST API")
        self._user = user
        self._states: Any = deployment.aws("stepfunctions")

    def result(self, tool: str, **arguments: object) -> dict[str, Any]:
        return self._door.post(call(tool, arguments), self._user.headers).message()["result"]

    def answer(self, tool: str, **arguments: object) -> dict[str, Any]:
        answered = self.result(tool, **arguments)
        assert not answered.get("isError"), answered
        return answered["structuredContent"]

    def failed(self, tool: str, **arguments: object) -> str:
        answered = self.result(tool, **arguments)
        assert answered.get("isError"), answered
        return str(answered["content"])

    def has(self, task: Mapping[str, Any]) -> bool:
        """True if the document is there that this task writes."""
        path: str = task["arguments"]["path"]
        found = self.result("read_node_content", id=path.removesuffix(".md").replace("/", "-"))
        assert not found.get("isError") or "NOT_FOUND" in str(found), found
        return not found.get("isError")

    def settled(self, answer: Mapping[str, Any], seconds: float = 60) -> dict[str, Any]:
        """The answer as soon as the workflow ends or waits: a cold start may take longer than a request."""
        late = time.monotonic() + seconds
        answer = dict(answer)
        while answer["status"] == "running" and time.monotonic() < late:
            answer = self.answer("pml_workflow_status", workflow_id=answer["workflow_id"])
        return answer

    def done(self, id: str) -> dict[str, Any]:
        """What the tasks gave that have ended."""
        return self.answer("pml_workflow_status", workflow_id=id).get("results", {})

    def kill(self) -> int:
        """Kill every process of the function as it is; return their number."""
        mine = f"AWS_LAMBDA_FUNCTION_NAME={MACHINE}\0".encode()
        killed = 0
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mine in process.joinpath("environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
                    killed += 1
        return killed

    def execution(self, id: str) -> tuple[str, list[str]]:
        """The state of its execution, as soon as it has ended, and the states that it entered."""
        [machine] = [one for one in self._states.list_state_machines()["stateMachines"] if one["name"] == MACHINE]
        arn = f"{machine['stateMachineArn'].replace(':stateMachine:', ':execution:')}:{id}"
        late = time.monotonic() + 30
        while (status := self._states.describe_execution(executionArn=arn)["status"]) == "RUNNING":
            assert time.monotonic() < late
            time.sleep(0.1)
        events = self._states.get_execution_history(executionArn=arn)["events"]
        return status, [
            one["stateEnteredEventDetails"]["name"] for one in events if one["type"].endswith("StateEntered")
        ]


@pytest.fixture
def flow(deployment: Deployment, user: User) -> Flow:
    return Flow(deployment, user)


def written(id: str, *after: str, **more: object) -> dict[str, Any]:
    """A task that writes a document."""
    path = f"notes/{id}-{uuid.uuid4().hex[:6]}.md"
    arguments = {"path": path, "content": f"# Note {id}\n\nWritten by a workflow.\n"}
    return {"id": id, "tool": "loci:write_document", "arguments": arguments, "dependsOn": [*after], **more}


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


def test_what_an_intent_added_runs_once(flow: Flow) -> None:
    tasks = [written("a"), written("b", "a")]
    asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}, per_layer_validation=True))
    replanned = flow.answer(
        "pml_replan",
        workflow_id=asked["workflow_id"],
        new_requirement=f"Read the document `{tasks[0]['arguments']['path']}` again",
        available_context={},
    )
    [added] = replanned["added"]
    answer = asked
    while answer["status"] in (*LAYER_ENDED, "running"):
        answer = flow.settled(flow.answer("pml_continue", workflow_id=asked["workflow_id"]))
    assert answer["status"] == "complete"
    assert set(answer["results"]) == {"a", "b", added["id"]}


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
        assert flow.answer("pml_workflow_status", workflow_id=id)["status"] == "running"
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
