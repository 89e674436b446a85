"""No executor, and no owner, saves or gets back more variables than its quota, whatever its process says."""

import itertools
from collections.abc import Generator
from pathlib import Path

import pytest

from loci.adapters.local.executors.confined_executors import ConfinedExecutors
from loci.adapters.local.executors.executor_folder import ExecutorFolder, SavedBytes
from loci.adapters.local.executors.executor_starter import ExecutorStarter
from loci.code.ports import PythonResult, RunFailure
from loci.core.identity import Owner
from loci.sandbox.supervisor.limits import Bounds
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.python.test_meters import WALLS
from tests.contract.stores import ANN, CLOCK, START
from tests.support.each import each
from tests.support.executors import runner_packages, walls
from tests.support.no_files import NoFiles

MB = 1 << 20
QUOTA = 12 * MB
IDLE = 900.0
BOUNDS = Bounds(seconds=60.0, grace_seconds=0.3, disk_bytes=64 * MB)
FORGED = """
import gc, json, os, struct
def frame(kind, payload):
    b = kind + struct.pack(">I", len(payload)) + payload
    while b: b = b[os.write(11, b):]
[one] = [o for o in gc.get_objects() if type(o).__name__ == "Executor"]
def forge(asked):
    for _ in range(@@MB@@): frame(b"B", bytes(1 << 20))
    return {"ok": True, "kept": ["x"], "lost": [], "too_large": False}
one._operations["save"] = forge
x = 1
"""
HONEST = "import os; x = os.urandom(@@MB@@ << 20); y = 1"
MANY = "import os\nfor i in range(@@MB@@): globals()[f'v{i}'] = os.urandom(1 << 20)"
STATES = {"forged": FORGED, "one large": HONEST, "many small": MANY}


class Here:
    """Executors of this machine, whose owners may save little."""

    def __init__(self, folder: Path, wall: str) -> None:
        self.folder = folder / "executors"
        self._wall = wall
        self.executors = self._made()

    def _made(self) -> ConfinedExecutors:
        starter = ExecutorStarter(
            self.folder, runner_packages(), BOUNDS, layers=lambda: walls()[self._wall], drawing=False, packages=()
        )
        saved_bytes = SavedBytes(self.folder, QUOTA)
        return ConfinedExecutors(
            self.folder, starter, BOUNDS, CLOCK, idle_seconds=IDLE, kept_seconds=86_400, saved_bytes=saved_bytes
        )

    def close(self) -> None:
        self.executors.close()

    def restart(self) -> None:
        """Save all, end all, begin anew."""
        self.executors.close()
        self.executors = self._made()

    def ran(self, owner: Owner, id: str, code: str) -> PythonResult:
        return self.executors.run(owner, id, code, NoFiles(), START + 86_400)

    def stored(self, owner: Owner) -> int:
        """Bytes of the owner's saved variables."""
        own = [one for one in self.folder.glob("executor-*") if ExecutorFolder(one).owner() == owner]
        return sum(file.stat().st_size for one in own for file in one.glob("variables-*"))


@pytest.fixture(params=WALLS)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Here]:
    made = Here(tmp_path, request.param)
    yield made
    made.executors.close()


@each(("count", "state"), itertools.product((1, 4), STATES))
def test_an_owner_saves_no_more_than_their_quota(here: Here, tried: Tried, state: str, count: int) -> None:
    code = STATES[state].replace("@@MB@@", str(5 if count > 1 else 20))
    ann, bob = (Owner("acme", f"{name} {state} {count}") for name in ("ann", "bob"))
    with tried(f"{count} {state}"):
        for _ in range(count):
            ran = here.ran(ann, here.executors.open(ann), code)
            assert not isinstance(ran.outcome, RunFailure), ran
        id = here.executors.open(bob)
        here.ran(bob, id, "import os; b = os.urandom(5 << 20); c = len(b)")
        here.restart()
        assert here.stored(ann) <= QUOTA
        back = here.ran(bob, id, "print(len(b) == c)")
        assert (back.stdout, back.condition.lost) == ("True\n", ())


def test_what_has_no_room_is_lost_by_name_and_the_rest_is_back(here: Here) -> None:
    first, second = here.executors.open(ANN), here.executors.open(ANN)
    here.ran(ANN, first, "import os; a = os.urandom(7 << 20)")
    here.restart()
    here.ran(ANN, second, "import os; b = os.urandom(7 << 20); small = 1")
    here.restart()
    assert here.ran(ANN, first, "print(len(a))").stdout == f"{7 * MB}\n"
    told = here.ran(ANN, second, "print(small)")
    assert told.stdout == "1\n"
    assert [one.name for one in told.condition.lost] == ["b"]


def test_room_comes_back_when_variables_or_executors_go(here: Here) -> None:
    first, second = here.executors.open(ANN), here.executors.open(ANN)
    here.ran(ANN, first, "import os; a = os.urandom(9 << 20)")
    here.restart()
    here.ran(ANN, first, "del a")
    here.restart()
    here.ran(ANN, second, "import os; b = os.urandom(9 << 20)")
    here.restart()
    assert here.ran(ANN, second, "print(len(b))").stdout == f"{9 * MB}\n"
    here.executors.forget(ANN, second)
    here.ran(ANN, first, "import os; c = os.urandom(9 << 20)")
    here.restart()
    assert here.ran(ANN, first, "print(len(c))").stdout == f"{9 * MB}\n"
