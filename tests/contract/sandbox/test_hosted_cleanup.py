"""What comes after a run on AWS, and fails: it does not take the run's answer away."""

from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from botocore.exceptions import ClientError

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
from loci.adapters.aws.sandbox.lambda_executors import GRACE, LambdaExecutors
from loci.adapters.aws.sandbox.lambda_sandbox import LambdaSandbox
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.aws.sandbox.run_credentials import Lender
from loci.code.ports import Completed, RunFailure
from loci.core.errors import Refused
from loci.core.json import Json, JsonObject
from loci.sandbox.lambda_host.function_answer import packed_answer
from loci.sandbox.supervisor.deno_messages import ToolClient, TypeScriptJob
from loci.sandbox.supervisor.limits import Bounds
from tests.contract.sandboxes import KEY, ROLE
from tests.contract.stores import ANN, CLOCK, START
from tests.support.each import each
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, RUN_TABLE, TABLE
from tests.support.no_files import NoFiles

FUNCTION = "loci-run"
ENDED: dict[str, Any] = {"logs": [], "dropped": 0, "asked": 0, "denied": 0, "ms": 1.0, "peak": 1}
FOUR = packed_answer({**ENDED, "said": '{"t": "result", "value": 4, "seen": []}'})


@pytest.fixture
def api() -> Iterator[InvokeApi]:
    with invoke_api() as api, loopback_aws():
        yield api


def throttle(*_: object, **__: object) -> NoReturn:
    raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "Too much"}}, "Any")


def price(tool: str, arguments: JsonObject) -> Json:
    return 3


def executors(clients: Clients) -> LambdaExecutors:
    blobs = S3Blobs(BUCKET, clients)
    held = ExecutorRecords(DynamoRecords(TABLE, blobs, CLOCK, clients), CLOCK, lambda _: None)
    lender = Lender(RUN_TABLE, ROLE, clients)
    return LambdaExecutors(Machine(FUNCTION, "", KEY, clients), held, blobs, lender, Bounds())


def test_a_run_answers_although_its_rows_cannot_be_removed(api: InvokeApi) -> None:
    clients = Clients()

    def runs(_event: object, _context: object) -> object:
        clients.dynamodb.meta.events.register("before-call.dynamodb.DeleteItem", throttle)
        clients.dynamodb.meta.events.register("before-call.dynamodb.Query", throttle)
        return FOUR

    api.functions[FUNCTION] = runs
    sandbox = LambdaSandbox(Machine(FUNCTION, "", KEY, clients), Lender(RUN_TABLE, ROLE, clients))
    job = TypeScriptJob("2 + 2", clients=(ToolClient(("shop",), (("shop:price", ("price",)),)),))
    ended = sandbox.run(ANN, job, price)
    assert isinstance(ended, Completed)
    assert ended.value == 4


@each("failing", ["s3.ListObjectsV2", "s3.DeleteObject", "dynamodb.PutItem"])
def test_a_run_of_python_answers_although_it_cannot_be_recorded_or_tidied(api: InvokeApi, failing: str) -> None:
    clients = Clients()
    service, _ = failing.split(".")
    python = executors(clients)
    id = python.open(ANN)

    def dies(_event: object, _context: object) -> object:
        getattr(clients, service).meta.events.register(f"before-call.{failing}", throttle)
        return None

    api.functions[FUNCTION] = dies
    ran = python.run(ANN, id, "1", NoFiles(), START + 1000)
    assert isinstance(ran.outcome, RunFailure)
    assert ran.outcome.code.startswith("SANDBOX")
    if failing == "dynamodb.PutItem":
        assert ran.condition.unsaved is not None
        assert "DynamoDB" in ran.condition.unsaved


def test_a_run_beside_another_is_told_for_how_long_that_has_run(api: InvokeApi) -> None:
    python, refusals = executors(Clients()), list[str]()
    id = python.open(ANN)

    def runs(_event: object, _context: object) -> object:
        CLOCK.now = START + 12
        with pytest.raises(Refused) as refused:
            python.run(ANN, id, "1", NoFiles(), START + 1000)
        refusals.append(f"{refused.value.code}: {refused.value.what}")
        return None

    api.functions[FUNCTION] = runs
    try:
        python.run(ANN, id, "1", NoFiles(), START + 1000)
    finally:
        CLOCK.now = START
    left = Bounds().seconds + GRACE - 12
    assert refusals == [f"EXECUTOR_BUSY: Executor {id} has run other code for 12 s, and may for {left:.0f} s more"]


def test_files_that_are_as_they_were_are_saved_again_each_day(api: InvokeApi) -> None:
    """The bucket keeps them for eight days, whoever uses them."""
    python, asked = executors(Clients()), list[bool]()
    id = python.open(ANN)
    run: dict[str, Any] = {"said": {"ok": True}, "pieces": [], "seconds": 1, "interrupted": False}
    printed = {"stdout": "", "stderr": "", "dropped": 0, "memory": 0}
    said: dict[str, Any] = {"began": "new", "run": run | printed, "written": [], "unsaved": "x", "files": "0" * 64}

    def runs(event: dict[str, Any], _context: object) -> object:
        asked.append(event["save"]["renew"])
        return packed_answer(said)

    api.functions[FUNCTION] = runs
    try:
        for hours in (0, 1, 26, 27):
            CLOCK.now = START + hours * 3600
            python.run(ANN, id, "1", NoFiles(), CLOCK.now + 7 * 86_400)
    finally:
        CLOCK.now = START
    assert asked == [False, False, True, False]
