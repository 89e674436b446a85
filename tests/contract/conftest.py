"""Each test of the contract runs on every adapter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.core.stores import BlobStore, RecordStore
from tests.contract.stores import ADAPTERS, CLOCK, NEED_A_SERVER, START, Clock, Opener, Stores

MARKED = [pytest.param(name, marks=[pytest.mark.aws] if name in NEED_A_SERVER else []) for name in ADAPTERS]


@pytest.fixture
def clock() -> Clock:
    CLOCK.now = START
    return CLOCK


@pytest.fixture(scope="module", params=MARKED)
def adapter(request: pytest.FixtureRequest) -> Iterator[Opener]:
    with ADAPTERS[request.param]() as opener:
        yield opener


@pytest.fixture
def many(request: pytest.FixtureRequest) -> int:
    """Records that take some pages; fewer where each takes milliseconds to write, and all are sorted for each page."""
    return 10_000 if request.node.callspec.params["adapter"] == "embedded" else 2_500


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
