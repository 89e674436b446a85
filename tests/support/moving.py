"""Step Functions on moto with Loci's own machine, and the function that it calls, with its real handler."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from loci.app import App
from tests.support.functions import loaded
from tests.support.invoke_api import InvokeApi
from tests.support.moto_aws import BUCKET, CONNECT, KEY, SECRET, TABLE, WORKFLOW, machine_arn

MACHINE = Path(__file__).parents[2] / "infra" / "state_machines" / "workflow.asl.json"
LAMBDAS_LONGEST_MS = 900_000
PLAYED = {"IntervalSeconds": 1, "BackoffRate": 1}
"""Retries in tests: nobody waits for half a minute."""


@dataclass
class Moving:
    """The machine, and the function."""

    function: App
    """What the function runs."""
    left_ms: int = LAMBDAS_LONGEST_MS
    crashes: int = 0
    """How many of its next slices end without an answer."""

    def get_remaining_time_in_millis(self) -> int:
        """As the context of an invocation says it."""
        return self.left_ms

    def executions(self) -> list[dict[str, Any]]:
        """All executions, with their histories."""
        states = cast("Any", boto3).client("stepfunctions")
        found = states.list_executions(stateMachineArn=machine_arn())["executions"]
        for one in found:
            one["events"] = states.get_execution_history(executionArn=one["executionArn"])["events"]
        return found


@contextmanager
def moving(api: InvokeApi) -> Generator[Moving]:
    """Inside `moto_aws` and `invoke_api`: a machine that calls the function."""
    settings = {"mode": "aws", "auth": "required", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET}
    settings |= {"secret_key": KEY, "connect_function": CONNECT, "workflow_machine": machine_arn()}
    with pytest.MonkeyPatch.context() as starting:
        for name, value in settings.items():
            starting.setenv(f"LOCI_{name.upper()}", value)
        handler = loaded(Path("workflow"))
    made = Moving(handler.app)

    def answer(event: dict[str, Any], _: object) -> object:
        if event["op"] == "advance" and made.crashes:
            made.crashes -= 1
            raise MemoryError("the function died")
        return handler.lambda_handler(event, made)

    api.functions[WORKFLOW] = answer
    text = MACHINE.read_text("utf-8").replace("${Partition}", "aws").replace("${Function}", WORKFLOW)
    definition = json.loads(text)
    for state in definition["States"].values():
        state["Retry"] = [one | PLAYED for one in state.get("Retry", [])]
    role = "arn:aws:iam::123456789012:role/moves"
    cast("Any", boto3).client("stepfunctions").create_state_machine(
        name=machine_arn().rpartition(":")[2],
        definition=json.dumps(definition),
        roleArn=role,
    )
    yield made
    made.function.close()
