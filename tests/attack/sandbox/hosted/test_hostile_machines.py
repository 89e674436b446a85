"""Machines that code has taken over: they say what they like, and gain nothing by it."""

import base64
import json
import random
import threading
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
from loci.adapters.aws.sandbox.lambda_executors import LambdaExecutors
from loci.adapters.aws.sandbox.lambda_sandbox import LambdaSandbox
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.aws.sandbox.run_credentials import Lender, policy
from loci.code.ports import Completed, Failed, PythonResult, RunFailure
from loci.core.json import Json, JsonObject
from loci.sandbox.lambda_host.function_answer import packed_answer
from loci.sandbox.lambda_host.questions import LARGEST, QUESTION, open_line, send
from loci.sandbox.supervisor.deno_messages import ToolClient, TypeScriptJob
from loci.sandbox.supervisor.limits import Bounds
from tests.contract.sandboxes import KEY, ROLE
from tests.contract.stores import ANN, BOB, CLOCK, START
from tests.support.each import each
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, RUN_TABLE, TABLE
from tests.support.no_files import NoFiles
from tests.support.polling import until

FUNCTION = "loci-run"
SHOP = ToolClient(("shop",), (("shop:price", ("price",)),))
ENDED: dict[str, Any] = {"logs": [], "dropped": 0, "asked": 0, "denied": 0, "ms": 1.0, "peak": 1}
DEEP = '{"t": "result", "value": ' + "[" * 10_000 + "]" * 10_000 + "}"


def bomb(content: bytes) -> dict[str, str]:
    """An answer that is small until it is unpacked."""
    return {"packed": base64.b64encode(zlib.compress(content, 9)).decode()}


BOMBS: dict[str, object] = {
    "empty lists": bomb(b'{"a":[' + b"[]," * 9_000_000 + b"[]]}"),
    "empty texts": bomb(b'{"a":[' + b'"",' * 9_000_000 + b"0]}"),
    "other names": bomb(b"{" + b",".join(b'"%d":0' % n for n in range(2_000_000)) + b"}"),
    "lists in a text that ends nowhere": bomb(b'{"a":"' + b"[]," * 9_000_000),
    "more than may be unpacked": bomb(b'{"a":"' + b" " * (64 << 20) + b'"}'),
    "lists beside what is packed": {"packed": "", "a": [[]] * 1_500_000},
    "a result of empty lists": packed_answer({**ENDED, "said": '{"t":"result","value":[' + "[]," * 1_800_000 + "[]]}"}),
    "logs without end": packed_answer({**ENDED, "logs": [["log", "x"]] * 1_000_000, "said": "{}"}),
}
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
    return LambdaExecutors(Machine(FUNCTION, "", KEY, clients), held, blobs, lender, Bounds())


def says(api: InvokeApi, answer: object) -> None:
    api.functions[FUNCTION] = lambda _event, _context: answer


def ran(executors: LambdaExecutors, id: str) -> PythonResult:
    return executors.run(ANN, id, "1", NoFiles(), START + 1000)


def no_tool(tool: str, arguments: JsonObject) -> Json:
    raise AssertionError(f"{tool} was called with {arguments}")


@each("name", NO_ENDS)
def test_an_end_that_is_none_fails_the_run(api: InvokeApi, sandbox: LambdaSandbox, name: str) -> None:
    says(api, NO_ENDS[name])
    ended = sandbox.run(ANN, TypeScriptJob("1"), no_tool)
    assert isinstance(ended, Failed)
    assert ended.code in ("SANDBOX_PROTOCOL", "SANDBOX_EXITED")


@each("name", NO_RUNS)
def test_a_run_that_is_none_fails_and_nothing_of_it_is_kept(
    api: InvokeApi, executors: LambdaExecutors, name: str
) -> None:
    says(api, NO_RUNS[name])
    id = executors.open(ANN)
    for _ in range(2):  # the executor is not held by what failed
        assert isinstance(ran(executors, id).outcome, RunFailure)


@each("name", BOMBS)
def test_an_answer_of_many_parts_takes_no_memory(
    api: InvokeApi, executors: LambdaExecutors, sandbox: LambdaSandbox, name: str
) -> None:
    says(api, BOMBS[name])
    tracemalloc.start()
    try:
        ended = sandbox.run(ANN, TypeScriptJob("1"), no_tool)
        python = ran(executors, executors.open(ANN))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(ended, Failed)
    assert isinstance(python.outcome, RunFailure)
    assert peak < 150 << 20, peak >> 20


class Asked:
    """The prefixes of the rows that are read, and how many bytes come back."""

    def __init__(self, clients: Clients) -> None:
        self.prefixes: list[str] = []
        self.bytes: Counter[str] = Counter()
        events = clients.dynamodb.meta.events
        events.register("before-parameter-build.dynamodb.Query", self._asks)
        events.register("after-call.dynamodb.Query", self._said)

    def _asks(self, params: dict[str, Any], **_: object) -> None:
        self.prefixes.append(params["ExpressionAttributeValues"].get(":prefix", {}).get("S", ""))

    def _said(self, parsed: dict[str, Any], **_: object) -> None:
        bodies = [item.get("body", {}).get("B", b"") for item in parsed.get("Items", [])]
        self.bytes[self.prefixes[-1]] += sum(map(len, bodies))


def test_a_question_of_rows_without_end_is_not_read_to_its_end(api: InvokeApi, clients: Clients) -> None:
    asked, sandbox = (
        Asked(clients),
        LambdaSandbox(Machine(FUNCTION, "", KEY, clients), Lender(RUN_TABLE, ROLE, clients)),
    )

    def asks(event: dict[str, Any], _: object) -> object:
        line = open_line(event["line"], 60)
        assert line is not None
        rows = line._rows  # pyright: ignore[reportPrivateUsage]
        for number in reversed(range(40)):
            rows.put(f"question#000001#{number:04}", random.Random(number).randbytes(200_000))
        until(lambda: asked.bytes["question#000001#"])
        line.close()
        return packed_answer({**ENDED, "said": '{"t": "result", "value": 1, "seen": []}'})

    api.functions[FUNCTION] = asks
    assert isinstance(sandbox.run(ANN, TypeScriptJob("1", clients=(SHOP,)), no_tool), Completed)
    reads = asked.prefixes.count("question#000001#")
    assert asked.bytes["question#000001#"] <= reads * (LARGEST[QUESTION] + (2 << 20))


def test_questions_that_wait_for_a_slow_tool_are_not_read(api: InvokeApi, clients: Clients) -> None:
    asked, sandbox = (
        Asked(clients),
        LambdaSandbox(Machine(FUNCTION, "", KEY, clients), Lender(RUN_TABLE, ROLE, clients)),
    )
    calls, let_go = list[str](), threading.Event()
    read = list[int]()

    def slow(tool: str, _: JsonObject) -> Json:
        calls.append(tool)
        let_go.wait(60)
        return 1

    def asks(event: dict[str, Any], _: object) -> object:
        line = open_line(event["line"], 60)
        assert line is not None
        rows = line._rows  # pyright: ignore[reportPrivateUsage]
        for number in range(1, 51):
            send(rows, QUESTION, number, {"tool": "shop:price", "arguments": {"n": number}})
        until(lambda: len(calls) == 16)
        read.append(max(int(one.split("#")[1]) for one in asked.prefixes if one.startswith("question")))
        let_go.set()
        until(lambda: len(calls) == 50)
        line.close()
        return packed_answer({**ENDED, "said": '{"t": "result", "value": 1, "seen": []}'})

    api.functions[FUNCTION] = asks
    assert isinstance(sandbox.run(ANN, TypeScriptJob("1", clients=(SHOP,)), slow), Completed)
    assert read[0] <= 17


def test_a_machine_calls_no_tool_that_its_run_was_not_given(api: InvokeApi, sandbox: LambdaSandbox) -> None:
    answers: list[str] = []
    questions: list[object] = [
        {"tool": "admin:delete", "arguments": {}},
        {"tool": ["shop:price"]},
        5,
        "shop:price",
    ]

    def asks(event: dict[str, Any], _: object) -> object:
        line = open_line(event["line"], 60)
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
