"""Each test of the index runs on every adapter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex
from tests.contract.indexes import (
    ADAPTERS,
    PARAMETERS,
    Opener,
    someone,
)


@pytest.fixture(scope="module", params=PARAMETERS)
def adapter(request: pytest.FixtureRequest) -> Iterator[Opener]:
    with ADAPTERS[request.param]() as opener:
        yield opener


@pytest.fixture
def index(adapter: Opener, tmp_path: Path) -> Iterator[DocumentIndex]:
    with adapter(tmp_path) as opened:
        yield opened


@pytest.fixture
def ann() -> Owner:
    return someone()


@pytest.fixture
def bob() -> Owner:
    return someone()
