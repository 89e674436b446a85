"""Models are installed and nothing can run them: the layer of the functions on AWS has no onnxruntime."""

import sys
from pathlib import Path

import pytest

from loci.app import App
from tests.support.small_models import lay_out_embedder, lay_out_reranker
from tests.surface.conftest import Connect
from tests.surface.results import call, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]


@pytest.fixture(params=["onnxruntime", "tokenizers"])
def lacking(request: pytest.FixtureRequest, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The library that is not installed, while models and notes are."""
    lay_out_embedder(app.settings.models_folder)
    lay_out_reranker(app.settings.models_folder)
    monkeypatch.setitem(sys.modules, request.param, None)
    notes = {"ferries.md": "# Ferries\n\nThe ferry sails at noon.\n", "trains.md": "# Trains\n\nOne meets the ferry.\n"}
    take_in(app, written(tmp_path / "notes", notes))
    return request.param


async def test_a_search_works_on_words_and_says_what_is_missing(connect: Connect, lacking: str) -> None:
    found = await call(connect, "search_documents", query="ferry", explain=True)
    assert {row["source"] for row in found["results"]} == {"bm25"}
    notes = {one["stage"]: one["note"] for one in found["metadata"]["stages"] if not one["ran"]}
    for stage in ("vector", "rerank"):
        assert notes[stage].startswith(f"{lacking} is not installed. ")
        assert "LOCI_INFERENCE_FUNCTION" in notes[stage]


@pytest.mark.usefixtures("lacking")
async def test_likeness_goes_by_words(connect: Connect) -> None:
    assert await call(connect, "find_gaps", threshold=0.1)
