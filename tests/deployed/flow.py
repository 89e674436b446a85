"""Workflows of a user, through the gateway, and the executions behind them."""

import os
import signal
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.deployed.deployment import Deployment, Door
from tests.deployed.users import User
from tests.support.serving import call

MACHINE = FUNCTION = "loci-local-workflow"
LAYER_ENDED = ("layer_complete", "paused")
"""As a call tells that ends then, and as `pml_workflow_status` does."""


class Flow:
    """A user's workflows, and the executions behind them."""

    def __init__(self, deployment: Deployment, user: User) -> None:
        self.door: Door = deployment.door("REST API")
        self.user = user
        self._states: Any = deployment.aws("stepfunctions")

    def result(self, tool: str, **arguments: object) -> dict[str, Any]:
        return self.door.post(call(tool, arguments), self.user.headers).message()["result"]

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
        mine = f"AWS_LAMBDA_FUNCTION_NAME={FUNCTION}\0".encode()
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
        late = time.monotonic() + 60
        while (status := self._states.describe_execution(executionArn=arn)["status"]) == "RUNNING":
            assert time.monotonic() < late
            time.sleep(0.1)
        events = self._states.get_execution_history(executionArn=arn)["events"]
        return status, [
            one["stateEnteredEventDetails"]["name"] for one in events if one["type"].endswith("StateEntered")
        ]


def written(id: str, *after: str, **more: object) -> dict[str, Any]:
    """A task that writes a document."""
    path = f"notes/{id}-{uuid.uuid4().hex[:6]}.md"
    arguments = {"path": path, "content": f"# Note {id}\n\nWritten by a workflow.\n"}
    return {"id": id, "tool": "loci:write_document", "arguments": arguments, "dependsOn": [*after], **more}
