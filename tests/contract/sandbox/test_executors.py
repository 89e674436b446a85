"""What every `Executors` does."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event

import pytest

from loci.adapters.run_results import MORE
from loci.code.ports import ExecutorStatus, PythonResult, RunFailure, StoredContent, Value
from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.contract import executors
from tests.contract.executors import Place
from tests.contract.stores import ANN, BOB, CLOCK, START
from tests.support.deno import STRONGEST
from tests.support.polling import until

pytestmark = pytest.mark.skipif(
    not STRONGEST >= UNPRIVILEGED,
    reason="this machine has no wall to put around code: `loci doctor` says what is missing",
)
UNTIL = START + 86_400
SECONDS = 10
"""For each run: one that has no end only sleeps so long."""
READS_AS_OURS = """
class Odd:
    def __reduce__(self): raise ValueError("it would make the saved state larger than 50 MB")
odd = Odd()
"""


@dataclass
class Files:
    """Stored files by owner and id."""

    files: dict[tuple[Owner, str], StoredContent] = field(default_factory=dict[tuple[Owner, str], StoredContent])

    def read(self, owner: Owner, id: str) -> StoredContent:
        if (owner, id) not in self.files:
            raise NotFound(f"There is no stored file {id!r}", "Use another id", code="MEMORY_NOT_FOUND")
        return self.files[owner, id]


@pytest.fixture(scope="module", params=executors.ADAPTERS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "BOUNDS", replace(executors.BOUNDS, seconds=SECONDS))
        with executors.ADAPTERS[request.param](tmp_path_factory.mktemp("executors")) as made:
            yield made


def ran(place: Place, id: str, code: str, owner: Owner = ANN, files: Files | None = None) -> PythonResult:
    return place.executors.run(owner, id, code, files or Files(), UNTIL)


def printed(place: Place, id: str, code: str, files: Files | None = None) -> str:
    done = ran(place, id, code, files=files)
    assert not isinstance(done.outcome, RunFailure), done.outcome
    return done.stdout


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


CRASHES = {
    "some": ("x = 1\nfor i in range(700): globals()[f'v{i}'] = i", "v698 = 'new'; y = 2", "x"),
    "very many": (
        "x = 1\nfor i in range(5000): globals()[f'v{i}'] = i",
        "x = 2; v4999 = 'new'; y = 2",
        "'y' in globals()",
    ),
    "older": (
        "import math\nx = 1\nlist_ = [1]\nsame = 5\ntext = 'a' * 2000\nminus = -1",
        "x = 2\nlist_.append(2)\nminus = -2",
        "(x, list_, same, minus)",
    ),
    "none": ("", "x = 1\ny = 2", "x + y"),
}
"""What is saved, what runs after that, and what is asked for after the crash that follows."""


@dataclass(frozen=True)
class Around:
    """An executor, and its runs before and after its process was lost."""

    id: str
    before: PythonResult
    after: PythonResult


@pytest.fixture(scope="module")
def crashed(place: Place) -> dict[str, Around]:
    """One crash for all of them: to start anew takes long."""
    ids = {name: place.executors.open(ANN) for name, (saved, *_) in CRASHES.items() if saved}
    for name, id in ids.items():
        ran(place, id, CRASHES[name][0])
    place.move()
    ids |= {name: place.executors.open(ANN) for name in CRASHES if name not in ids}
    before = {name: ran(place, ids[name], unsaved) for name, (_, unsaved, _) in CRASHES.items()}
    place.crash()
    return {
        name: Around(ids[name], before[name], ran(place, ids[name], asked)) for name, (*_, asked) in CRASHES.items()
    }


def test_after_a_crash_variables_are_there_or_lost_by_name(crashed: dict[str, Around]) -> None:
    first, second = crashed["none"].before, crashed["none"].after
    if first.condition.unsaved is None:
        assert (second.outcome, second.condition.state, second.condition.lost) == (Value("int", "3"), "restored", ())
        return
    assert (second.condition.state, [one.name for one in second.condition.lost]) == ("lost", ["x", "y"])
    assert isinstance(second.outcome, RunFailure)
    assert "`lost` names" in second.outcome.resolution


def test_after_a_crash_what_was_set_since_the_last_saving_is_lost_by_name(crashed: dict[str, Around]) -> None:
    before, after = crashed["some"].before, crashed["some"].after
    assert (after.outcome, after.condition.state) == (Value("int", "1"), "restored")
    lost = [one.name for one in after.condition.lost]
    assert lost == (["y"] if before.condition.unsaved else [])
    assert after.condition.older == (after.condition.kept if before.condition.unsaved else ())


def test_after_a_crash_of_more_variables_than_can_be_named_some_may_be_lost(crashed: dict[str, Around]) -> None:
    before, after = crashed["very many"].before, crashed["very many"].after
    lost = [one.name for one in after.condition.lost]
    if before.condition.unsaved is None:
        assert (after.outcome, lost, after.condition.older) == (Value("bool", "True"), [], ())
        return
    assert (after.outcome, lost, after.condition.older) == (Value("bool", "False"), [], after.condition.kept)
    assert (len(after.condition.kept), after.condition.kept[-1]) == (4001, MORE)


def test_after_a_crash_what_may_be_older_than_it_was_is_named(place: Place, crashed: dict[str, Around]) -> None:
    before, after = crashed["older"].before, crashed["older"].after
    if before.condition.unsaved is None:
        assert (after.outcome, after.condition.older) == (Value("tuple", "(2, [1, 2], 5, -2)"), ())
        return
    assert (after.outcome, after.condition.state) == (Value("tuple", "(1, [1], 5, -1)"), "restored")
    assert after.condition.older == after.condition.kept
    wrong = ran(place, crashed["older"].id, "1 / 0")
    assert wrong.condition.older == ()


DUNDERS = ("__doc__", "__dunder__", "__name", "__private", "_hidden")
UNSAVABLE = ("_gen", "__gen", "_")
FILES = "{0}.mkdir('below')\nopen('below/a.txt', 'w').write('kept')\n{0}.symlink('/etc', 'link')"
MOVES = {
    "underscores": ("\n".join(f"{name} = {at}" for at, name in enumerate(DUNDERS)), f"[{', '.join(DUNDERS)}]"),
    "unsavable": ("\n".join(f"{name} = (i for i in [])" for name in UNSAVABLE), "1"),
    "functions": ("numbers = list(range(5))\ndef total(): return sum(numbers)\ngen = (x for x in numbers)", "total()"),
    "reads as ours": (f"{READS_AS_OURS}\nx = 1", "x"),
    # No variable is left that would have to be saved, too.
    "files": (FILES.format("__import__('os')"), "print(open('below/a.txt').read())"),
    "forgotten": ("x = 1", "print('x' in globals())"),
}
"""What runs before and after a move."""


@pytest.fixture(scope="module")
def moved(place: Place) -> dict[str, Around]:
    """One move for all of them."""
    ids = {name: place.executors.open(ANN) for name in MOVES}
    before = {name: ran(place, ids[name], code) for name, (code, _) in MOVES.items()}
    place.executors.forget(ANN, ids["forgotten"])
    place.move()
    return {name: Around(ids[name], before[name], ran(place, ids[name], code)) for name, (_, code) in MOVES.items()}


def test_names_with_underscores_are_saved(moved: dict[str, Around]) -> None:
    first, second = moved["underscores"].before, moved["underscores"].after
    assert (second.outcome, sorted(second.condition.kept)) == (Value("list", "[0, 1, 2, 3, 4]"), [*DUNDERS])
    assert first.condition.state == "new"


def test_names_with_underscores_that_cannot_be_saved_are_named(moved: dict[str, Around]) -> None:
    assert {one.name for one in moved["unsavable"].after.condition.lost} >= {*UNSAVABLE}


def test_its_variables_outlive_its_process(place: Place, moved: dict[str, Around]) -> None:
    done = moved["functions"].after
    assert done.outcome == Value("int", "10")
    assert done.condition.state == "restored"
    assert set(done.condition.kept) >= {"numbers", "total"}
    assert [one.name for one in done.condition.lost] == ["gen"]
    assert printed(place, moved["functions"].id, "print(total())") == "10\n"


def test_an_error_of_the_code_that_reads_as_ours_keeps_nothing_from_being_saved(moved: dict[str, Around]) -> None:
    done = moved["reads as ours"].after
    assert (done.outcome, done.condition.state) == (Value("int", "1"), "restored")
    assert [one.name for one in done.condition.lost] == ["odd"]


def test_its_files_outlive_its_process(moved: dict[str, Around]) -> None:
    done = moved["files"].after
    assert (done.stdout, done.condition.lost, done.condition.unsaved) == ("kept\n", (), None)


def test_nothing_is_left_of_one_that_is_forgotten(moved: dict[str, Around]) -> None:
    done = moved["forgotten"].after
    assert not isinstance(done.outcome, RunFailure), done.outcome
    assert done.stdout == "False\n"


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
    done = ran(place, id, "import time\nx = 1\nwhile True: time.sleep(0.01)")
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


def test_a_stored_file_is_read_by_its_id(place: Place) -> None:
    id = place.executors.open(ANN)
    files = Files({(ANN, "ds-1"): StoredContent("../sales: 1.csv", "v1", b"a,b\n1,2\n")})
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


def test_an_executor_is_seen_from_outside(place: Place) -> None:
    id = place.executors.open(ANN)
    assert (place.executors.status(ANN, id).state, place.executors.status(ANN, id).variables) == ("new", ())
    ran(place, id, "a = 1\nb = 'two'")
    seen = place.executors.status(ANN, id)
    assert (seen.state, set(seen.variables)) == ("idle", {"a", "b"})
    assert seen.memory_mb is not None
    assert seen.memory_mb > 1
    place.move()
    moved = place.executors.status(ANN, id)
    assert moved.state in ("idle", "saved")
    assert set(moved.variables) == {"a", "b"}
    assert moved.unsaved == ()
    assert moved.saved_bytes is not None
    assert place.executors.status(BOB, id).variables == ()
    place.executors.forget(ANN, id)
    assert place.executors.status(ANN, id) == ExecutorStatus("new")


def test_a_run_is_seen_while_it_goes_on(place: Place) -> None:
    id, goes_on = place.executors.open(ANN), Event()

    class Waits(Files):
        def read(self, owner: Owner, id: str) -> StoredContent:
            assert goes_on.wait(60)
            return super().read(owner, id)

    files = Waits({(ANN, "ds-1"): StoredContent("a.csv", "v1", b"a\n")})
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(ran, place, id, "get_memory_path('ds-1')", ANN, files)
        until(lambda: place.executors.status(ANN, id).state == "running")
        goes_on.set()
        running.result()
    assert place.executors.status(ANN, id).state in ("idle", "new")


def test_what_is_left_of_one_whose_time_is_over_goes_when_another_is_made(place: Place) -> None:
    # The last test of the module: whoever tidies up at this time finds every other executor idle.
    id = place.executors.open(ANN)
    ran(place, id, "x = 1")
    place.move()
    assert place.left_of(ANN, id)
    try:
        CLOCK.now = UNTIL + 1
        place.executors.open(ANN)
        until(lambda: not place.left_of(ANN, id))
    finally:
        CLOCK.now = START
