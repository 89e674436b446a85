"""`WorkflowEngine` on Step Functions: a machine has the function `workflow` move runs on, and waits between slices."""

import json
import time
from typing import Final

from loci.adapters.aws.clients import Clients, code_of, explained
from loci.core.errors import Misconfigured, NotFound, Unavailable
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.workflows.plan import LONGEST_TASK
from loci.workflows.run import ENDED, Run
from loci.workflows.runs import Runs
from loci.workflows.slice import Slices

LOOK_SECONDS: Final = 0.2
"""Seconds between two looks at a run that somebody waits for."""
MARGIN_SECONDS: Final = LONGEST_TASK / 1000 + 20
"""Of the function's time, in which no task starts any more: each can still end."""
GOES_ON, IS_OVER = '{"outcome":"more"}', '{"outcome":"ended"}'
NOBODY_WAITS = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
RESOLUTIONS = {
    "StateMachineDoesNotExist": "Deploy the stack, or set LOCI_WORKFLOW_MACHINE to the machine it made",
    "AccessDeniedException": "Allow this role to start the machine, and to answer it",
    "ThrottlingException": "Try again in a moment",
}


class StepFunctions:
    """Starts executions and answers those that wait. Their payloads hold ids only: everything else is in the record."""

    def __init__(self, machine: str | None, runs: Runs, slices: Slices, clients: Clients) -> None:
        self._machine = machine
        self._runs = runs
        self._slices = slices
        self._clients = clients

    def start(self, owner: Owner, id: str) -> None:
        if self._machine is None:
            raise Misconfigured(
                "This deployment runs no workflows",
                "Deploy this version of Loci, or set LOCI_WORKFLOW_MACHINE to the machine that the stacks made",
            )
        run = self._runs.get(owner, id)
        if run.token and self._told(run.token, GOES_ON):
            self._runs.change(owner, id, lambda now: _without(now, run.token))
            return
        # Each decision has an execution of its own name, so that none is started twice.
        name, payload = f"{id}-{len(run.decisions)}", json.dumps(_ids(owner, id))
        with explained("Step Functions", f"the machine {self._machine}", RESOLUTIONS):
            states = self._clients.stepfunctions
            try:
                states.start_execution(stateMachineArn=self._machine, name=name, input=payload)
            except states.exceptions.ExecutionAlreadyExists:
                return  # it was started before, and has ended since

    def cancel(self, owner: Owner, id: str) -> None:
        """End the execution if it waits. One that is at work sees by the record that the run was aborted."""
        run = self._runs.get(owner, id)
        if run.token:
            self._told(run.token, IS_OVER)

    def wait(self, owner: Owner, id: str, seconds: float) -> None:  # noqa: ARG002 (the port's names)
        time.sleep(min(LOOK_SECONDS, seconds))

    def close(self) -> None:
        """Do nothing: nothing of it is in this process."""

    def answer(self, event: JsonObject, seconds: float) -> JsonObject | None:
        """Answer the machine (`infra/state_machines/workflow.asl.json`). The function has so many seconds left."""
        owner, id = Owner(str(event["tenant"]), str(event["subject"])), str(event["run"])
        match event["op"]:
            case "advance":
                return self._advance(owner, id, seconds)
            case "wait":
                self.wait_for_decision(owner, id, str(event["checkpoint"]), str(event["token"]))
            case "failed":
                self._failed(owner, id, json.dumps(event["error"])[:500])
            case op:
                raise ValueError(f"no such question: {op}")
        return None

    def _advance(self, owner: Owner, id: str, seconds: float) -> JsonObject:
        """One slice; how it ended, and how long a pause may last."""
        holder = f"function.{random_id(16)}"
        end = self._slices.advance(owner, id, holder, seconds=max(1.0, seconds - MARGIN_SECONDS))
        if end != "paused":
            return {"outcome": end, "checkpoint": "", "seconds": 0}
        run = self._runs.get(owner, id)
        checkpoint = run.checkpoint.id if run.checkpoint else ""
        return {"outcome": end, "checkpoint": checkpoint, "seconds": max(1, int(self._runs.seconds_kept(run)))}

    def wait_for_decision(self, owner: Owner, id: str, checkpoint: str, token: str) -> None:
        """Keep the token with which the machine is told to go on; tell it now if there is nothing to wait for."""

        def waiting(run: Run) -> Run:
            is_open = run.checkpoint is not None and run.checkpoint.id == checkpoint
            return run.model_copy(update={"token": token}) if is_open and not run.token else run

        try:
            run, _ = self._runs.change(owner, id, waiting)
        except NotFound:
            self._told(token, IS_OVER)
            return
        if run.token != token:
            # The decision was faster, and another execution goes on with the run; or it has ended.
            self._told(token, IS_OVER)

    def _failed(self, owner: Owner, id: str, why: str) -> None:
        """The machine gave up: the run ends with the reason."""

        def over(run: Run) -> Run:
            return run if run.status in ENDED or run.status == "paused" else run.failed(self._runs.now(), why)

        try:
            self._runs.change(owner, id, over)
        except NotFound:
            return

    def _told(self, token: str, output: str) -> bool:
        """Answer the execution that waits with this token. False if none does any more."""
        from botocore.exceptions import ClientError

        try:
            with explained("Step Functions", "the execution of a workflow", RESOLUTIONS):
                self._clients.stepfunctions.send_task_success(taskToken=token, output=output)
        except Unavailable as error:
            if isinstance(error.__cause__, ClientError) and code_of(error.__cause__) in NOBODY_WAITS:
                return False
            raise
        return True


def _without(run: Run, token: str) -> Run:
    return run.model_copy(update={"token": ""}) if run.token == token else run


def _ids(owner: Owner, id: str) -> dict[str, str]:
    return {"tenant": owner.tenant, "subject": owner.subject, "run": id}
