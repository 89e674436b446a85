"""The embedded index after kills, and beside other processes: nothing acknowledged is lost, nothing is out of step."""

import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from tests.contract.indexes import by_vector, by_words, chunk, embedding, find, put, vector
from tests.contract.kills import counts_are_what_is_found, documents_are_whole, replaced_document_is_whole
from tests.support.killed import killed_writer

ANN = Owner("acme", "ann")

IMPORTS = """
import sys
from pathlib import Path
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from tests.contract.indexes import NOTES, chunk, embedding, put
from tests.contract.kills import put_until_killed
index, owner = SqliteIndex(Database(Path(sys.argv[1]) / "loci.db")), Owner("acme", "ann")
"""
WRITER = f"""{IMPORTS}
put_until_killed(index, owner, int(sys.argv[2]), lambda: "stone " * 200)
"""
OBEDIENT = f"""{IMPORTS}
print("ready", flush=True)
for line in sys.stdin:
    command, document, word = line.split()
    if command == "put":
        put(index, owner, *[chunk(f"{{document}}#{{n}}", word, embedding(1, n)) for n in range(3)])
    else:
        index.remove(owner, NOTES, document)
    print("done", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Left:
    """What the killed writers left, and the last number that was acknowledged."""

    database: Database
    index: SqliteIndex
    acknowledged: int


@pytest.fixture(scope="module", params=[4, pytest.param(20, marks=pytest.mark.exhaustive)], ids="{} kills".format)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("killed")
    acknowledged = -1
    for _ in range(request.param):
        start = acknowledged + 1
        acknowledged = killed_writer(WRITER, folder, str(start), after=start + random.randrange(25))
    database = Database(folder / "loci.db")
    return Left(database, SqliteIndex(database), acknowledged)


def test_the_file_is_sound_and_words_and_chunks_are_in_step_after_kills(left: Left) -> None:
    with left.database.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with left.database.write() as connection:  # raises where they are not in step
        connection.execute("INSERT INTO word_1 (word_1, rank) VALUES ('integrity-check', 1)")


def test_every_document_is_whole_after_kills(left: Left) -> None:
    documents_are_whole(left.index, ANN, left.acknowledged)
    replaced_document_is_whole(left.index, ANN, left.acknowledged)


def test_what_is_counted_is_what_is_found_after_kills(left: Left) -> None:
    counts_are_what_is_found(left.index, ANN)


def test_the_next_put_is_found_after_kills(left: Left) -> None:
    put(left.index, ANN, chunk("new#0", "quixotic", embedding(0, 0, 1)))
    found = find(left.index, ANN, "quixotic", vector(0, 0, 1), limit=1)
    assert by_words(found) == by_vector(found) == ["new#0"]


class Other:
    """Another process with the same index; it does what it is told, and says when it is done."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._wait_for("ready")

    def put(self, document: str, word: str) -> None:
        self._tell(f"put {document} {word}")

    def remove(self, document: str) -> None:
        self._tell(f"remove {document} -")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        self._wait_for("done")

    def _wait_for(self, word: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == f"{word}\n"


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Other]:
    command = [sys.executable, "-c", OBEDIENT, tmp_path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Other(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def index(tmp_path: Path) -> SqliteIndex:
    return SqliteIndex(Database(tmp_path / "loci.db"))


def test_what_another_process_puts_the_next_search_finds(other: Other, index: SqliteIndex) -> None:
    put(index, ANN, chunk("a#0", "river", embedding(1, 0)))
    assert len(find(index, ANN, "river", vector(1, 0))) == 1
    for turn in range(20):
        other.put(f"d{turn}", "river")
        found = find(index, ANN, "river", vector(1, 0), limit=1000)
        assert len(by_words(found)) == len(by_vector(found)) == 1 + 3 * (turn + 1)


def test_what_another_process_replaces_or_removes_the_next_search_finds_so(other: Other, index: SqliteIndex) -> None:
    put(index, ANN, *[chunk(f"a#{n}", "garden", embedding(0, 1)) for n in range(9)])
    assert len(find(index, ANN, "garden", vector(1, 0))) == 9
    other.put("a", "river")
    found = find(index, ANN, "garden", vector(1, 0))
    assert by_words(found) == []
    assert by_vector(found) == ["a#0", "a#1", "a#2"]
    other.remove("a")
    assert find(index, ANN, "garden river", vector(1, 0)) == []


def test_a_search_waits_for_no_writer(other: Other, index: SqliteIndex, tmp_path: Path) -> None:
    other.put("a", "river")
    with Database(tmp_path / "loci.db").write() as connection:
        connection.execute("DELETE FROM chunk")
        assert len(by_words(find(index, ANN, "river", vector(1, 0)))) == 3
