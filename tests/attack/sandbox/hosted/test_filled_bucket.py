"""A machine that code has taken over stores no more than its executor's quota, however often it is run."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
from loci.adapters.aws.sandbox.lambda_executors import MOST_SAVED, PIECE, LambdaExecutors, blobs_of
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.aws.sandbox.run_credentials import Lender
from loci.sandbox.lambda_host.function_answer import packed_answer
from loci.sandbox.lambda_host.saved_state import write_object
from loci.sandbox.supervisor.limits import Bounds
from tests.contract.sandboxes import KEY, ROLE
from tests.contract.stores import ANN, CLOCK, START
from tests.support.each import each
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, RUN_TABLE, TABLE
from tests.support.no_files import NoFiles

FUNCTION = "loci-run"
RUN: dict[str, Any] = {
    "said": {"ok": True, "names": ["x"]},
    "pieces": [],
    "seconds": 1,
    "interrupted": False,
    "stdout": "",
    "stderr": "",
    "dropped": 0,
    "memory": 0,
}
CONTENT = b"x" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def api() -> Iterator[InvokeApi]:
    with invoke_api() as api, loopback_aws():
        yield api


@pytest.fixture
def blobs() -> S3Blobs:
    return S3Blobs(BUCKET, Clients())


@pytest.fixture
def executors(api: InvokeApi, blobs: S3Blobs) -> LambdaExecutors:
    clients = Clients()
    held = ExecutorRecords(DynamoRecords(TABLE, blobs, CLOCK, clients), CLOCK, lambda _: None)
    lender = Lender(RUN_TABLE, ROLE, clients)
    return LambdaExecutors(Machine(FUNCTION, "", KEY, clients), held, blobs, lender, Bounds())


def forms(event: dict[str, Any]) -> list[dict[str, Any]]:
    return [*event["save"]["puts"], event["save"]["files"]]


def saved(pieces: int, size: object) -> dict[str, Any]:
    return {"saved": {"pieces": [DIGEST] * pieces, "size": size, "said": {"ok": True, "kept": ["x"]}}}


def most(form: dict[str, Any]) -> int:
    conditions = json.loads(base64.b64decode(form["fields"]["policy"]))["conditions"]
    [[_, least, most]] = [one for one in conditions if "content-length-range" in one]
    assert least == 0
    return int(most)


@each("named", [0, 1, 2])
def test_what_is_written_and_not_named_does_not_stay(
    api: InvokeApi, executors: LambdaExecutors, blobs: S3Blobs, named: int
) -> None:
    def fills(event: dict[str, Any], _: object) -> object:
        for form in forms(event):
            write_object(form, CONTENT)
        return packed_answer({"began": "new", "run": RUN, "written": [], **saved(named, 1000 * named)})

    api.functions[FUNCTION] = fills
    id = executors.open(ANN)
    for _ in range(3):
        executors.run(ANN, id, "1", NoFiles(), START + 1000)
        assert len(blobs.list(ANN, blobs_of(id))) == named


def test_forms_of_earlier_runs_fill_no_bucket(api: InvokeApi, executors: LambdaExecutors, blobs: S3Blobs) -> None:
    """They are valid for minutes, and a process that goes on uses them when its machine runs again."""
    held: list[dict[str, Any]] = []

    def fills(event: dict[str, Any], _: object) -> object:
        for form in held:
            write_object(form, CONTENT)
        held.extend(forms(event))
        write_object(event["save"]["puts"][0], CONTENT)
        return packed_answer({"began": "new", "run": RUN, "written": [], **saved(1, 1000)})

    api.functions[FUNCTION] = fills
    id = executors.open(ANN)
    for _ in range(5):
        executors.run(ANN, id, "1", NoFiles(), START + 1000)
    [key] = blobs.list(ANN, blobs_of(id))
    assert blobs.read(ANN, key) == CONTENT


def test_all_forms_of_a_run_together_hold_no_more_than_an_executors_quota(
    api: InvokeApi, executors: LambdaExecutors
) -> None:
    asked: list[dict[str, Any]] = []
    api.functions[FUNCTION] = lambda event, _: asked.append(event)
    executors.run(ANN, executors.open(ANN), "1", NoFiles(), START + 1000)
    puts = [most(form) for form in asked[0]["save"]["puts"]]
    assert max(puts) == PIECE
    assert sum(puts) < MOST_SAVED + 2 * PIECE
    assert most(asked[0]["save"]["files"]) == 2 * MOST_SAVED


@each("size", [-1, 10**18, "7", 1e300, float("inf"), None])
def test_a_size_that_is_none_is_not_recorded(
    api: InvokeApi, executors: LambdaExecutors, blobs: S3Blobs, size: object
) -> None:
    api.functions[FUNCTION] = lambda _event, _context: packed_answer(
        {"began": "new", "run": RUN, "written": [], **saved(1, size)}
    )
    id = executors.open(ANN)
    executors.run(ANN, id, "1", NoFiles(), START + 1000)
    held = ExecutorRecords(DynamoRecords(TABLE, blobs, CLOCK, Clients()), CLOCK, lambda _: None)
    snapshot = held.known(ANN, id).variables.snapshot
    assert snapshot is None or 0 <= snapshot.size <= PIECE
