"""A table of a document that is cut: each part is found by the header and the caption, which only the first shows."""

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import COLLECTION
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call
from tests.surface.runtimes import RUNTIMES

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
ROWS = "\n".join(f"| Pump {number} in the cellar of the mill | {number * 7} |" for number in range(1, 81))
CAPTIONS = {"a.md": "Wear of the pumps", "b.md": "Noise of the pumps"}


def page(caption: str, kind: str) -> str:
    return f"# Mill\n\n{caption}, as measured.\n\n| Pump | {kind} |\n|---|---|\n{ROWS}\n"


@each("asked", ["wear of pump 79", "amortisation of pump 79"])
async def test_the_last_row_is_found_by_the_header_and_the_caption(connect: Connect, app: App, asked: str) -> None:
    for path, kind in (("b.md", "Decibels"), ("a.md", "Amortisation")):
        app.documents.parts.library.add(LOCAL, path, page(CAPTIONS[path], kind).encode())
    [first, *_] = (await call(connect, "search_documents", query=asked))["results"]
    assert first["path"] == "a.md"
    assert "Pump 79" in first["snippet"]
    assert CAPTIONS["a.md"] not in first["snippet"]


async def test_a_table_that_fits_stays_with_its_caption(app: App) -> None:
    text = "# Mill\n\nWear of the pumps.\n\n| Pump | Wear |\n|---|---|\n| 1 | 7 |\n\nNothing else is worn.\n"
    app.documents.parts.library.add(LOCAL, "a.md", text.encode())
    [passage] = app.documents.parts.index.passages(LOCAL, COLLECTION)
    assert passage.text == text.removeprefix("# Mill\n\n").strip()
    assert passage.words.split().count("wear") == 2
