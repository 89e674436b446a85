"""The page as a function can send it."""

from pathlib import Path
from typing import cast

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.web import graph_routes
from loci.web.graph_routes import page_of, served_page, served_picture
from loci.web.page import embedded


@pytest.fixture
def app(tmp_path: Path) -> App:
    """A library with forty notes under long names."""
    (tmp_path / "notes").mkdir()
    for at in range(40):
        text = f"# {'A long title ' * 12}{at}\n\n[[{(at + 1) % 40:03}]]\n"
        (tmp_path / "notes" / f"{at:03}.md").write_text(text, "utf-8")
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}))
    app.documents.parts.ingest.run(LOCAL, [str(tmp_path / "notes")])
    return app


def test_a_picture_that_is_too_large_for_an_answer_shows_the_most_linked(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = served_picture(app, LOCAL)
    size = len(embedded(whole).encode())
    monkeypatch.setattr(graph_routes, "LARGEST_PICTURE", size - 1)
    monkeypatch.setattr(graph_routes, "MAX_DOCUMENTS", 40)
    cut = served_picture(app, LOCAL)
    assert len(embedded(cut).encode()) < size
    assert (len(cast("list[object]", cut["documents"])), cut["total"]) == (20, 40)


def test_a_page_with_more_documents_than_it_has_room_for_asks_for_them(app: App) -> None:
    assert len(served_page(app, LOCAL, None).html.encode()) <= 60_000
    assert '"isLater":true' in served_page(app, LOCAL, None).html


def test_an_owner_sees_nothing_of_another(app: App) -> None:
    assert app.graph.picture(Owner("acme", "ann")).picture().documents == ()


def test_a_text_that_cannot_be_read_is_told_and_leaves_the_others(app: App, tmp_path: Path) -> None:
    (tmp_path / "notes" / "000.md").unlink()
    html = page_of(app, LOCAL, app.graph.picture(LOCAL).picture(), "T").html
    assert "A long title" in html
    assert "000.md" in html
