"""One sandbox for all tests of it."""

from collections.abc import Generator

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from tests.support.deno import STRONGEST, sandbox


@pytest.fixture(scope="package")
def deno() -> Generator[DenoSandbox]:
    with sandbox(STRONGEST) as made:
        yield made
