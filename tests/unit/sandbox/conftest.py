"""One fork server with all packages for each wall."""

from collections.abc import Generator

import pytest

from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.limits import Bounds
from tests.support.executors import ExecutorFactory, executor_factory, walls


@pytest.fixture(scope="session", params=walls())
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[ExecutorFactory]:
    with executor_factory(tmp_path_factory.mktemp("executors"), walls()[request.param]) as one:
        yield one


@pytest.fixture
def executor(python: ExecutorFactory) -> Generator[ExecutorProcess]:
    with python.executor(Bounds(seconds=50)) as one:
        yield one
