"""Each test of the contract runs on every adapter: records on SQLite and DynamoDB, blobs in a folder and S3.

`make test` runs it on those of this machine; all that needs AWS, or what stands for it, has the mark `aws`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.core.stores import BlobStore, RecordStore
from tests.contract.stores import ADAPTERS, Clock, Opener, Stores


@pytest.fixture
def clock() -> Clock:
    return Clock()


# DynamoDB as AWS's own server has it. moto's S3 is enough for blobs: a module about them says so.
@pytest.fixture(scope="module", params=["embedded", pytest.param("dynamodb-local", marks=pytest.mark.aws)])
def adapter(request: pytest.FixtureRequest) -> Iterator[Opener]:
    with ADAPTERS[request.param]() as opener:
        yield opener


@pytest.fixture
def stores(adapter: Opener, tmp_path: Path, clock: Clock) -> Iterator[Stores]:
    with adapter(tmp_path, clock) as opened:
        yield opened


@pytest.fixture
def records(stores: Stores) -> RecordStore:
    return stores.records


@pytest.fixture
def blobs(stores: Stores) -> BlobStore:
    return stores.blobs
