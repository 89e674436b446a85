"""TypeScript behind a wall, for tests."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.packages import find_deno
from loci.code.ports import Completed, Failed
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import RunLimits, ToolClient, TypeScriptJob
from loci.sandbox.wall.layers import Layer, offered
from tests.support.executors import walls

STRONGEST = offered().layers


def is_deno_here() -> bool:
    """True if TypeScript can run."""
    try:
        find_deno(None)
    except LociError:
        return False
    return True


needs_deno = pytest.mark.skipif(not is_deno_here(), reason="there is no Deno: make setup brings it")
WALLS = [pytest.param(layers, id=name) for name, layers in walls().items()]


@contextmanager
def sandbox(layers: frozenset[Layer], spares: int = 2) -> Generator[DenoSandbox]:
    """A sandbox that ends with the block."""
    made = DenoSandbox(None, lambda: layers, spares)
    try:
        yield made
    finally:
        made.close()


def no_tool(tool: str, arguments: JsonObject) -> Json:
    raise AssertionError(f"{tool} was called with {arguments}")


@dataclass
class Given:
    """The things that a run is given besides its code."""

    context: JsonObject = field(default_factory=dict[str, Json])
    timeout_ms: int = 30_000
    memory_mb: int = 512
    read: tuple[str, ...] = ()
    clients: tuple[ToolClient, ...] = ()
    call: Callable[[str, JsonObject], Json] = no_tool


def run(sandbox: DenoSandbox, code: str, given: Given | None = None) -> Completed | Failed:
    """Run the code, and return its outcome."""
    with_ = given or Given()
    limits = RunLimits(with_.timeout_ms, with_.memory_mb, with_.read)
    return sandbox.run(LOCAL, TypeScriptJob(code, with_.context, limits, with_.clients), with_.call)


def value(sandbox: DenoSandbox, code: str, given: Given | None = None) -> Json:
    """The value of the code."""
    ended = run(sandbox, code, given)
    assert isinstance(ended, Completed), ended
    return ended.value


def steady(sandbox: DenoSandbox, code: str) -> bool:
    """True if the code would give the same the next time."""
    ended = run(sandbox, code)
    assert isinstance(ended, Completed), ended
    return ended.steady


def failed(sandbox: DenoSandbox, code: str, given: Given | None = None) -> Failed:
    """The failure of the code."""
    ended = run(sandbox, code, given)
    assert isinstance(ended, Failed), ended
    return ended
