"""Each test of the contract runs on every adapter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.ports import BlobStore, RecordStore
from tests.contract.stores import ADAPTERS, CLOCK, START, Clock, Opener, Stores


@pytest.fixture
def clock() -> Clock:
    CLOCK.now = START
    return CLOCK


@pytest.fixture(scope="module", params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> Iterator[Opener]:
    with ADAPTERS[request.param]() as opener:
        yield opener


@pytest.fixture
def stores(adapter: Opener, tmp_path: Path, clock: Clock) -> Iterator[Stores]:
    with adapter(tmp_path) as opened:
        yield opened


@pytest.fixture
def records(stores: Stores) -> RecordStore:
    return stores.records


@pytest.fixture
def blobs(stores: Stores) -> BlobStore:
    return stores.blobs
