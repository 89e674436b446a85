"""The scores of words that the embedded index adds up itself are those of FTS5, and never older than the index."""

import random
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from loci.adapters.local.index import word_postings
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from loci.search.ranking import Candidate, Where
from tests.contract.indexes import NOTES, by_words, chunk, embedding, find, put, vector

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
VOCABULARY = [f"word{number}" for number in range(300)]
NEAR = vector(1, 1)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "loci.db")


def zipf(source: random.Random, count: int) -> str:
    """Words of which few are very common."""
    weights = [1 / rank for rank in range(1, len(VOCABULARY) + 1)]
    return " ".join(source.choices(VOCABULARY, weights, k=count))


def filled(index: SqliteIndex, owner: Owner = ANN) -> list[str]:
    """Questions to what is in the index now."""
    source = random.Random(7)
    put(index, owner, *[chunk(f"{n}#0", zipf(source, 30), embedding(1, n)) for n in range(400)])
    return [zipf(source, 6) for _ in range(20)]


def answers(index: SqliteIndex, questions: list[str]) -> list[list[Candidate]]:
    return [find(index, ANN, question, NEAR, limit=20) for question in questions]


def held(index: SqliteIndex) -> set[str]:
    """The words whose postings are in memory."""
    scopes = index._bm25._postings._scopes.values()  # pyright: ignore[reportPrivateUsage]
    return {word for scope in scopes for word in scope.words.postings}


def by_fts5(database: Database, questions: list[str]) -> list[list[Candidate]]:
    """The answers with the scores that FTS5 computes, as it does for some of the documents."""
    every = Where(no_documents=("no such document",))
    return [find(SqliteIndex(database), ANN, question, NEAR, limit=20, where=every) for question in questions]


def test_sums_are_the_scores_of_fts5_to_the_last_bit(database: Database) -> None:
    index = SqliteIndex(database)
    questions = filled(index)
    answers(index, questions[:1])
    assert answers(index, questions) == by_fts5(database, questions)
    assert {word for question in questions for word in question.split()} <= held(index)


def test_what_is_written_and_removed_counts_at_once(database: Database) -> None:
    index = SqliteIndex(database)
    questions = filled(index)
    for _ in range(2):
        answers(index, questions)
    put(index, ANN, chunk("new#0", "word0 word1 quixotic", embedding(1, 1)))
    index.remove(ANN, NOTES, "3")
    for _ in range(2):
        assert answers(index, questions) == by_fts5(database, questions)
        assert by_words(find(index, ANN, "quixotic", NEAR)) == ["new#0"]


def test_names_are_found_among_names_that_no_chunk_has(database: Database) -> None:
    index, names = SqliteIndex(database), ["§b", "§b_c", "§b_c_d", "§b_e", "§_18", "§ü", "§zz"]
    filled(index)

    def found(index: SqliteIndex, where: Where = Where()) -> list[Candidate]:  # noqa: B008 (it is frozen)
        return index.candidates(ANN, NOTES, ["quixotic", *names], NEAR, limit=20, where=where)

    assert by_words(found(index)) == []
    for number, name in enumerate(("§b_c", "§a", "§zz_y", "§ü")):
        put(index, ANN, replace(chunk(f"new{number}#0", "", embedding(1, 1)), words=f"stone {name}"))
        for one in (index, SqliteIndex(database)):  # one that has asked for these names before, and one that has not
            assert found(one) == found(SqliteIndex(database), Where(no_documents=("no such document",)))
    assert sorted(by_words(found(index))) == ["new0#0", "new3#0"]


def test_the_words_of_others_are_not_counted(database: Database) -> None:
    index = SqliteIndex(database)
    filled(index, BOB)
    put(index, ANN, chunk("a#0", "word0", embedding(1, 0)), chunk("b#0", "stone", embedding(0, 1)))
    found = [find(index, ANN, "word0 stone", NEAR) for _ in range(3)]
    assert found[0] == found[1] == found[2]
    assert {one.chunk for one in found[2]} == {"a#0", "b#0"}


def test_words_that_do_not_fit_the_memory_are_read_again(database: Database) -> None:
    index = SqliteIndex(database, word_memory=1)
    questions = filled(index)
    for _ in range(2):
        assert answers(index, questions) == by_fts5(database, questions)
    assert held(index) == set()


def test_words_that_no_chunk_has_take_memory_too(database: Database) -> None:
    index = SqliteIndex(database, word_memory=100_000)
    filled(index)
    for first in range(0, 1_000, 50):
        find(index, ANN, " ".join(f"absent{number}" for number in range(first, first + 50)), NEAR)
    assert len(held(index)) < 500


def test_more_new_chunks_than_are_looked_up_one_by_one_count_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_postings, "FEW", 3)
    index = SqliteIndex(database)
    questions = filled(index)
    answers(index, questions)
    put(index, ANN, *[chunk(f"new{n}#0", "word0 word0 word299", embedding(1, 1)) for n in range(8)])
    assert answers(index, questions) == by_fts5(database, questions)


def test_scores_stay_those_of_fts5_when_most_was_removed(database: Database) -> None:
    index = SqliteIndex(database)
    questions = filled(index)
    for first in range(0, 400, 100):
        answers(index, questions)
        for number in range(first, first + 90):
            index.remove(ANN, NOTES, str(number))
        assert answers(index, questions) == by_fts5(database, questions)


def test_a_word_that_fts5_cuts_in_parts_is_left_to_it(database: Database) -> None:
    index = SqliteIndex(database)
    put(index, ANN, chunk("a#0", "c++ river", embedding(1, 0)), chunk("b#0", "river", embedding(0, 1)))
    whole = index.candidates(ANN, NOTES, ["c++", "b-c"], NEAR, limit=5, where=Where())
    assert {one.chunk: one.bm25 for one in whole}["a#0"] is not None


def test_a_search_that_began_before_a_write_sees_nothing_of_it(database: Database) -> None:
    index = SqliteIndex(database)
    questions = filled(index)
    postings = index._bm25._postings  # pyright: ignore[reportPrivateUsage]
    words = questions[0].split()
    with database.snapshot() as early:
        before = postings.sums(early, 1, words)
        other = threading.Thread(target=_written_and_asked, args=(index, questions[0]))
        other.start()
        other.join()
        assert before is not None
        assert postings.sums(early, 1, words) is None
    [now] = answers(index, [questions[0]])
    assert "late#0" in {one.chunk for one in now}


def _written_and_asked(index: SqliteIndex, question: str) -> None:
    put(index, ANN, chunk("late#0", question, embedding(1, 1)))
    answers(index, [question])
