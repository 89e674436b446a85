"""The page as a function can send it."""

from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.web import views
from loci.web.views import page_of, served_page


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


def test_a_page_that_is_too_large_for_an_answer_shows_the_most_linked(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(served_page(app.documents, LOCAL, "").html.encode())
    monkeypatch.setattr(views, "LARGEST_PAGE", whole - 1)
    monkeypatch.setattr(views, "MAX_DOCUMENTS", 40)
    page = served_page(app.documents, LOCAL, "")
    assert len(page.html.encode()) < whole
    assert '"total":40' in page.html


def test_an_owner_sees_nothing_of_another(app: App) -> None:
    assert app.documents.picture(Owner("acme", "ann")).picture().documents == ()


def test_a_text_that_cannot_be_read_is_told_and_leaves_the_others(app: App, tmp_path: Path) -> None:
    (tmp_path / "notes" / "000.md").unlink()
    html = page_of(app.documents, LOCAL, app.documents.picture(LOCAL).picture(), "T").html
    assert "A long title" in html
    assert "000.md" in html
