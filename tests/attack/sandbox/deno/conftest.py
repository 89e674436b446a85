"""The sandbox behind each wall, and a world around it."""

from collections.abc import Generator

import pytest

from loci.adapters.embedded.typescript import DenoSandbox
from tests.attack.sandbox.deno.world import World, world
from tests.support.deno import WALLS, sandbox


@pytest.fixture(scope="module", params=WALLS)
def deno(request: pytest.FixtureRequest) -> Generator[DenoSandbox]:
    with sandbox(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with pytest.MonkeyPatch.context() as patch, world(tmp_path_factory.mktemp("world")) as made:
        patch.setenv("AWS_SECRET_ACCESS_KEY", "CANARY")
        yield made
