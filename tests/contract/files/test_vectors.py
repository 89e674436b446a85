"""Words are found first, vectors follow: also those of versions that were replaced."""

from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.files.ingest import COLLECTION
from loci.files.versions import PAST
from tests.support.small_models import EMBEDDER, small_models

__all__ = ["small_models"]


@pytest.fixture
def app(tmp_path: Path, small_models: Path) -> App:
    told = {"data": tmp_path, "models": small_models, "embedder": EMBEDDER, "rerank_seconds": 0}
    return build_app(load_settings(told))


def vectors(app: App, collection: str) -> list[bool]:
    return [one.embedding is not None for one in app.files.parts.index.passages(LOCAL, collection)]


def test_passages_get_their_vectors_once(app: App) -> None:
    file = app.files.add(LOCAL, "trip.md", b"Ann buys the tickets.\n")
    assert vectors(app, COLLECTION) == [False]
    assert [app.files.upkeep.embed_missing(LOCAL) for _ in range(3)] == [1, 0, 0]
    assert vectors(app, COLLECTION) == [True]
    [told] = app.files.status(LOCAL, [file.id])
    assert told.current is not None
    assert told.current.model == app.files.upkeep.model()


def test_a_replaced_version_keeps_its_vectors(app: App) -> None:
    app.files.add(LOCAL, "trip.md", b"Ann buys the tickets.\n")
    app.files.upkeep.embed_missing(LOCAL)
    app.files.add(LOCAL, "trip.md", b"Bob buys them.\n")
    assert (vectors(app, COLLECTION), vectors(app, PAST)) == ([False], [True])
    assert app.files.upkeep.embed_missing(LOCAL) == 1
    assert vectors(app, COLLECTION) == [True]
