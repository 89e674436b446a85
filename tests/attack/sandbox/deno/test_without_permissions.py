"""Were Deno's own permissions broken, the wall would hold: the same attacks, with everything granted."""

from collections.abc import Collection, Generator

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.sandbox.supervisor import deno_starter
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.deno.attacks import FILES, NETWORK, PROGRAMS, SECRETS, Attack
from tests.attack.sandbox.deno.world import World
from tests.support.deno import WALLS, needs_deno, sandbox, value
from tests.support.each import each

pytestmark = needs_deno
# Of these the code learns something that is worth nothing: whoever comes to this list, or leaves it, is looked at.
HARMLESS = {
    "its own environment, by node:fs": "which says nothing",
    "call a library": "one of the system's, which gives it nothing that the wall does not refuse",
    "host name and user": "of the machine; behind namespaces the user is nobody",
}
SHUT_WITHOUT_NAMESPACES = "its own environment, by node:fs"
"""There the process sees few of its own files below /proc."""


def _granted(deno: str, heap_mb: int, read: Collection[str]) -> list[str]:
    return [deno, "run", "--allow-all", "--no-prompt", "--no-config", "--no-lock", str(deno_starter.RUNNER)]


@pytest.fixture(scope="module", params=WALLS)
def open_deno(request: pytest.FixtureRequest) -> Generator[DenoSandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deno_starter, "command", _granted)
        with sandbox(request.param) as made:
            yield made


@each("attack", [pytest.param(one, id=one.name) for one in (*NETWORK, *SECRETS, *FILES, *PROGRAMS)])
def test_the_wall_alone_holds(open_deno: DenoSandbox, outside: World, tried: Tried, attack: Attack) -> None:
    with tried(attack.name):
        name, leaked = attack.name, outside.leaked(outside.attacked(open_deno, attack))
        assert bool(leaked) == (name in HARMLESS) or (not leaked and name == SHUT_WITHOUT_NAMESPACES), leaked
        assert not outside.hits
        assert value(open_deno, "1 + 1") == 2


def test_everything_is_granted_in_here(open_deno: DenoSandbox) -> None:
    assert value(open_deno, "(await Deno.permissions.query({ name: 'run' })).state") == "granted"
