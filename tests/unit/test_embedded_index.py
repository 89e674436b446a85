"""What only the embedded index promises: bounded memory, exact shortcuts, nothing loaded early."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from loci.adapters.local.index import bm25, vectors, writes
from loci.adapters.local.index import index as embedded
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.inference import Embedding
from loci.search.ranking import Where
from tests.contract.indexes import MODEL, NOTES, by_vector, by_words, chunk, embedding, find, put, vector

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
VOCABULARY = [f"word{number}" for number in range(400)]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "loci.db")


@pytest.fixture
def index(database: Database) -> SqliteIndex:
    return SqliteIndex(database)


def zipf(source: random.Random, count: int) -> list[str]:
    """Words of which few are very common."""
    weights = [1 / rank for rank in range(1, len(VOCABULARY) + 1)]
    return source.choices(VOCABULARY, weights, k=count)


def test_numpy_is_not_loaded_before_the_first_search_with_a_vector(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.core.identity import LOCAL
from loci.search.inference import Embedding
from loci.search.ranking import Chunk, QueryVector, TagsAndDate, Where
index = SqliteIndex(Database(Path(sys.argv[1]) / "loci.db"))
chunk = Chunk("a#0", "a", "a.md", "A", (), 1, 1, "river", "hash", "river", Embedding("model", bytes(15) + b"<", b""))
index.put(LOCAL, "notes", "a", [chunk], TagsAndDate())
for vector in (None, QueryVector.of("model", bytes(32))):
    index.candidates(LOCAL, "notes", ["river"], vector, limit=10, where=Where())
    print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_leaving_out_common_words_first_changes_no_result(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(5)
    put(index, ANN, *[chunk(f"a#{n}", " ".join(zipf(source, 30))) for n in range(600)])
    questions = [" ".join(zipf(source, 8)) for _ in range(60)]

    def answers() -> list[list[tuple[str, float | None]]]:
        return [[(one.chunk, one.bm25) for one in find(index, ANN, question, limit=20)] for question in questions]

    plain = answers()
    monkeypatch.setattr(bm25, "FEWEST_GATED", 0)
    assert answers() == plain


def test_a_new_word_is_found_though_it_was_asked_for_before(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25, "FEWEST_GATED", 0)
    put(index, ANN, *[chunk(f"a#{n}", "garden stone") for n in range(200)])
    assert find(index, ANN, "quixotic") == []
    put(index, ANN, chunk("b#0", "quixotic"))
    assert by_words(find(index, ANN, "quixotic")) == ["b#0"]


def test_vectors_that_do_not_fit_the_memory_are_loaded_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "VECTOR_MEMORY", 1)
    index = SqliteIndex(database)
    owners = [Owner("acme", f"owner{number}") for number in range(4)]
    for owner in owners:
        put(index, owner, chunk(f"{owner.subject}#0", "river", embedding(1, 0)))
    for owner in owners * 2:
        assert by_vector(find(index, owner, near=vector(1, 0))) == [f"{owner.subject}#0"]
    assert len(index._vectors._matrices) == 1  # pyright: ignore[reportPrivateUsage]


def test_who_has_not_looked_for_long_sees_what_was_removed(
    database: Database, index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "MOST_GONE", 3)
    reader = SqliteIndex(database)
    put(index, ANN, *[chunk(f"{n}#0", "river", embedding(1, n)) for n in range(20)])
    assert len(find(reader, ANN, near=vector(1, 0))) == 20
    for number in range(15):
        index.remove(ANN, NOTES, str(number))
    assert by_vector(find(reader, ANN, near=vector(1, 0))) == [f"{n}#0" for n in range(15, 20)]
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM gone").fetchone()[0] == 3


def test_an_unchanged_chunk_is_not_written_again(database: Database, index: SqliteIndex) -> None:
    def numbers() -> dict[str, int]:
        with database.read() as connection:
            return dict(connection.execute("SELECT id, number FROM chunk"))

    put(index, ANN, chunk("a#0", "river", embedding(1, 0)), chunk("a#1", "garden"))
    before = numbers()
    put(index, ANN, chunk("a#0", "river", embedding(1, 0)), chunk("a#1", "stone"))
    after = numbers()
    assert after["a#0"] == before["a#0"]
    assert after["a#1"] > before["a#1"]


def test_a_failed_put_leaves_the_document_as_it_was(database: Database, index: SqliteIndex) -> None:
    put(index, ANN, chunk("a#0", "river", embedding(1, 0)), chunk("a#1", "river"))
    with pytest.raises(UnicodeEncodeError):
        put(index, ANN, chunk("a#0", "garden"), chunk("a#1", "half of a pair: \ud800"))
    assert by_words(find(index, ANN, "river", where=Where())) == ["a#0", "a#1"]
    assert by_words(find(index, ANN, "garden")) == []


def test_a_search_that_met_damaged_vectors_leaves_nothing_wrong_behind(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "AT_ONCE", 2)  # the sound ones are loaded before the damaged one is met
    sound = [chunk(f"{n}#0", "river", embedding(1, n)) for n in range(4)]
    put(index, ANN, *sound, chunk("damaged#0", "river", Embedding(MODEL, bytes(16), b"")))
    for _ in range(2):
        with pytest.raises(Unavailable, match="damaged vectors"):
            find(index, ANN, near=vector(1, 0))
    index.remove(ANN, NOTES, "damaged")
    assert by_vector(find(index, ANN, near=vector(1, 0), limit=4)) == [one.id for one in sound]
