"""Stored files of the lake, as code in the function reads them: no process of ours holds their bytes."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
from loci.adapters.aws.sandbox.lambda_executors import LambdaExecutors
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.aws.sandbox.run_credentials import Lender
from loci.code.ports import InBlobs, RunFailure, StoredContent
from loci.core.identity import Owner
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.contract.executors import BOUNDS, FUNCTION, function
from tests.contract.sandboxes import KEY, ROLE
from tests.contract.stores import ANN, CLOCK, START
from tests.support.deno import STRONGEST
from tests.support.moto_aws import BUCKET, EXECUTORS, RUN_TABLE, TABLE

pytestmark = pytest.mark.skipif(
    not STRONGEST >= UNPRIVILEGED,
    reason="this machine has no wall to put around code: `loci doctor` says what is missing",
)
BLOB = "files/ds-1/0"


class InTheLake:
    """One file, which must not be read here."""

    def read(self, owner: Owner, id: str) -> StoredContent:
        def never() -> bytes:
            raise AssertionError("its bytes came here")

        assert (owner, id) == (ANN, "ds-1")
        return StoredContent("sales.csv", "v1", InBlobs(BLOB, never))


@pytest.fixture
def executors(tmp_path: Path) -> Generator[LambdaExecutors]:
    with function(tmp_path):
        clients = Clients()
        clients.s3.meta.events.register("provide-client-params.s3.GetObject", _only_of_executors())
        lake = S3Blobs(BUCKET, clients)
        yield LambdaExecutors(
            Machine(FUNCTION, "LOCI_RUN_PYTHON_FUNCTION", KEY, clients),
            ExecutorRecords(DynamoRecords(TABLE, lake, CLOCK, clients), CLOCK, lambda _: None),
            S3Blobs(EXECUTORS, clients),
            Lender(RUN_TABLE, ROLE, clients),
            BOUNDS,
            lake=lake,
        )


def _only_of_executors() -> Callable[..., None]:
    def check(params: dict[str, Any], **_: object) -> None:
        assert params["Bucket"] == EXECUTORS

    return check


def test_s3_copies_a_file_of_the_lake_to_where_the_machine_can_read_it(executors: LambdaExecutors) -> None:
    S3Blobs(BUCKET).write(ANN, BLOB, b"a,b\n1,2\n" * 100_000)
    id = executors.open(ANN)
    code = "len(open(get_memory_path('ds-1', 'any name')).read())"
    done = executors.run(ANN, id, code, InTheLake(), START + 86_400)
    assert not isinstance(done.outcome, RunFailure), done.outcome
    assert done.outcome is not None
    assert done.outcome.text == "800000"
    assert [key for key in S3Blobs(EXECUTORS).list(ANN) if "/files/" in key] == []
