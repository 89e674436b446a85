"""What TypeScript holds or computes goes with its process, as soon as it is answered."""

import os
from collections.abc import Generator

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.ports import Completed
from loci.sandbox.supervisor.limits import memory_use
from loci.sandbox.wall.layers import Layer
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.deno.attacks import Attack
from tests.attack.sandbox.deno.on_meters import GOES_ON
from tests.attack.sandbox.deno.test_attacks import METERED, withstood
from tests.attack.sandbox.deno.test_own import launchers
from tests.attack.sandbox.deno.world import World
from tests.support.deno import WALLS, Given, needs_deno, run, sandbox, value
from tests.support.each import each
from tests.support.polling import until
from tests.support.processes import descendants

pytestmark = needs_deno
SPARES = 1
SPARE_BYTES = 100 << 20
"""A process that has not run anything takes about half of it."""


class Metered:
    """A sandbox, and the processes that it has."""

    def __init__(self, made: DenoSandbox, launcher: int) -> None:
        self.sandbox = made
        self._launcher = launcher

    def processes(self) -> list[int]:
        return descendants(self._launcher)

    def is_as_before(self) -> bool:
        """True if there are spare processes only, and none of them holds anything."""
        sizes = [memory_use(one).bytes for one in self.processes()]
        running = [size for size in sizes if size > 20 << 20]  # behind namespaces each has a small one above it
        return len(running) <= SPARES and max(running, default=0) < SPARE_BYTES


@pytest.fixture(scope="module", params=WALLS)
def metered(request: pytest.FixtureRequest) -> Generator[Metered]:
    layers: frozenset[Layer] = request.param
    before = launchers()
    with sandbox(layers, SPARES) as made:
        assert value(made, "1") == 1
        [launcher] = launchers() - before
        yield Metered(made, launcher)


@each("attack", [pytest.param(one, id=one.name) for one in METERED])
def test_what_is_taken_is_given_back(metered: Metered, outside: World, tried: Tried, attack: Attack) -> None:
    with tried(attack.name):
        assert withstood(metered.sandbox, outside, attack).measured.memory_mb < 1024
        until(metered.is_as_before)


@each("name", GOES_ON)
def test_code_after_the_answer_gets_no_processor(metered: Metered, tried: Tried, name: str) -> None:
    with tried(name):
        before = set(metered.processes())
        ended = run(metered.sandbox, GOES_ON[name], Given(memory_mb=1024))
        assert isinstance(ended, Completed)
        assert ended.value in (1, {"a": 1})
        assert os.getpid() not in before
        until(metered.is_as_before)
