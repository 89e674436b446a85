"""The vector leg of many passages: it compares signs first, and computes few cosines."""

import random
from pathlib import Path

import pytest

from loci.adapters.local.index import vectors
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from loci.search.ranking import Where
from tests.contract.indexes import by_vector, chunk, embedding, find, put, vector

ANN = Owner("acme", "ann")
DIMENSIONS, GROUPS, EACH = 100, 20, 20
"""No whole number of words of 64 signs."""
NEAREST, READ, GUESSED = 10, 30, 60


@pytest.fixture
def middles() -> list[list[float]]:
    """The middles of groups of vectors, as subjects are."""
    source = random.Random(2)
    return [[source.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(GROUPS)]


@pytest.fixture
def folder(tmp_path: Path, middles: list[list[float]]) -> Path:
    """An index with the groups, a document each."""
    source, index = random.Random(3), SqliteIndex(Database(tmp_path / "loci.db"))
    for number, middle in enumerate(middles):
        near = [[one + source.gauss(0, 0.7) for one in middle] for _ in range(EACH)]
        put(index, ANN, *[chunk(f"{number}#{at}", "river", embedding(*one)) for at, one in enumerate(near)])
    return tmp_path


@pytest.fixture
def exact(folder: Path) -> SqliteIndex:
    """Small enough to compute every cosine."""
    return SqliteIndex(Database(folder / "loci.db"))


@pytest.fixture
def index(exact: SqliteIndex, folder: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteIndex:
    """The same passages, as if they were many."""
    find(exact, ANN, near=vector(*[1.0] * DIMENSIONS))
    monkeypatch.setattr(vectors, "LEAST_GUESSED", GUESSED)
    monkeypatch.setattr(vectors, "LEAST_READ", READ)
    monkeypatch.setattr(vectors, "MANY", GROUPS * EACH - EACH // 2)
    return SqliteIndex(Database(folder / "loci.db"))


def _nearest(index: SqliteIndex, to: list[float], where: Where) -> list[str]:
    return by_vector(find(index, ANN, near=vector(*to), limit=NEAREST, where=where))


def test_nearly_all_of_the_nearest_are_found_with_their_exact_cosines(
    exact: SqliteIndex, index: SqliteIndex, middles: list[list[float]]
) -> None:
    by_signs = [find(index, ANN, near=vector(*one), limit=NEAREST) for one in middles]
    every = [find(exact, ANN, near=vector(*one), limit=NEAREST) for one in middles]
    pairs = [
        ({(one.chunk, one.cosine) for one in some}, {(one.chunk, one.cosine) for one in all_of_them})
        for some, all_of_them in zip(by_signs, every, strict=True)
    ]
    assert sum(len(some & all_of_them) for some, all_of_them in pairs) >= 0.99 * NEAREST * GROUPS


def test_of_many_passages_that_are_alike_nearly_all_of_the_nearest_are_found(
    folder: Path, index: SqliteIndex, middles: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where their signs tell little, more of them are looked at."""
    source = random.Random(4)
    alike = [[one + source.gauss(0, 0.3) for one in middles[3]] for _ in range(1000)]
    put(index, ANN, *[chunk(f"alike#{at}", "lake", embedding(*one)) for at, one in enumerate(alike)])
    asked = [vector(*(one + source.gauss(0, 0.5) for one in middles[3])) for _ in range(10)]
    some = [by_vector(find(index, ANN, near=near, limit=NEAREST)) for near in asked]
    monkeypatch.setattr(vectors, "MANY", 10_000)
    exact = SqliteIndex(Database(folder / "loci.db"))
    every = [by_vector(find(exact, ANN, near=near, limit=NEAREST)) for near in asked]
    assert sum(len({*a} & {*b}) for a, b in zip(some, every, strict=True)) >= 0.95 * NEAREST * len(asked)


def test_only_the_documents_of_the_question_are_found(index: SqliteIndex, middles: list[list[float]]) -> None:
    found = _nearest(index, middles[0], Where(documents=("7", "9")))
    assert len(found) == NEAREST
    assert {one.partition("#")[0] for one in found} <= {"7", "9"}


def test_a_passage_that_was_removed_is_not_found(index: SqliteIndex, middles: list[list[float]]) -> None:
    assert {one.partition("#")[0] for one in _nearest(index, middles[4], Where())} == {"4"}
    index.remove(ANN, "notes", "4")
    # Few of all are gone, so they keep their places, and the passages still count as many.
    assert not {one for one in _nearest(index, middles[4], Where()) if one.startswith("4#")}


def test_a_new_passage_is_found(index: SqliteIndex, middles: list[list[float]]) -> None:
    _nearest(index, middles[4], Where())
    put(index, ANN, chunk("new#0", "lake", embedding(*middles[4])))
    assert _nearest(index, middles[4], Where())[0] == "new#0"


def test_equal_vectors_are_ordered_by_id(index: SqliteIndex, middles: list[list[float]]) -> None:
    put(index, ANN, *[chunk(f"same{n}#0", "lake", embedding(*middles[4])) for n in reversed(range(NEAREST + 5))])
    assert _nearest(index, middles[4], Where()) == sorted(f"same{n}#0" for n in range(NEAREST + 5))[:NEAREST]


def test_cosines_of_what_the_words_found_are_exact(
    exact: SqliteIndex, index: SqliteIndex, middles: list[list[float]]
) -> None:
    near = vector(*middles[2])
    by_signs = {one.chunk: one.cosine for one in find(index, ANN, "river", near)}
    every = {one.chunk: one.cosine for one in find(exact, ANN, "river", near)}
    assert None not in by_signs.values()
    both = by_signs.keys() & every.keys()  # the words find many of equal rank; the vector adds others
    assert len(both) >= 50
    assert {id: by_signs[id] for id in both} == {id: every[id] for id in both}
