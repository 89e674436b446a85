"""What takes over a data folder of the weeks before the first release."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.migrations import LAST, VERSION
from loci.adapters.local.sqlite import Database
from loci.compose import build_app
from loci.core.errors import Misconfigured
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from tests.contract.indexes import by_vector, chunk, embedding, find, put, vector

ANN = Owner("acme", "ann")


def age(folder: Path, version: int = LAST) -> None:
    """Give the database the tables that it had before the first release."""
    with closing(sqlite3.connect(folder / "loci.db")) as old, old:
        old.execute("ALTER TABLE chunk ADD COLUMN vector BLOB")
        old.execute("CREATE TABLE uncoded (first INTEGER NOT NULL, last INTEGER NOT NULL)")
        old.execute(f"PRAGMA user_version = {version}")


def test_vectors_that_chunks_kept_are_found(tmp_path: Path) -> None:
    before = SqliteIndex(Database(tmp_path / "loci.db"))
    put(before, ANN, chunk("a#0", "river", embedding(1, 0)), chunk("b#0", "garden", embedding(0, 1)))
    age(tmp_path)
    with closing(sqlite3.connect(tmp_path / "loci.db")) as old, old:
        old.execute("UPDATE chunk SET vector = (SELECT vector FROM vector WHERE vector.number = chunk.number)")
        old.execute("DELETE FROM vector")
        old.execute("DELETE FROM code")
    database = Database(tmp_path / "loci.db")
    assert by_vector(find(SqliteIndex(database), ANN, near=vector(0, 1), limit=1)) == ["b#0"]
    with database.read() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_texts_that_lay_flat_are_read_and_listed(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path, "models": tmp_path / "models"})
    with closing(build_app(settings)) as app:
        app.blobs.write(LOCAL, "documents/plan", b"newer")
    owner = tmp_path / "blobs" / LOCAL.key
    for key in ("history%2Fa%2F1", "documents%2Fplan"):
        (owner / f"{key}@").write_bytes(b"as it was")
    age(tmp_path)
    with closing(build_app(settings)) as app:
        assert app.blobs.list(LOCAL) == ["documents/plan", "history/a/1"]
        assert app.blobs.read(LOCAL, "history/a/1") == b"as it was"
        assert app.blobs.read(LOCAL, "documents/plan") == b"newer"


def test_anything_older_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    Database(tmp_path / "loci.db")
    age(tmp_path, LAST - 1)
    with pytest.raises(Misconfigured, match="never released"):
        Database(tmp_path / "loci.db")
    with closing(sqlite3.connect(tmp_path / "loci.db")) as same:
        assert same.execute("PRAGMA user_version").fetchone() == (LAST - 1,)
