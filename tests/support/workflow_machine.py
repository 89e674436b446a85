"""The state machine of workflows on moto's interpreter, and the function that it invokes, in this process."""

import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from tests.support.functions import loaded
from tests.support.invoke_api import Handler, InvokeApi
from tests.support.moto_aws import BUCKET, CONNECT, KEY, MACHINE, SECRET, TABLE

DEFINITION = Path(__file__).parents[2] / "infra" / "state_machines" / "workflow.asl.json"
FUNCTION = "loci-workflow"
SOON = {"Advance": 1, "MarkFailed": 1}
"""Seconds before such a state is tried again: here no slice needs longer to die."""


@dataclass
class Machine:
    """The machine, and what its executions did."""

    api: InvokeApi
    client: Any

    @property
    def function(self) -> Handler:
        """The workflow function, which a test may replace."""
        return self.api.functions[FUNCTION]

    @function.setter
    def function(self, handler: Handler) -> None:
        self.api.functions[FUNCTION] = handler

    def executions(self) -> list[tuple[str, str]]:
        """The names and states of the executions, the oldest first."""
        found = self.client.list_executions(stateMachineArn=MACHINE)["executions"]
        return [(one["name"], one["status"]) for one in sorted(found, key=lambda one: one["startDate"])]

    def ended(self, seconds: float = 60) -> list[tuple[str, str]]:
        """The same, as soon as none runs."""
        until = time.monotonic() + seconds
        while any(status == "RUNNING" for _, status in self.executions()) and time.monotonic() < until:
            time.sleep(0.02)
        return self.executions()

    def history(self, name: str) -> list[dict[str, Any]]:
        """The events of an execution."""
        arn = MACHINE.replace(":stateMachine:", ":execution:") + f":{name}"
        return self.client.get_execution_history(executionArn=arn)["events"]

    def entered(self, name: str) -> list[str]:
        """The states that an execution entered: AWS counts each as a transition."""
        events = self.history(name)
        return [one["stateEnteredEventDetails"]["name"] for one in events if one["type"].endswith("StateEntered")]


def definition(values: Mapping[str, str]) -> dict[str, Any]:
    """The machine as the stack makes it."""
    text = DEFINITION.read_text("utf-8")
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    return json.loads(text)


@contextmanager
def workflow_machine(api: InvokeApi, settings: Mapping[str, str] | None = None) -> Generator[Machine]:
    """The machine, inside `moto_aws`, with the function's own handler behind Lambda's API."""
    _patch()
    made = definition({"Function": FUNCTION, "Partition": "aws"})
    for name, seconds in SOON.items():
        for retry in made["States"][name]["Retry"]:
            retry["IntervalSeconds"] = min(seconds, retry["IntervalSeconds"])
    client: Any = cast("Any", boto3.Session()).client("stepfunctions")
    client.create_state_machine(
        name=MACHINE.rpartition(":")[2],
        definition=json.dumps(made),
        roleArn="arn:aws:iam::123456789012:role/loci-workflow",
    )
    with pytest.MonkeyPatch.context() as starting:
        of_function = {"mode": "aws", "auth": "required", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET}
        of_function |= {"secret_key": KEY, "connect_function": CONNECT, "workflow_machine": MACHINE, **(settings or {})}
        for name in [name for name in os.environ if name.startswith("LOCI_")]:
            starting.delenv(name)
        for name, value in of_function.items():
            starting.setenv(f"LOCI_{name.upper()}", value)
        function = loaded(Path("workflow"))
    api.functions[FUNCTION] = function.lambda_handler
    machine = Machine(api, client)
    try:
        yield machine
    finally:
        for one in client.list_executions(stateMachineArn=MACHINE, statusFilter="RUNNING")["executions"]:
            client.stop_execution(executionArn=one["executionArn"])
        machine.ended()


def _patch() -> None:
    """StopExecution would hang while a state waits for a task token, unless that state is woken.

    And a definition that was good once is not checked again, which takes 0.2 s.
    """
    from moto.stepfunctions.parser.asl.eval.environment import Environment
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramStopped
    from moto.stepfunctions.parser.models import StepFunctionsParserBackend

    if hasattr(Environment, "wakes"):
        return
    environment: Any = Environment
    set_stop = environment.set_stop

    def stop_and_wake(self: Any, *args: Any, **named: Any) -> None:
        set_stop(self, *args, **named)
        for endpoint in list(self.callback_pool_manager._pool.values()):
            endpoint.interrupt_all()

    def unless_stopped(change: Callable[..., None]) -> Callable[..., None]:
        def changed(self: Any, *args: Any, **named: Any) -> None:
            if not isinstance(self._program_state, ProgramStopped):
                change(self, *args, **named)

        return changed

    backend: Any = StepFunctionsParserBackend
    backend._validate_definition = staticmethod(cache(backend._validate_definition))
    environment.wakes = True
    environment.set_stop = stop_and_wake
    for name in ("set_error", "set_ended", "set_timed_out"):
        setattr(environment, name, unless_stopped(getattr(environment, name)))
