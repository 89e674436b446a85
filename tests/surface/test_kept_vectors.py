"""The vectors of passages that stay as they are when a document changes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import COLLECTION
from loci.mcp.server import build_server
from tests.support.moto_aws import ON_VECTORS, moto_aws
from tests.support.small_models import EMBEDDER, lay_out_embedder
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio

PARTS = {"River": "Horses cross it in winter.", "Lake": "Geese rest in May.", "Pond": "Frogs sing at night."}


@pytest.fixture(params=["embedded", pytest.param("vectors", marks=pytest.mark.aws)])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    """Loci with a small embedder, on each runtime."""
    models = tmp_path / "models"
    models.mkdir()
    lay_out_embedder(models)
    embeds: dict[str, object] = {"models": models, "embedder": EMBEDDER}
    if request.param == "embedded":
        yield build_app(load_settings({**embeds, "data": tmp_path / "data"}))
        return
    with moto_aws():
        yield build_app(load_settings({**embeds, **ON_VECTORS}))


@pytest.fixture
def embedded(app: App, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that go to the model, in order."""
    seen = list[str]()
    embedder = app.documents.parts.embedder
    passages = embedder.passages

    def watched(some: list[str]) -> object:
        seen.extend(some)
        return passages(some)

    monkeypatch.setattr(embedder, "passages", watched)
    return seen


async def write(app: App, **arguments: object) -> Any:
    async with Client(build_server(app), mode="2026-07-28") as client:
        answer = await client.call_tool("write_document", {"path": "notes/water.md", **arguments})
    assert not answer.is_error, texts(answer)
    return structured(answer)


def text_of(parts: dict[str, str]) -> str:
    return "\n".join(f"# {title}\n\n{text}\n" for title, text in parts.items())


async def test_of_an_edited_document_only_the_new_passage_goes_to_the_model(app: App, embedded: list[str]) -> None:
    await write(app, mode="create", content=text_of(PARTS))
    assert len(embedded) == len(PARTS)
    embedded.clear()
    await write(app, mode="edit", old=PARTS["Lake"], new="Swans rest in May.")
    [new] = embedded
    assert "Swans" in new


async def test_passages_that_move_within_a_document_keep_their_vectors(app: App, embedded: list[str]) -> None:
    made = await write(app, mode="create", content=text_of(PARTS))
    embedded.clear()
    await write(app, mode="replace", expected_hash=made["hash"], content=text_of(dict(reversed(PARTS.items()))))
    assert embedded == []
    held = app.documents.parts.index.passages(LOCAL, COLLECTION)
    assert all(chunk.embedding is not None for chunk in held)
