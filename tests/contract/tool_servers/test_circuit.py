"""When a server that fails is tried again."""

import pytest

from loci.adapters.tool_servers.upstream import Circuit
from tests.support.each import each


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@each(("failures", "pause"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 15), (5, 60), (6, 300), (9, 300)])
def test_the_pause_grows_with_the_failures_in_a_row(clock: Clock, failures: int, pause: float) -> None:
    circuit = Circuit(clock)
    for _ in range(failures):
        circuit.record_failure()
    assert circuit.pause() == pause


def test_an_answer_ends_the_pause(clock: Clock) -> None:
    circuit = Circuit(clock)
    for _ in range(5):
        circuit.record_failure()
    circuit.record_success()
    assert circuit.pause() == 0


def test_a_pause_ends_with_time(clock: Clock) -> None:
    circuit = Circuit(clock)
    for _ in range(4):
        circuit.record_failure()
    clock.now += 10
    assert circuit.pause() == 5
    clock.now += 5
    assert circuit.pause() == 0
