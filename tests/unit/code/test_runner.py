"""The runner on this machine: state over expiry and restarts, owners apart, stored files, one run at a time."""

import re
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.local.executors import executor_session
from loci.adapters.local.executors.confined_executors import MOST_HERE, ConfinedExecutors
from loci.adapters.local.executors.executor_folder import ExecutorFolder, VariablesWriter
from loci.adapters.local.executors.executor_starter import ExecutorStarter, strongest_wall
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.adapters.run_results import VariablesSnapshot
from loci.code.ports import LostVariable, PythonResult, RunFailure, StoredContent, Value
from loci.code.python import KEPT_SECONDS, MOST, Runner
from loci.core.errors import LociError, NotFound, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.telemetry import Telemetry
from loci.core.trust import Readings
from loci.sandbox.supervisor.limits import Bounds
from tests.support.damage import damage
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.support.polling import until

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
IDLE = 900.0
SWALLOWS = """
import time
class Slow:
    def __reduce__(self):
        while True:
            try:
                while True: time.sleep(0.001)
            except BaseException: pass
"""


@dataclass
class Files:
    """Stored files that a test has."""

    stored: dict[tuple[str, str], StoredContent] = field(default_factory=dict[tuple[str, str], StoredContent])

    def read(self, owner: Owner, id: str) -> StoredContent:
        try:
            return self.stored[owner.subject, id]
        except KeyError:
            raise NotFound(f"There is no stored file {id!r}", "Search", code="MEMORY_NOT_FOUND") from None


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Server:
    """A server's part that runs Python; another one on the same data is a restart."""

    def __init__(self, data: Path, clock: Clock, files: Files) -> None:
        self.data = data
        bounds = Bounds(seconds=120, grace_seconds=0.3)
        self.records = SqliteRecords(Database(data / "loci.db"), clock)
        self.starter = ExecutorStarter(
            data / "executors",
            runner_packages(),
            bounds,
            layers=lambda: strongest_wall(allow_none=False),
            drawing=False,
            packages=(),
        )
        self.executors = ConfinedExecutors(
            data / "executors",
            self.starter,
            bounds,
            clock,
            idle_seconds=IDLE,
            kept_seconds=KEPT_SECONDS,
        )
        self.readings = Readings(self.records, clock)
        self.runner = Runner(self.records, self.executors, files, clock, Telemetry("ERROR"), readings=self.readings)

    def shown(self, id: str, code: str, owner: Owner = ANN) -> str:
        ran = self.runner.run(Caller(owner, "local"), id, code)
        assert isinstance(ran.outcome, Value), ran
        return ran.outcome.text

    def saved(self, id: str) -> VariablesSnapshot | None:
        """The variables that were saved last."""
        return ExecutorFolder(self.executors.folder / id).known().snapshot

    def files_of(self, id: str) -> list[Path]:
        """The files with saved variables."""
        return [*(self.executors.folder / id).glob("variables-*")]


def fails_for(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this executor's variables find no space."""
    finish = VariablesWriter.finish

    def failing(writer: VariablesWriter, *args: Any) -> VariablesSnapshot:
        if id in str(writer._path):  # pyright: ignore[reportPrivateUsage]
            writer.abandon()
            raise Unavailable("No space left on device", "Free some")
        return finish(writer, *args)

    monkeypatch.setattr(VariablesWriter, "finish", failing)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def server(tmp_path: Path, clock: Clock, files: Files) -> Generator[Server]:
    one = Server(tmp_path, clock, files)
    yield one
    one.executors.close()


@pytest.fixture
def restarted(tmp_path: Path, clock: Clock, files: Files) -> Generator[Server]:
    """On the same data; it has nothing of its own until it is called."""
    one = Server(tmp_path, clock, files)
    yield one
    one.executors.close()


def failure(ran: PythonResult) -> RunFailure:
    assert isinstance(ran.outcome, RunFailure)
    return ran.outcome


def test_another_owners_executor_does_not_exist(server: Server) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "secret = 1")
    with pytest.raises(NotFound) as refused:
        server.runner.run(Caller(BOB, "local"), id, "secret")
    assert refused.value.code == "EXECUTOR_NOT_FOUND"


def test_an_idle_executor_is_ended_and_comes_back_with_its_variables(server: Server, clock: Clock) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "x = 41\ngen = (i for i in [])\nopen('f.txt', 'w').write('file')")
    clock.now += IDLE
    server.executors.tidy()
    assert not any(one.is_here for one in server.executors.sessions())
    ran = server.runner.run(Caller(ANN, "local"), id, "(x + 1, open('f.txt').read())")
    assert isinstance(ran.outcome, Value)
    assert ran.outcome.text == "(42, 'file')"
    assert (ran.condition.state, ran.condition.kept) == ("restored", ("x",))
    assert [one.name for one in ran.condition.lost] == ["gen"]


def test_an_error_of_the_code_that_reads_as_ours_keeps_nothing_from_being_saved(server: Server, clock: Clock) -> None:
    id = server.runner.create(ANN)
    raises = "def __reduce__(self): raise ValueError('it would make the saved state larger than 64 MB')"
    server.runner.run(Caller(ANN, "local"), id, f"class Odd:\n    {raises}\nodd = Odd()\nx = 1")
    clock.now += IDLE
    server.executors.tidy()
    snapshot = server.saved(id)
    assert snapshot is not None
    assert snapshot.kept == ("Odd", "x")


def test_variables_are_persisted_when_they_are_on_disk_and_not_before(server: Server) -> None:
    id = server.runner.create(ANN)
    assert server.runner.run(Caller(ANN, "local"), id, "print(1)").condition.unsaved is None  # there is nothing to save
    unsaved = server.runner.run(Caller(ANN, "local"), id, "x = 1").condition.unsaved
    assert unsaved == "they are saved when the executor is put away, or when the server stops"
    assert server.saved(id) is None


def test_names_of_an_executor_that_was_ended_outlive_a_crash(server: Server, restarted: Server) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "x = 1")
    server.runner.run(Caller(ANN, "local"), id, "import os; os._exit(0)")
    server.executors.close()
    ran = restarted.runner.run(Caller(ANN, "local"), id, "2")
    assert (ran.condition.state, [one.name for one in ran.condition.lost]) == ("lost", ["x"])
    assert restarted.runner.run(Caller(ANN, "local"), id, "2").condition.lost == ()


def test_after_a_restart_it_comes_back(server: Server, restarted: Server) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "def f(): return y\ny = 7")
    server.executors.close()
    assert restarted.shown(id, "y = 8\nf()") == "8"


def test_a_second_server_does_not_run_what_another_has(server: Server, restarted: Server) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "x = 1")
    with pytest.raises(LociError) as busy:
        restarted.runner.run(Caller(ANN, "local"), id, "x")
    assert busy.value.code == "EXECUTOR_BUSY"
    server.executors.close()
    assert restarted.shown(id, "x") == "1"


def test_a_second_run_at_once_is_busy(server: Server) -> None:
    id = server.runner.create(ANN)
    began, ended = threading.Event(), threading.Event()
    results: list[PythonResult] = []

    class Waits(Files):
        def read(self, owner: Owner, id: str) -> StoredContent:
            began.set()
            assert ended.wait(60)
            return super().read(owner, id)

    waiting = Waits({("ann", "ds-1"): StoredContent("a.txt", "1", b"a")})
    waits = Runner(server.records, server.executors, waiting, Clock(), Telemetry("ERROR"))
    thread = threading.Thread(
        target=lambda: results.append(waits.run(Caller(ANN, "local"), id, "get_memory_path('ds-1').read_text()"))
    )
    thread.start()
    assert began.wait(60)
    with pytest.raises(LociError) as busy:
        server.runner.run(Caller(ANN, "local"), id, "1")
    ended.set()
    thread.join()
    assert busy.value.code == "EXECUTOR_BUSY"
    assert re.search(r"has run other code for \d+ s, and may for \d+ s more$", busy.value.what)
    assert results[0].outcome == Value("str", "'a'")


def test_what_a_timeout_took_is_told_and_what_was_saved_comes_back(server: Server, clock: Clock) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "x = 1")
    clock.now += IDLE
    server.executors.tidy()
    server.runner.run(Caller(ANN, "local"), id, "y = 2")
    ran = server.runner.run(Caller(ANN, "local"), id, "import os; os._exit(0)")
    assert (failure(ran).code, ran.condition.state) == ("SANDBOX_EXITED", "lost")
    assert {one.name for one in ran.condition.lost} == {"x", "y"}
    after = server.runner.run(Caller(ANN, "local"), id, "x")
    assert (after.outcome, after.condition.state) == (Value("int", "1"), "restored")
    assert after.condition.lost == (LostVariable("y", "it was set after the variables were last saved"),)


def test_a_damaged_snapshot_is_told_and_the_executor_goes_on(server: Server, restarted: Server) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "x = 1")
    server.executors.close()
    [file] = server.files_of(id)
    file.write_bytes(b"P" + b"\0" * 40)
    ran = restarted.runner.run(Caller(ANN, "local"), id, "2")
    assert (ran.outcome, ran.condition.state) == (Value("int", "2"), "lost")
    assert ran.condition.lost == (
        LostVariable("x", "the saved variables could not be read (A saved state is damaged)"),
    )


def test_after_a_failed_write_the_next_snapshot_is_whole(
    server: Server, restarted: Server, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = server.runner.create(ANN)
    code = "import hashlib, os\nlarge = os.urandom(6 << 20)\nhashlib.sha256(large).hexdigest()"
    digest = server.shown(id, code)
    clock.now += IDLE
    with monkeypatch.context() as patched:
        fails_for(id, patched)
        server.executors.tidy()
    assert server.files_of(id) == []
    assert server.shown(id, "len(large)") == str(6 << 20)
    server.executors.close()
    assert len(server.files_of(id)) == 1
    assert restarted.shown(id, "hashlib.sha256(large).hexdigest()") == digest


def test_an_executor_that_cannot_be_saved_keeps_no_other_from_it(
    server: Server, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, other = server.runner.create(ANN), server.runner.create(ANN)
    fails_for(full, monkeypatch)
    for id in (full, other):
        server.runner.run(Caller(ANN, "local"), id, "x = 1")
    clock.now += IDLE
    server.executors.tidy()
    until(lambda: {one.id: one.is_here for one in server.executors.sessions()} == {full: True, other: False})
    assert server.saved(other) is not None
    assert server.shown(full, "x") == "1"


def test_at_the_end_one_that_cannot_be_saved_loses_no_other(
    server: Server, restarted: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, other = server.runner.create(ANN), server.runner.create(ANN)
    for id in (full, other):
        server.runner.run(Caller(ANN, "local"), id, "x = 1")
    with monkeypatch.context() as patched:
        fails_for(full, patched)
        server.executors.close()
    assert not any(one.is_here for one in server.executors.sessions())
    assert restarted.shown(other, "x") == "1"
    assert restarted.shown(full, "2") == "2"


def test_making_room_does_not_replace_an_answer_by_anothers_error(
    server: Server, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = server.runner.create(ANN)
    fails_for(oldest, monkeypatch)
    for id in (oldest, *(server.runner.create(ANN) for _ in range(MOST_HERE))):
        clock.now += 0.1
        assert server.shown(id, "x = 1\nx") == "1"
    until(lambda: sum(one.is_here for one in server.executors.sessions()) <= MOST_HERE)
    assert oldest in [one.id for one in server.executors.sessions() if one.is_here]


def test_only_the_last_snapshot_is_kept(server: Server, clock: Clock) -> None:
    id = server.runner.create(ANN)
    for number in range(3):
        server.runner.run(Caller(ANN, "local"), id, f"x = {number}")
        clock.now += IDLE
        server.executors.tidy()
    assert len(server.files_of(id)) == 1


def test_an_executor_is_not_kept_for_ever(server: Server, restarted: Server, clock: Clock) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "x = 1")
    server.executors.close()
    clock.now += KEPT_SECONDS + 1
    with pytest.raises(NotFound):
        restarted.runner.run(Caller(ANN, "local"), id, "x")
    restarted.executors.sweep()
    assert not (restarted.executors.folder / id).exists()


def test_an_expired_executor_leaves_nothing_behind_while_the_server_runs(server: Server, clock: Clock) -> None:
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, "x = 1")
    clock.now += IDLE
    assert until(lambda: not any(one.is_here for one in server.executors.sessions()))
    clock.now += KEPT_SECONDS
    assert until(lambda: not (server.executors.folder / id).exists())
    assert until(lambda: not server.executors.sessions())


def test_the_oldest_of_too_many_makes_room(server: Server, clock: Clock) -> None:
    first = server.runner.create(ANN)
    others: list[str] = []
    for _ in range(MOST):
        clock.now += 1
        others.append(server.runner.create(ANN))
    with pytest.raises(NotFound):
        server.runner.run(Caller(ANN, "local"), first, "1")
    assert server.shown(others[0], "1") == "1"


def test_a_damaged_record_of_an_executor_makes_room_first(server: Server) -> None:
    ids = [server.runner.create(ANN) for _ in range(MOST)]
    damage(server.data, ANN, "executor", ids[50], '{"used_at": "soon"}')
    server.runner.create(ANN)
    with pytest.raises(NotFound):
        server.runner.check(ANN, ids[50], "1")
    assert server.runner.check(ANN, ids[0], "1")


def test_few_processes_stay_however_many_executors_there_are(server: Server) -> None:
    ids = [server.runner.create(ANN) for _ in range(12)]
    for number, id in enumerate(ids):
        server.runner.run(Caller(ANN, "local"), id, f"x = {number}")
    assert until(lambda: sum(one.is_here for one in server.executors.sessions()) <= MOST_HERE)
    assert server.shown(ids[0], "x") == "0"


def test_a_run_that_finds_no_place_is_busy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.executors, "_places", threading.BoundedSemaphore(1))
    first, second = (server.runner.create(ANN) for _ in range(2))
    code = "open('begun', 'w').close()\nwhile True: pass"
    loop = threading.Thread(target=server.runner.run, args=(Caller(ANN, "local"), first, code))
    loop.start()
    until(lambda: len(list(server.executors.folder.rglob("begun"))) == 1)
    with pytest.raises(LociError) as busy:
        server.runner.run(Caller(ANN, "local"), second, "1")
    assert busy.value.code == "EXECUTOR_BUSY"
    server.executors.forget(ANN, first)
    loop.join()
    assert server.shown(second, "1") == "1"


def test_an_executor_that_is_forgotten_while_it_runs_is_interrupted(server: Server) -> None:
    id = server.runner.create(ANN)
    results: list[PythonResult] = []
    code = "open('begun', 'w').close()\nwhile True: pass"
    thread = threading.Thread(target=lambda: results.append(server.runner.run(Caller(ANN, "local"), id, code)))
    thread.start()
    until(lambda: list(server.executors.folder.rglob("begun")))
    server.executors.forget(ANN, id)
    thread.join()
    assert isinstance(results[0].outcome, RunFailure)
    assert not (server.executors.folder / id).exists()


def test_what_could_not_be_saved_in_time_is_lost_by_name_and_reason(
    server: Server, restarted: Server, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_session, "SAVE_SECONDS", 0.2)
    id = server.runner.create(ANN)
    server.runner.run(Caller(ANN, "local"), id, SWALLOWS + "x = 1\ns = Slow()")
    clock.now += IDLE
    server.executors.tidy()
    ran = server.runner.run(Caller(ANN, "local"), id, "2")
    assert ran.condition.state == "lost"
    assert {one.name for one in ran.condition.lost} == {"time", "x", "Slow", "s"}
    assert {one.reason for one in ran.condition.lost} == {
        "saving the variables took longer than 0.2 s, and its process had to be ended"
    }


def test_a_stored_file_is_a_copy_that_code_cannot_change(server: Server, files: Files) -> None:
    files.stored["ann", "ds-1"] = StoredContent("sales.csv", "v1", b"a\n1\n")
    id = server.runner.create(ANN)
    code = "import pandas as pd\np = get_memory_path('ds-1', 'wrong.csv')\n(p.name, pd.read_csv(p).a.sum())"
    assert server.shown(id, code) == "('sales.csv', np.int64(1))"
    assert failure(server.runner.run(Caller(ANN, "local"), id, "p.write_text('b')")).code == "CODE_ERROR"
    assert failure(server.runner.run(Caller(ANN, "local"), id, "p.unlink()")).code == "CODE_ERROR"
    files.stored["ann", "ds-1"] = StoredContent("sales.csv", "v2", b"a\n2\n")
    assert server.shown(id, "pd.read_csv(get_memory_path('ds-1')).a.sum()") == "np.int64(2)"


@each("name", ["../../evil.csv", "/etc/passwd", "a\nb.csv", "..", "x" * 300 + ".csv", "", "\udc80.csv"])
def test_a_files_name_is_a_name_and_no_path(server: Server, files: Files, name: str) -> None:
    files.stored["ann", "ds-1"] = StoredContent(name, "v1", b"content")
    id = server.runner.create(ANN)
    assert server.shown(id, "get_memory_path('ds-1').read_text()") == "'content'"
    assert server.shown(id, "len(get_memory_path('ds-1').name.encode()) <= 200") == "True"


def test_another_owners_file_does_not_exist(server: Server, files: Files) -> None:
    files.stored["bob", "ds-1"] = StoredContent("a.txt", "v1", b"b")
    id = server.runner.create(ANN)
    assert "MEMORY_NOT_FOUND" in failure(server.runner.run(Caller(ANN, "local"), id, "get_memory_path('ds-1')")).what


def test_what_a_session_has_read_stays_in_the_variables_and_files_of_its_executor(server: Server) -> None:
    first, second = (Caller(ANN, "key", credential=one, session=one) for one in "ab")
    id = server.runner.create(ANN)
    server.readings.note(first, ["tool server shop"])
    server.runner.run(second, id, "1")
    assert server.readings.sources(second) == ()
    server.runner.run(first, id, "open('told.txt', 'w').write('a tale'); tale = 1")
    server.runner.run(second, id, "tale")
    assert server.readings.sources(second) == ("tool server shop",)
    _, lineage = server.runner.made_file(ANN, id, "told.txt", 100)
    assert lineage["origin"] == {"trust": "foreign", "sources": ["tool server shop"]}
