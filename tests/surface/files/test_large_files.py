"""Files at the real limits: a sheet of a million rows, a PDF of 3,000 pages, and more passages than searches take."""

import io
from collections.abc import Generator

import pytest
from openpyxl import Workbook

from loci.app import App
from loci.core.identity import LOCAL
from loci.files.file import StoredFile
from tests.support.computing import computing
from tests.support.files import papers
from tests.surface.results import call_files

pytestmark = [pytest.mark.anyio, pytest.mark.exhaustive]
ROWS = 1_000_000


@pytest.fixture
def app(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    with computing("embedded", tmp_path_factory) as app:
        yield app


async def remarks(app: App, file: StoredFile) -> str:
    """What the tools say was left out of the file, which was read. Then the server reads another one."""
    told = (await call_files(app, "fetch_memory", memory_ids=[file.id]))[file.id]
    assert told["status"] == "okay", told.get("reason")
    assert app.files.add(LOCAL, "next.csv", b"City,Cost\nBerlin,40\n", wait=60).newest.status == "okay"
    return "\n".join(told["remarks"])


def a_million_rows() -> bytes:
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Long")
    sheet.append(["Number", "Word"])
    for number in range(ROWS):
        sheet.append([number, f"word {number}"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


async def test_of_a_workbook_with_a_million_rows_the_first_are_found_and_the_rest_is_told(app: App) -> None:
    file = app.files.add(LOCAL, "long.xlsx", a_million_rows(), wait=600)
    said = await remarks(app, file)
    assert "Only rows 1 to 200,000 of sheet 'Long' were read" in said
    found = (await call_files(app, "search_memory", parsed_query="word 1234", memory_ids=[file.id]))["result"]
    assert found["results"]
    count = await call_files(app, "query_table", memory_id=file.id, sql="SELECT count(*) FROM t1")
    assert count["result"]["rows"] == [[199_999]]


async def test_of_a_table_of_text_with_a_million_rows_the_first_are_read_and_the_rest_is_told(app: App) -> None:
    rows = "\n".join(f"{number},word {number}" for number in range(ROWS))
    file = app.files.add(LOCAL, "long.csv", f"Number,Word\n{rows}\n".encode(), wait=600)
    assert "Only the first 200,000 rows were read" in await remarks(app, file)


async def test_of_a_pdf_with_3000_pages_the_first_2000_are_read_and_the_rest_is_told(app: App) -> None:
    content = papers.drawn(*(papers.line(f"Page {number} about lighthouses") for number in range(1, 3001)))
    file = app.files.add(LOCAL, "long.pdf", content, wait=600)
    assert "of 3,000 pages were read" in await remarks(app, file)
    assert file.newest.pages == 3000
    assert file.newest.chunks <= 2000


async def test_of_more_passages_than_searches_take_the_last_place_is_told(app: App) -> None:
    text = "".join(f"# Port {number}\n\nShips of port {number} sail.\n\n" for number in range(20_500))
    file = app.files.add(LOCAL, "ports.md", text.encode(), wait=600)
    said = await remarks(app, file)
    assert said.startswith("Searches find only the first 20,000 passages, up to line ")
    assert file.newest.chunks == 20_000
