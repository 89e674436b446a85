"""`WorkflowEngine` by Step Functions: one execution for each run invokes the workflow function, slice after slice."""

import json
import time
from contextlib import AbstractContextManager
from typing import Final

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.core.errors import NotFound, Unavailable
from loci.core.identity import Owner
from loci.workflows.runs import Runs

LOOK_SECONDS: Final = 0.15
"""Seconds between two checks of a run that a function advances."""
MOST_EXECUTIONS: Final = 100
"""The most executions of a run. Another one starts if the last one ended before the run did."""
NOBODY_WAITS: Final = frozenset({"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"})
RESOLUTIONS: Final = {
    "AccessDeniedException": "Allow this role to start and to answer that machine",
    "StateMachineDoesNotExist": "Deploy the stack with workflows, or set LOCI_WORKFLOW_MACHINE to its machine",
    "ExecutionLimitExceeded": "Wait until other workflows have ended",
}


class WorkflowMachine:
    """Starts executions, and resumes them after a pause."""

    def __init__(self, machine: str, runs: Runs, clients: Clients) -> None:
        self._machine = machine
        self._runs = runs
        self._clients = clients

    def start(self, owner: Owner, id: str) -> None:
        run = self._runs.get(owner, id)
        if run.status != "running" or (run.token and self.resume(run.token)):
            return
        self._execute(owner, id, run.retries)

    def cancel(self, owner: Owner, id: str) -> None:
        """Resume an execution that waits, so that it ends. A slice that runs reads the cancellation from the record."""
        try:
            token = self._runs.get(owner, id).token
        except NotFound:
            return
        if token:
            self.resume(token)

    def wait(self, owner: Owner, id: str, seconds: float) -> None:  # noqa: ARG002
        time.sleep(min(LOOK_SECONDS, seconds))

    def close(self) -> None:
        """Do nothing: executions go on."""

    def resume(self, token: str) -> bool:
        """Resume the execution that waits with this token. Return False if none waits with it any more."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        with self._translate_errors():
            try:
                self._clients.stepfunctions.send_task_success(taskToken=token, output="{}")
            except ClientError as error:
                if error_code(error) in NOBODY_WAITS:
                    return False
                raise
            return True

    def _execute(self, owner: Owner, id: str, retries: int) -> None:
        """Start an execution, unless the last one runs. A name that was used before gets a number.

        A retry has names of its own: the execution before it may not have ended yet, and does not go on.
        """
        from botocore.exceptions import ClientError

        given = json.dumps({"tenant": owner.tenant, "subject": owner.subject, "id": id})
        first = f"{id}-r{retries}" if retries else id
        with self._translate_errors():
            for nth in range(1, MOST_EXECUTIONS + 1):
                name = first if nth == 1 else f"{first}-{nth}"
                try:
                    self._clients.stepfunctions.start_execution(stateMachineArn=self._machine, name=name, input=given)
                except ClientError as error:
                    if error_code(error) != "ExecutionAlreadyExists":
                        raise
                else:
                    return
        raise Unavailable(
            f"Workflow {id} was taken up {MOST_EXECUTIONS} times and has not ended",
            "Abort it, and start it again",
            code="WORKFLOW_STUCK",
        )

    @staticmethod
    def _translate_errors() -> AbstractContextManager[None]:
        return translate_errors("Step Functions", "the machine of workflows", RESOLUTIONS)
