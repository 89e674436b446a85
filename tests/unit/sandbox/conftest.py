"""One fork server with all packages for each wall."""

from collections.abc import Generator

import pytest

from loci.sandbox.supervisor.reply import Bounds
from loci.sandbox.supervisor.supervised import Supervised
from tests.support.executors import Nursery, nursery, walls


@pytest.fixture(scope="session", params=walls())
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Nursery]:
    with nursery(tmp_path_factory.mktemp("executors"), walls()[request.param]) as one:
        yield one


@pytest.fixture
def executor(python: Nursery) -> Generator[Supervised]:
    with python.executor(Bounds(seconds=50)) as one:
        yield one
