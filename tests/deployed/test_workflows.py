"""Workflows of a deployment: the gateway starts the machine, which invokes the function, as the stack made them."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from tests.deployed.deployment import Deployment, Door
from tests.deployed.users import NewUser, User
from tests.support.serving import call

pytestmark = pytest.mark.aws
MACHINE = "loci-local-workflow"


@pytest.fixture
def user(new_user: NewUser) -> User:
    return new_user()


class Flow:
    """A user's workflows, and the executions behind them."""

    def __init__(self, deployment: Deployment, user: User) -> None:
        self._door: Door = deployment.door("REST API")
        self._user = user
        self._states: Any = deployment.aws("stepfunctions")

    def answer(self, tool: str, **arguments: object) -> dict[str, Any]:
        answered = self._door.post(call(tool, arguments), self._user.headers).message()["result"]
        assert not answered.get("isError"), answered
        return answered["structuredContent"]

    def settled(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as soon as the workflow ends or waits: a cold start may take longer than a request."""
        until = time.monotonic() + 60
        answer = dict(answer)
        while answer["status"] == "running" and time.monotonic() < until:
            answer = self.answer("pml_workflow_status", workflow_id=answer["workflow_id"])
        return answer

    def execution(self, id: str) -> tuple[str, list[str]]:
        """The state of its execution, as soon as it has ended, and the states that it entered."""
        [machine] = [one for one in self._states.list_state_machines()["stateMachines"] if one["name"] == MACHINE]
        arn = f"{machine['stateMachineArn'].replace(':stateMachine:', ':execution:')}:{id}"
        until = time.monotonic() + 30
        while (status := self._states.describe_execution(executionArn=arn)["status"]) == "RUNNING":
            assert time.monotonic() < until
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
        assert (answer["status"], answer["current_layer"]) == ("layer_complete", layer)
        answer = flow.settled(flow.answer("pml_continue", workflow_id=answer["workflow_id"]))
    assert answer["status"] == "complete"
