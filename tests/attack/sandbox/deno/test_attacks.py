"""Hostile TypeScript finds nothing out, reaches nothing, and the next run answers."""

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.ports import Completed, Failed
from tests.attack.sandbox.classes import CLASSES
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.deno.attacks import ENGINE, FILES, NETWORK, PROGRAMS, SECRETS, Attack
from tests.attack.sandbox.deno.on_limits import ENDS, MEMORY, OUTPUT, TIME, TRACES
from tests.attack.sandbox.deno.on_meters import GOES_ON, METERS
from tests.attack.sandbox.deno.world import World
from tests.attack.sandbox.escaped import Escaped
from tests.support.deno import needs_deno, value
from tests.support.each import each

pytestmark = needs_deno
MOST_CALLS = 200
ATTACKS = [*NETWORK, *SECRETS, *FILES, *PROGRAMS, *ENGINE, *MEMORY, *METERS, *TIME, *ENDS, *OUTPUT, *TRACES]


METERED = [one for one in METERS if "SANDBOX_MEMORY" in one.ends]
"""These are tried in test_meters.py, where it is seen, too, that nothing is left of them."""


def withstood(deno: DenoSandbox, outside: World, attack: Attack) -> Completed | Failed:
    """How the attack ended, which finds nothing out, reaches nothing, and does nothing to the next run."""
    try:
        ended = outside.attacked(deno, attack)
        leaked, called = outside.leaked(ended), outside.called.copy()
    finally:
        outside.mend()
        assert value(deno, "1 + 1") == 2
    if leaked:
        raise Escaped(leaked)
    if attack.ends:
        assert ("value" if isinstance(ended, Completed) else ended.code) in attack.ends
    assert ended.measured.ms > 0
    assert ended.measured.memory_mb < 1100
    assert sum(len(line.text) for line in ended.measured.logs) <= 300_000
    assert called.count("github:list_commits") <= MOST_CALLS
    assert set(called) <= {"github:list_commits"}
    return ended


@each("attack", [pytest.param(one, id=one.name) for one in ATTACKS if one not in METERED])
def test_it_is_blocked_and_the_host_lives(deno: DenoSandbox, outside: World, tried: Tried, attack: Attack) -> None:
    with tried(attack.name):
        withstood(deno, outside, attack)


def test_the_list_is_whole() -> None:
    told = sum(len(one.attacks) for one in CLASSES if one.code == "TypeScript" and one.attacks is not GOES_ON)
    assert len(ATTACKS) == told >= 89
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


def test_what_is_allowed_can_be_read(deno: DenoSandbox, outside: World) -> None:
    if not outside.may_read:
        pytest.skip("in a bare function no code is let read anything: behind each wall this is tried")
    allowed = Attack("read", 'Deno.readTextFileSync("$WORLD/open/a.txt")', reads=True)
    ended = outside.attacked(deno, allowed)
    assert isinstance(ended, Completed), ended
    assert ended.value == "fine"
