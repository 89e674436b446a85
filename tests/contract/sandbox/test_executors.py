"""What every `Executors` does."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import pytest

from loci.adapters.sandbox.run_results import MORE
from loci.adapters.sandbox.snapshots import blobs_of
from loci.code.python_run import ExecutorNow, Ran, RunFailure, Stored, Value
from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.contract.executors import ADAPTERS, Place
from tests.contract.stores import ANN, BOB, CLOCK, START
from tests.support.deno import STRONGEST
from tests.support.polling import until

pytestmark = pytest.mark.skipif(
    not STRONGEST >= UNPRIVILEGED,
    reason="this machine has no wall to put around code: `loci doctor` says what is missing",
)
UNTIL = START + 86_400
READS_AS_OURS = """
class Odd:
    def __reduce__(self): raise ValueError("it would make the saved state larger than 50 MB")
odd = Odd()
"""


@dataclass
class Files:
    """Stored files by owner and id."""

    files: dict[tuple[Owner, str], Stored] = field(default_factory=dict[tuple[Owner, str], Stored])

    def read(self, owner: Owner, id: str) -> Stored:
        if (owner, id) not in self.files:
            raise NotFound(f"There is no stored file {id!r}", "Use another id", code="MEMORY_NOT_FOUND")
        return self.files[owner, id]


@pytest.fixture(scope="module", params=ADAPTERS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ADAPTERS[request.param](tmp_path_factory.mktemp("executors")) as made:
        yield made


def ran(place: Place, id: str, code: str, owner: Owner = ANN, files: Files | None = None) -> Ran:
    return place.executors.run(owner, id, code, files or Files(), UNTIL)


def printed(place: Place, id: str, code: str, files: Files | None = None) -> str:
    done = ran(place, id, code, files=files)
    assert not isinstance(done.outcome, RunFailure), done.outcome
    return done.stdout


def after_a_crash(place: Place, saved: str, unsaved: str, asked: str) -> tuple[Ran, Ran]:
    """The run after which the process was killed, and the next one. What the first code set is saved."""
    id = place.executors.open(ANN)
    ran(place, id, saved)
    place.move()
    before = ran(place, id, unsaved)
    place.crash()
    return before, ran(place, id, asked)


def test_code_prints_and_has_a_value(place: Place) -> None:
    id = place.executors.open(ANN)
    done = ran(place, id, "print('out')\nprint('err', file=__import__('sys').stderr)\n[1, 2]")
    assert (done.stdout, done.stderr, done.outcome) == ("out\n", "err\n", Value("list", "[1, 2]"))
    assert (done.condition.state, done.condition.lost, done.condition.unsaved) == ("new", (), None)


def test_a_run_goes_on_where_the_last_one_ended(place: Place) -> None:
    id = place.executors.open(ANN)
    ran(place, id, "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2, 3]})\ndef twice(x): return 2 * x")
    done = ran(place, id, "twice(frame.a.sum())")
    assert done.outcome == Value("int64", "np.int64(12)")
    assert done.condition.state == "kept"
    assert set(done.condition.kept) >= {"frame", "twice"}


def test_after_a_crash_variables_are_there_or_lost_by_name(place: Place) -> None:
    id = place.executors.open(ANN)
    first = ran(place, id, "x = 1\ny = 2")
    place.crash()
    second = ran(place, id, "x + y")
    if first.condition.unsaved is None:
        assert (second.outcome, second.condition.state, second.condition.lost) == (Value("int", "3"), "restored", ())
        return
    assert (second.condition.state, [one.name for one in second.condition.lost]) == ("lost", ["x", "y"])
    assert isinstance(second.outcome, RunFailure)
    assert "`lost` names" in second.outcome.resolution


def test_after_a_crash_what_was_set_since_the_last_saving_is_lost_by_name(place: Place) -> None:
    many = "x = 1\nfor i in range(700): globals()[f'v{i}'] = i"
    before, after = after_a_crash(place, many, "v698 = 'new'; y = 2", "x")
    assert (after.outcome, after.condition.state) == (Value("int", "1"), "restored")
    lost = [one.name for one in after.condition.lost]
    assert (lost, after.condition.older) == ((["y"], ("v698",)) if before.condition.unsaved else ([], ()))


def test_after_a_crash_of_more_variables_than_can_be_named_some_may_be_lost(place: Place) -> None:
    many = "x = 1\nfor i in range(5000): globals()[f'v{i}'] = i"
    before, after = after_a_crash(place, many, "x = 2; v4999 = 'new'; y = 2", "'y' in globals()")
    lost = [one.name for one in after.condition.lost]
    if before.condition.unsaved is None:
        assert (after.outcome, lost, after.condition.older) == (Value("bool", "True"), [], ())
        return
    assert (after.outcome, lost, after.condition.older) == (Value("bool", "False"), [MORE], ("x",))
    assert (len(after.condition.kept), after.condition.kept[-1]) == (4001, MORE)


def test_after_a_crash_what_is_older_than_it_was_is_named(place: Place) -> None:
    id = place.executors.open(ANN)
    ran(place, id, "import math\nx = 1\nlist_ = [1]\nsame = 5\ntext = 'a' * 2000\nminus = -1")
    place.move()
    before = ran(place, id, "x = 2\nlist_.append(2)\nminus = -2")
    place.crash()
    after = ran(place, id, "(x, list_, same, minus)")
    if before.condition.unsaved is None:
        assert (after.outcome, after.condition.older) == (Value("tuple", "(2, [1, 2], 5, -2)"), ())
        return
    assert (after.outcome, after.condition.state) == (Value("tuple", "(1, [1], 5, -1)"), "restored")
    assert sorted(after.condition.older) == ["list_", "minus", "x"]
    assert set(after.condition.older) <= set(after.condition.kept)
    wrong = ran(place, id, "1 / 0")
    assert wrong.condition.older == ()


def test_what_has_not_changed_since_it_was_saved_is_not_older(place: Place) -> None:
    _, after = after_a_crash(place, "import math\nx = 1\nword = 'w'", "print(x, word, math.pi)", "x")
    assert (after.condition.state, after.condition.older, after.condition.lost) == ("restored", (), ())


def test_names_with_underscores_are_saved(place: Place) -> None:
    names = ("__doc__", "__dunder__", "__name", "__private", "_hidden")
    id = place.executors.open(ANN)
    first = ran(place, id, "\n".join(f"{name} = {at}" for at, name in enumerate(names)))
    place.move()
    second = ran(place, id, f"[{', '.join(names)}]")
    assert (second.outcome, sorted(second.condition.kept)) == (Value("list", "[0, 1, 2, 3, 4]"), [*names])
    assert first.condition.state == "new"


def test_names_with_underscores_that_cannot_be_saved_are_named(place: Place) -> None:
    names = ("_gen", "__gen", "_")
    id = place.executors.open(ANN)
    ran(place, id, "\n".join(f"{name} = (i for i in [])" for name in names))
    place.move()
    assert {one.name for one in ran(place, id, "1").condition.lost} >= {*names}


def test_its_variables_outlive_its_process(place: Place) -> None:
    id = place.executors.open(ANN)
    ran(place, id, "numbers = list(range(5))\ndef total(): return sum(numbers)\ngen = (x for x in numbers)")
    place.move()
    done = ran(place, id, "total()")
    assert done.outcome == Value("int", "10")
    assert done.condition.state == "restored"
    assert set(done.condition.kept) >= {"numbers", "total"}
    assert [one.name for one in done.condition.lost] == ["gen"]
    assert printed(place, id, "print(total())") == "10\n"


def test_an_error_of_the_code_that_reads_as_ours_keeps_nothing_from_being_saved(place: Place) -> None:
    id = place.executors.open(ANN)
    ran(place, id, f"{READS_AS_OURS}\nx = 1")
    place.move()
    done = ran(place, id, "x")
    assert (done.outcome, done.condition.state) == (Value("int", "1"), "restored")
    assert [one.name for one in done.condition.lost] == ["odd"]


def test_what_code_raises_is_told_and_variables_stay(place: Place) -> None:
    id = place.executors.open(ANN)
    done = ran(place, id, "x = 1\n1 / 0")
    assert isinstance(done.outcome, RunFailure)
    assert done.outcome.code == "CODE_ERROR"
    assert "1 / 0" in (done.outcome.traceback or "")
    assert printed(place, id, "print(x)") == "1\n"


def test_a_run_that_ends_its_process_says_what_is_lost(place: Place) -> None:
    id = place.executors.open(ANN)
    ran(place, id, "x = 1")
    done = ran(place, id, "import os; os._exit(1)")
    assert isinstance(done.outcome, RunFailure)
    assert done.outcome.code == "SANDBOX_EXITED"
    assert (done.condition.state, [one.name for one in done.condition.lost]) == ("lost", ["x"])
    assert ran(place, id, "1").outcome == Value("int", "1")


def test_code_without_end_is_interrupted_and_variables_stay(place: Place) -> None:
    id = place.executors.open(ANN)
    done = ran(place, id, "x = 1\nwhile True: pass")
    assert isinstance(done.outcome, RunFailure)
    assert done.outcome.code == "SANDBOX_TIMEOUT"
    assert printed(place, id, "print(x)") == "1\n"


def test_a_figure_comes_as_an_image(place: Place) -> None:
    id = place.executors.open(ANN)
    done = ran(place, id, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    assert [one[:8] for one in done.figures] == [b"\x89PNG\r\n\x1a\n"]


def test_files_that_code_writes_are_told(place: Place) -> None:
    id = place.executors.open(ANN)
    done = ran(place, id, "open('table.csv', 'w').write('a,b')")
    assert [(one.name, one.size_bytes) for one in done.files] == [("table.csv", 3)]
    assert printed(place, id, "print(open('table.csv').read())") == "a,b\n"


def test_its_files_outlive_its_process(place: Place) -> None:
    id = place.executors.open(ANN)
    makes = "{0}.mkdir('below')\nopen('below/a.txt', 'w').write('kept')\n{0}.symlink('/etc', 'link')"
    ran(place, id, makes.format("__import__('os')"))  # no variable is left that would have to be saved, too
    place.move()
    done = ran(place, id, "print(open('below/a.txt').read())")
    assert (done.stdout, done.condition.lost, done.condition.unsaved) == ("kept\n", (), None)


def test_a_stored_file_is_read_by_its_id(place: Place) -> None:
    id = place.executors.open(ANN)
    files = Files({(ANN, "ds-1"): Stored("../sales: 1.csv", "v1", b"a,b\n1,2\n")})
    code = "path = get_memory_path('ds-1')\nprint(path.name, path.read_text().splitlines())"
    assert printed(place, id, code, files) == ".._sales: 1.csv ['a,b', '1,2']\n"


def test_a_stored_file_that_is_not_there_is_an_error_of_the_codes(place: Place) -> None:
    id = place.executors.open(ANN)
    code = "try: get_memory_path('ds-2')\nexcept FileNotFoundError as error: print(error)"
    assert "MEMORY_NOT_FOUND" in printed(place, id, code)


def test_another_owners_executor_has_none_of_its_variables(place: Place) -> None:
    id = place.executors.open(ANN)
    ran(place, id, "secret = 1")
    try:
        done = ran(place, id, "print('secret' in globals())", BOB)
    except NotFound:
        return
    assert done.stdout == "False\n"
    assert printed(place, id, "print(secret)") == "1\n"


def test_nothing_is_left_of_one_that_is_forgotten(place: Place) -> None:
    id = place.executors.open(ANN)
    ran(place, id, "x = 1")
    place.executors.forget(ANN, id)
    place.move()
    assert printed(place, id, "print('x' in globals())") == "False\n"


def test_an_executor_is_seen_from_outside(place: Place) -> None:
    id = place.executors.open(ANN)
    assert (place.executors.look(ANN, id).state, place.executors.look(ANN, id).variables) == ("new", ())
    ran(place, id, "a = 1\nb = 'two'")
    seen = place.executors.look(ANN, id)
    assert (seen.state, set(seen.variables)) == ("idle", {"a", "b"})
    assert seen.memory_mb is not None
    assert seen.memory_mb > 1
    place.move()
    moved = place.executors.look(ANN, id)
    assert moved.state in ("idle", "saved")
    assert set(moved.variables) == {"a", "b"}
    assert moved.unsaved == ()
    assert moved.saved_bytes is not None
    assert place.executors.look(BOB, id).variables == ()
    place.executors.forget(ANN, id)
    assert place.executors.look(ANN, id) == ExecutorNow("new")


def test_a_run_is_seen_while_it_goes_on(place: Place) -> None:
    id, goes_on = place.executors.open(ANN), Event()

    class Waits(Files):
        def read(self, owner: Owner, id: str) -> Stored:
            assert goes_on.wait(30)
            return super().read(owner, id)

    files = Waits({(ANN, "ds-1"): Stored("a.csv", "v1", b"a\n")})
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(ran, place, id, "get_memory_path('ds-1')", ANN, files)
        until(lambda: place.executors.look(ANN, id).state == "running")
        goes_on.set()
        running.result()
    assert place.executors.look(ANN, id).state in ("idle", "new")


def test_what_is_left_of_one_whose_time_is_over_goes_when_another_is_made(place: Place) -> None:
    # The last test of the module: whoever tidies up at this time finds every other executor idle.
    id = place.executors.open(ANN)
    ran(place, id, "x = 1")
    place.move()
    prefix = blobs_of(id)
    assert place.blobs.list(ANN, prefix)
    try:
        CLOCK.now = UNTIL + 1
        place.executors.open(ANN)
        until(lambda: not place.blobs.list(ANN, prefix))
    finally:
        CLOCK.now = START
