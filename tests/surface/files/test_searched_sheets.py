"""`search_memory` in workbooks: the cells that it shows, and the sheets that it is limited to."""

from collections.abc import Iterator

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.files.sheets import workbook
from tests.surface.conftest import Connect
from tests.surface.files.searches import add, names, search
from tests.surface.results import texts

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def ended(app: App) -> Iterator[None]:
    """No process that reads files outlives its test."""
    yield
    app.close()


async def test_the_cells_are_those_of_the_shown_rows(connect: Connect, app: App) -> None:
    rows = [[f"Person {number}", f"Town of person {number}", number * 7] for number in range(1, 41)]
    rows[30] = ["Quentin Quixote", "Zanzibar", 4711]
    content = workbook({"People": [["Name", "Town", "Amount paid"], *rows]})
    app.files.add(LOCAL, "people.xlsx", content)
    [passage, *_] = (await search(connect, "how much did Quixote in Zanzibar pay"))["results"][0]["passages"]
    cells = passage["locator"]["cells"]
    first, last = (int(one[1:]) for one in cells.split(":"))
    shown = [" | ".join(map(str, row)) for row in rows[first - 2 : last - 1]]
    assert passage["text"] == "\n".join(shown)
    assert "Zanzibar" in passage["text"]
    assert passage["columns"] == "Name | Town | Amount paid"
    assert passage["locator"]["label"] == f"People!{cells}"
    assert len(passage["text"]) <= 400


async def test_a_row_that_is_too_long_shows_its_cells_that_fit(connect: Connect, app: App) -> None:
    row = [f"{'stone ' * 20}number {number}" for number in range(8)]
    row[5] = "the walrus sleeps here"
    app.files.add(LOCAL, "wide.xlsx", workbook({"S": [[f"C{n}" for n in range(8)], row]}))
    [passage, *_] = (await search(connect, "walrus sleeps"))["results"][0]["passages"]
    first, _, last = passage["locator"]["cells"].partition(":")
    columns = range(ord(first[0]) - 65, ord((last or first)[0]) - 64)
    assert 5 in columns
    for at in columns:
        assert row[at].strip() in passage["text"]
    assert len(passage["text"]) <= 400


async def test_types_are_those_of_the_reference_or_formats(connect: Connect, app: App) -> None:
    add(app, "a.md", "walrus")
    add(app, "b.txt", "walrus")
    app.files.add(LOCAL, "c.xlsx", workbook({"S": [["walrus"], [1]]}))
    assert names(await search(connect, "walrus", types=["excel_file"])) == ["c.xlsx"]
    assert names(await search(connect, "walrus", types=[".MD", "xlsx"])) == ["a.md", "c.xlsx"]
    assert sorted(names(await search(connect, "walrus", types=["txt_file"]))) == ["a.md", "b.txt"]
    async with connect("files") as client:
        refused = await client.call_tool("search_memory", {"parsed_query": "walrus", "types": ["word"]})
    assert texts(refused)[0].startswith("UNKNOWN_TYPE")


async def test_a_sheet_is_all_that_is_searched_of_a_workbook(connect: Connect, app: App) -> None:
    crowd = [["walrus"], *[[f"walrus walrus {number}"] for number in range(900)]]
    app.files.add(LOCAL, "zoo.xlsx", workbook({"Crowd": crowd, "Costs 2026": [["animal", "cost"], ["walrus", 40]]}))
    add(app, "zoo.txt", "walrus")
    for sheet in ("Costs 2026", " costs 2026"):
        answer = await search(connect, "walrus", sheet=sheet)
        assert names(answer) == ["zoo.xlsx"]
        assert {one["locator"]["sheet"] for one in answer["results"][0]["passages"]} == {"Costs 2026"}
    assert (await search(connect, "walrus", sheet="Costs"))["status"] == "empty"
