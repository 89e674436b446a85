"""One LocalStack for all tests of a run, started by the first that needs it."""

import atexit
import time
from functools import cache

from tests.servers.localstack.environments import environments
from tests.servers.localstack.running import LocalStack, start, stop
from tests.servers.reporting import SECONDS, only_with


def shared() -> LocalStack:
    """The run's server; without a Python 3.13 the test is skipped."""
    with only_with("LocalStack", "Then run them again."):
        return _started()


@cache
def _started() -> LocalStack:
    began = time.monotonic()
    environments()
    SECONDS["Python environments"], began = time.monotonic() - began, time.monotonic()
    server = start()
    atexit.register(stop, server)
    SECONDS["LocalStack start"] = time.monotonic() - began
    return server
