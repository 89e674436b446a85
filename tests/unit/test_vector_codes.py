"""The short form of vectors, and how those get it that an older version wrote."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from loci.adapters.local import coding, vectors
from loci.adapters.local.index import SqliteIndex
from loci.adapters.local.sqlite import MIGRATIONS, Database
from loci.adapters.local.vector_codes import code_bytes, code_of
from loci.adapters.local.word_tables import make_words
from loci.core.identity import Owner
from tests.contract.indexes import MODEL, NOTES, by_vector, embedding, find, vector
from tests.support.each import each

ANN = Owner("acme", "ann")
OLD_CHUNK = """
INSERT INTO chunk (number, scope, document, id, hash, model, first_line, last_line, path, title, heading, vector, bits,
                   text, words)
VALUES (?, 1, ?, ?, ?, ?, 1, 1, 'a.md', 'A', '[]', ?, ?, 'text', 'river')
"""


@each("dimensions", [8, 100, 384])
def test_a_code_tells_the_signs_and_which_numbers_are_great(dimensions: int) -> None:
    numbers = np.random.default_rng(1).standard_normal(dimensions)
    stored = (numbers / np.linalg.norm(numbers)).astype("<f2")
    code = code_of(stored.tobytes())
    assert len(code) == code_bytes(dimensions)
    signs, halves = np.unpackbits(np.frombuffer(code, np.uint8)).reshape(2, -1)[:, :dimensions]
    assert signs.tolist() == (stored > 0).astype(int).tolist()
    great = halves == signs
    assert np.abs(stored[great]).min(initial=1) > np.abs(stored[~great]).max(initial=0)
    assert 0 < great.sum() < dimensions


def test_levels_order_vectors_nearly_as_their_cosines_do() -> None:
    source = np.random.default_rng(2)
    rows = source.standard_normal((500, 384))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f2")
    query = rows[0].astype(float) + source.standard_normal(384) / 384**0.5
    bits = np.unpackbits(np.array([np.frombuffer(code_of(row.tobytes()), np.uint8) for row in rows]), axis=1)
    levels = 2.0 * bits[:, :384] + bits[:, 384:]
    assert np.corrcoef(levels @ query, rows.astype(float) @ query)[0, 1] > 0.9


def of_before(folder: Path, count: int) -> list[list[float]]:
    """A database of the version before codes, with so many passages; their directions."""
    source = random.Random(3)
    directions = [[source.gauss(0, 1) for _ in range(24)] for _ in range(count)]
    with closing(sqlite3.connect(folder / "loci.db", isolation_level=None)) as old:
        for steps in MIGRATIONS[:4]:
            for step in steps:
                _ = old.execute(step) if isinstance(step, str) else step(old)
        old.execute("PRAGMA user_version = 4")
        old.execute("INSERT INTO scope (number, owner, collection) VALUES (1, ?, ?)", (ANN.key, NOTES))
        make_words(old, 1)
        for number, direction in enumerate(directions, 1):
            made = embedding(*direction)
            old.execute("INSERT INTO document VALUES (?, 1, ?, NULL)", (number, str(number)))
            old.execute(OLD_CHUNK, (number, number, f"{number}#0", f"hash{number}", MODEL, made.vector, made.bits))
            old.execute("INSERT INTO word_1 (rowid, words) VALUES (?, 'river _')", (number,))
    return directions


@pytest.mark.parametrize("many", [1, 1000])
def test_passages_of_before_are_found_by_their_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(coding, "PORTION", 7)
    monkeypatch.setattr(vectors, "MANY", many)
    directions = of_before(tmp_path, 30)
    index = SqliteIndex(Database(tmp_path / "loci.db"))
    for number, direction in enumerate(directions, 1):
        [first] = find(index, ANN, "river", vector(*direction), limit=1)[:1]
        assert first.chunk == f"{number}#0" or first.vector_rank is None
        assert by_vector(find(index, ANN, near=vector(*direction), limit=1)) == [f"{number}#0"]
    held = index.chunks(ANN, NOTES, ["4#0"])["4#0"]
    assert held.embedding == embedding(*directions[3])
    assert index.embeddings(ANN, MODEL, ["hash5"]) == {"hash5": embedding(*directions[4])}


def test_coding_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "PORTION", 7)
    monkeypatch.setattr(vectors, "MANY", 1)
    directions = of_before(tmp_path, 30)
    done = 0

    def stops(_: bytes) -> bytes:
        nonlocal done
        done += 1
        if done > 10:
            raise ValueError
        return code_of(embedding(*directions[0]).vector)

    monkeypatch.setattr(coding, "code_of", stops)
    with pytest.raises(Exception, match="user-defined function"):
        Database(tmp_path / "loci.db")
    with closing(sqlite3.connect(tmp_path / "loci.db")) as stopped:
        assert stopped.execute("SELECT first, last FROM uncoded").fetchall() == [(8, 30)]
        stopped.execute("DELETE FROM code")  # those of the first portion were wrong
        stopped.execute("UPDATE uncoded SET first = 1")
        stopped.commit()
    monkeypatch.setattr(coding, "code_of", code_of)
    index = SqliteIndex(Database(tmp_path / "loci.db"))
    found = find(index, ANN, near=vector(*directions[20]), limit=30)
    assert len(by_vector(found)) == 30
    index.remove(ANN, NOTES, "21")
    with Database(tmp_path / "loci.db").read() as connection:
        assert connection.execute("SELECT count(*) FROM code").fetchone() == (29,)
