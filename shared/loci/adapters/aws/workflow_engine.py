"""`WorkflowEngine` by Step Functions: an execution a run, which invokes the workflow function slice after slice."""

import json
import time
from contextlib import AbstractContextManager
from typing import Final

from loci.adapters.aws.clients import Clients, code_of, explained
from loci.core.errors import NotFound, Unavailable
from loci.core.identity import Owner
from loci.workflows.runs import Runs

LOOK_SECONDS: Final = 0.15
"""Seconds between two looks at a run that a function moves on."""
MOST_EXECUTIONS: Final = 100
"""Of one run: a further one begins if the last one ended though the run had not."""
NOBODY_WAITS: Final = frozenset({"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"})
RESOLUTIONS: Final = {
    "AccessDeniedException": "Allow this role to start and to answer that machine",
    "StateMachineDoesNotExist": "Deploy the stack with workflows, or set LOCI_WORKFLOW_MACHINE to its machine",
    "ExecutionLimitExceeded": "Wait until other workflows have ended",
}


class WorkflowMachine:
    """Starts executions, and tells them that a pause is over."""

    def __init__(self, machine: str, runs: Runs, clients: Clients) -> None:
        self._machine = machine
        self._runs = runs
        self._clients = clients

    def start(self, owner: Owner, id: str) -> None:
        run = self._runs.get(owner, id)
        if run.status != "running" or (run.token and self.go_on(run.token)):
            return
        self._execute(owner, id)

    def cancel(self, owner: Owner, id: str) -> None:
        """A slice that runs learns it from the record. An execution that waits goes on, and finds nothing to do."""
        try:
            token = self._runs.get(owner, id).token
        except NotFound:
            return
        if token:
            self.go_on(token)

    def wait(self, owner: Owner, id: str, seconds: float) -> None:  # noqa: ARG002
        time.sleep(min(LOOK_SECONDS, seconds))

    def close(self) -> None:
        """Executions go on."""

    def go_on(self, token: str) -> bool:
        """Tell the execution that waits with this token that a decision came. False: none waits with it any more."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        with self._explained():
            try:
                self._clients.stepfunctions.send_task_success(taskToken=token, output="{}")
            except ClientError as error:
                if code_of(error) in NOBODY_WAITS:
                    return False
                raise
            return True

    def _execute(self, owner: Owner, id: str) -> None:
        """Have an execution. One with this name that runs already is the one: only the last name's may run."""
        from botocore.exceptions import ClientError

        given = json.dumps({"tenant": owner.tenant, "subject": owner.subject, "id": id})
        with self._explained():
            for nth in range(1, MOST_EXECUTIONS + 1):
                name = id if nth == 1 else f"{id}-{nth}"
                try:
                    self._clients.stepfunctions.start_execution(stateMachineArn=self._machine, name=name, input=given)
                except ClientError as error:
                    if code_of(error) != "ExecutionAlreadyExists":
                        raise
                else:
                    return
        raise Unavailable(
            f"Workflow {id} was taken up {MOST_EXECUTIONS} times and has not ended",
            "Abort it, and start it again",
            code="WORKFLOW_STUCK",
        )

    @staticmethod
    def _explained() -> AbstractContextManager[None]:
        return explained("Step Functions", "the machine of workflows", RESOLUTIONS)
