"""The sandbox behind each wall, and a world around it."""

from collections.abc import Generator

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.sandbox.wall.layers import Layer
from tests.attack.sandbox.deno.world import World, world
from tests.support.deno import WALLS, sandbox
from tests.support.executors import walls


@pytest.fixture(scope="module", params=WALLS)
def deno(request: pytest.FixtureRequest) -> Generator[DenoSandbox]:
    with sandbox(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    # Without a wall no code is let read anything.
    may_read = any(layers & {Layer.LANDLOCK, Layer.NAMESPACES} for layers in walls().values())
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch, world(folder, may_read=may_read) as made:
        patch.setenv("AWS_SECRET_ACCESS_KEY", "CANARY")
        yield made
