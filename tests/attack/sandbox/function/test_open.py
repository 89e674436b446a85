"""In a bare function the machine is the wall: the same attacks as behind every other work there as far as is known."""

import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loci.sandbox.wall.layers import BASE, Layer, offered
from tests.attack.sandbox import table
from tests.attack.sandbox.function import machine, outcomes
from tests.attack.sandbox.function.expected import NAME, Expected, changed, expected, unknown
from tests.attack.sandbox.function.outcomes import Outcome
from tests.support.executors import FUNCTION

SECONDS = 600
HERE = "tests/attack/sandbox"
ATTACKS = {"python": [f"{HERE}/python"], "deno": [f"{HERE}/deno/test_attacks.py", f"{HERE}/deno/test_meters.py"]}
WHOLE = os.environ.get("ATTACK_WALLS") == "all"
if WHOLE:  # this takes long, and behind the other walls it is tried, too
    ATTACKS["deno"].append(f"{HERE}/deno/test_own.py")
pytestmark = pytest.mark.skipif(
    Layer.NAMESPACES not in offered().layers,
    reason="what stands for a function needs user namespaces: allow them, or run as root",
)


def tried(code: str, folder: Path) -> list[Outcome]:
    """How each attack ended in the machine."""
    written = folder / "outcomes.json"
    environment = {
        "ATTACK_WALLS": FUNCTION,
        outcomes.FILE: str(written),
        "TMPDIR": str(folder),
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    asked = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", outcomes.__name__]
    ran = machine.run([*asked, "--basetemp", str(folder / "t"), *ATTACKS[code]], folder, environment, SECONDS)
    assert written.exists(), ran.stdout
    return outcomes.read(written)


def test_a_function_is_offered_what_is_no_wall(tmp_path: Path) -> None:
    asked = "import json; from loci.sandbox.wall.layers import offered; print(json.dumps(list(offered().layers)))"
    ran = machine.run([sys.executable, "-c", asked], tmp_path, {}, 60)
    assert set(json.loads(ran.stdout)) == BASE


def test_nothing_is_written_outside_the_machine(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    asked = """
import sys
for folder in sys.argv[1:]:
    try: open(f"{folder}/made", "w"); print("made")
    except OSError as error: print(error.errno)
"""
    ran = machine.run([sys.executable, "-c", asked, str(inside), str(tmp_path), "/"], inside, {}, 60)
    assert ran.stdout.split() == ["made", str(errno.EROFS), str(errno.EROFS)]


# One test for all attacks on one kind of code: they take half a minute.
@pytest.mark.exhaustive
@pytest.mark.parametrize("code", ATTACKS)
def test_the_attacks_that_work_are_those_that_are_known_and_none_ends_the_supervisor(
    code: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    ended = tried(code, tmp_path)
    for one in ended:
        if one.is_for_each_wall:
            record_property(table.COUNTED, (code, "nothing", FUNCTION, one.ended == "held"))
    said = changed(expected(code), ended)
    if WHOLE or code == "python":
        said += unknown(expected(code), ended)
    assert not said, "\n".join(said)
    assert len(ended) >= 57


def test_what_has_changed_is_said_with_what_to_do() -> None:
    known = Expected({"stays": "a", "was": "b"}, {"perhaps": "c", "or not": "d"})
    hows: dict[str, outcomes.Ended] = {
        "stays": "open",
        "was": "held",
        "new": "open",
        "perhaps": "held",
        "or not": "open",
        "ended it": "broken",
    }
    ended = [Outcome("python", name, how, "ESCAPE it", is_for_each_wall=True) for name, how in hows.items()]
    was, new, ended_it = changed(known, ended)
    assert was == f"'was' is blocked in a bare function by now: take it out of {NAME}."
    assert new.startswith("'new' works in a bare function, and did not (ESCAPE it): close it there, or")
    assert NAME in new
    assert ended_it.startswith("'ended it' was not withstood")
    assert changed(known, []) == []
    assert unknown(known, ended[1:]) == [f"{NAME} names 'stays', which is no attack: take it out."]
