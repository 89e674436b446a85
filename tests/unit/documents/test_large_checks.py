"""`loci doctor` holds a page of a large library at a time, not all of its documents."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.diagnosis import Finding
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.core.stores import ABSENT, RecordPage, RecordStore
from loci.documents.checks import check_documents, check_files, check_index, check_texts
from loci.documents.document import Document
from loci.markdown.nouns import Problem
from tests.support.each import each

MANY, PAGE = 3_000, 500
CHECKS: dict[str, Callable[[App], object]] = {
    "documents": lambda app: check_documents(app, LOCAL),
    "index": lambda app: check_index(app, LOCAL, fix=False),
    "files": lambda app: check_files(app, LOCAL),
    "texts": lambda app: check_texts(app, LOCAL),
}


@dataclass
class CountingRecords:
    """The real store. At each page it counts the documents in memory."""

    store: RecordStore
    most: int = 0
    pages: list[int] = field(default_factory=list[int])

    def __getattr__(self, name: str) -> object:
        return getattr(self.store, name)

    def list(
        self, owner: Owner, kind: str, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> RecordPage:
        self.most = max(self.most, sum(isinstance(one, Document) for one in gc.get_objects()))
        page = self.store.list(owner, kind, prefix=prefix, limit=limit, after=after)
        self.pages.append(len(page.records))
        return page


def document(number: int) -> Document:
    return Document(
        id=f"note-{number}",
        path=f"note-{number}.md",
        root=None if number % 2 else "gone",
        title="",
        tags=(),
        date=None,
        sha256="1" * 64,
        bytes=1,
        lines=1,
        chunks=1,
        model=None,
        ingested_at="",
        problems=(Problem("It is odd", None),),
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> App:
    home: Path = tmp_path_factory.mktemp("large")
    app = build_app(load_settings({"data": home / "data", "models": home / "models"}))
    parts = app.documents.parts
    with parts.index.together():
        for number in range(MANY):
            parts.catalog.put(LOCAL, document(number), ABSENT)
    return app


@each("check", CHECKS)
def test_a_check_holds_a_page_at_a_time(large: App, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = CountingRecords(large.records)
    monkeypatch.setattr(large.documents.parts.catalog, "records", counting)
    gc.collect()
    gc.freeze()  # what is there already is not counted
    try:
        found = CHECKS[check](large)
    finally:
        gc.unfreeze()
    assert found
    assert sum(counting.pages) >= MANY
    assert counting.most <= 2 * PAGE


def test_the_first_names_of_many_are_told(large: App) -> None:
    found = check_documents(large, LOCAL)
    assert isinstance(found, Finding)
    assert found.what == (
        "3,000 of 3,000 have a problem: note-0.md (It is odd), note-1.md (It is odd), note-10.md (It is odd)"
        " and 2,997 more"
    )
