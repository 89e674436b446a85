"""Machines that code has taken over: they say what they like, and gain nothing by it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
from loci.adapters.aws.sandbox.lambda_executors import LambdaExecutors
from loci.adapters.aws.sandbox.lambda_sandbox import LambdaSandbox
from loci.adapters.aws.sandbox.lent_rows import Lender, policy
from loci.adapters.aws.sandbox.machine import Machine
from loci.code.python_run import Ran, RunFailure
from loci.code.typescript_run import Failed, ToolClient, TypeScriptJob
from loci.core.json import Json, JsonObject
from loci.sandbox.lambda_host.function_answer import packed_answer
from loci.sandbox.lambda_host.questions import open_line
from loci.sandbox.supervisor.exchange import Bounds
from tests.contract.sandboxes import KEY, ROLE
from tests.contract.stores import ANN, BOB, CLOCK, START
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, RUN_TABLE, TABLE
from tests.support.no_files import NoFiles

FUNCTION = "loci-run"
SHOP = ToolClient(("shop",), (("shop:price", ("price",)),))
ENDED: dict[str, Any] = {"logs": [], "dropped": 0, "asked": 0, "denied": 0, "ms": 1.0, "peak": 1}
DEEP = '{"t": "result", "value": ' + "[" * 10_000 + "]" * 10_000 + "}"
NO_ENDS: dict[str, object] = {
    "nothing": None,
    "a text": "done",
    "an empty object": {},
    "not packed": {"packed": "AAAA"},
    "no outcome": packed_answer(ENDED),
    "a line that is no end": packed_answer({**ENDED, "said": '{"t": "ready"}'}),
    "a reason that is none": packed_answer({**ENDED, "broken": ["because", "of this"]}),
    "logs that are none": packed_answer({**ENDED, "logs": 5, "said": "{}"}),
    "a value without end": packed_answer({**ENDED, "said": DEEP}),
    "numbers that are none": packed_answer({**ENDED, "ms": "NaN", "peak": -1, "said": "[]"}),
}
NO_RUNS: dict[str, object] = {
    "nothing": None,
    "no run": packed_answer({"began": "kept"}),
    "a reason that is none": packed_answer({"began": "new", "run": {"stopped": "because", "stdout": "", "stderr": ""}}),
    "output that is none": packed_answer({"began": "new", "run": {"said": {}, "stdout": 5, "stderr": ""}}),
    "pieces of elsewhere": packed_answer(
        {
            "began": "new",
            "run": {
                "said": {},
                "pieces": [],
                "seconds": 1,
                "interrupted": False,
                "stdout": "",
                "stderr": "",
                "dropped": 0,
                "memory": 0,
            },
            "written": [],
            "saved": {"pieces": ["../../other"], "size": 1, "said": {}},
        }
    ),
}


@pytest.fixture(scope="module")
def api() -> Iterator[InvokeApi]:
    with invoke_api() as api, loopback_aws():
        yield api


@pytest.fixture(scope="module")
def clients(api: InvokeApi) -> Clients:
    return Clients()


@pytest.fixture
def sandbox(clients: Clients) -> LambdaSandbox:
    return LambdaSandbox(Machine(FUNCTION, "", KEY, clients), Lender(RUN_TABLE, ROLE, clients))


@pytest.fixture
def executors(clients: Clients) -> LambdaExecutors:
    blobs = S3Blobs(BUCKET, clients)
    held = ExecutorRecords(DynamoRecords(TABLE, blobs, CLOCK, clients), CLOCK, lambda _: None)
    lender = Lender(RUN_TABLE, ROLE, clients)
    return LambdaExecutors(Machine(FUNCTION, "", KEY, clients), held, blobs, lender, Bounds(), drawing=True)


def says(api: InvokeApi, answer: object) -> None:
    api.functions[FUNCTION] = lambda _event, _context: answer


def ran(executors: LambdaExecutors, id: str) -> Ran:
    return executors.run(ANN, id, "1", NoFiles(), START + 1000)


def no_tool(tool: str, arguments: JsonObject) -> Json:
    raise AssertionError(f"{tool} was called with {arguments}")


@pytest.mark.parametrize("answer", NO_ENDS.values(), ids=NO_ENDS)
def test_an_end_that_is_none_fails_the_run(api: InvokeApi, sandbox: LambdaSandbox, answer: object) -> None:
    says(api, answer)
    ended = sandbox.run(ANN, TypeScriptJob("1"), no_tool)
    assert isinstance(ended, Failed)
    assert ended.code in ("SANDBOX_PROTOCOL", "SANDBOX_EXITED")


@pytest.mark.parametrize("answer", NO_RUNS.values(), ids=NO_RUNS)
def test_a_run_that_is_none_fails_and_nothing_of_it_is_kept(
    api: InvokeApi, executors: LambdaExecutors, answer: object
) -> None:
    says(api, answer)
    id = executors.open(ANN)
    for _ in range(2):  # the executor is not held by what failed
        assert isinstance(ran(executors, id).outcome, RunFailure)


def test_a_machine_calls_no_tool_that_its_run_was_not_given(api: InvokeApi, sandbox: LambdaSandbox) -> None:
    answers: list[str] = []
    questions: list[object] = [
        {"tool": "admin:delete", "arguments": {}},
        {"tool": ["shop:price"]},
        5,
        "shop:price",
    ]

    def asks(event: dict[str, Any], _: object) -> object:
        line = open_line(event["line"], 20)
        assert line is not None
        for question in questions:
            answers.append(str(line.ask(question)))
        line.close()
        return packed_answer({**ENDED, "said": '{"t": "result", "value": 1, "seen": []}'})

    api.functions[FUNCTION] = asks
    sandbox.run(ANN, TypeScriptJob("1", clients=(SHOP,)), no_tool)
    assert answers
    assert all("TOOL_DENIED" in one for one in answers)


def test_machines_of_owners_and_of_executors_are_others(
    api: InvokeApi, executors: LambdaExecutors, sandbox: LambdaSandbox
) -> None:
    says(api, None)
    before = len(api.tenants)
    first, second = executors.open(ANN), executors.open(ANN)
    for owner, id in ((ANN, first), (ANN, second), (BOB, first)):
        executors.run(owner, id, "1", NoFiles(), START + 1000)
    for owner in (ANN, BOB):
        sandbox.run(owner, TypeScriptJob("1"), no_tool)
    tenants = api.tenants[before:]
    assert len(set(tenants)) == len(tenants) == 5
    assert not [name for name in (ANN.key, BOB.key, ANN.subject, first) if name in "".join(tenants)]


def test_a_loan_is_for_one_runs_rows_and_ends_with_it() -> None:
    [statement] = json.loads(policy("run#1", 1_700_000_000))["Statement"]
    assert statement["Action"] == ["dynamodb:Query", "dynamodb:UpdateItem"]
    assert statement["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["run#1"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
        "DateLessThan": {"aws:CurrentTime": "2023-11-14T22:13:20Z"},
    }
