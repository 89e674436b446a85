"""`search_memory` in tables of numbers: the row that answers is shown, though many files and sheets are like it."""

from collections.abc import Iterator

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.files.sheets import workbook
from tests.surface.conftest import Connect
from tests.surface.files.searches import search

pytestmark = pytest.mark.anyio
QUARTERS = ("First quarter", "Second quarter", "Third quarter", "Fourth quarter")


ROWS = ("<th>Pier</th><th>Berths</th>", "<td>North</td><td>7</td>", "<td>South</td><td>9</td>")
TABLE = f"<table>{''.join(f'<tr>{one}</tr>' for one in ROWS)}</table>"


@pytest.fixture(autouse=True)
def ended(app: App) -> Iterator[None]:
    """No process that reads files outlives its test."""
    yield
    app.close()


async def test_a_second_sheet_of_the_named_workbook_comes_before_another_workbook(connect: Connect, app: App) -> None:
    for place in ("Oslo", "Perth", "Quito"):
        sheets = {
            year: [["Berths", *QUARTERS], *([f"Berth {one} of the harbour", *range(one, one + 4)] for one in range(30))]
            for year in ("2021", "2022", "2023")
        }
        app.files.add(LOCAL, f"{place}.xlsx", workbook(sheets))
    answer = await search(connect, "berths of the harbour of Perth", limit=3)
    [first, *_] = answer["results"]
    assert (first["name"], len(first["passages"])) == ("Perth.xlsx", 3)


async def test_rows_without_a_word_of_the_question_leave_room_for_other_files(connect: Connect, app: App) -> None:
    others = [f"Repair of item {number}, as agreed with the owners" for number in range(40)]
    for place in ("Oslo", "Perth", "Quito"):
        rows = [[one, 7, 8, 9, 10] for one in others]
        rows[20][0] = "Dredging of the basin"
        app.files.add(LOCAL, f"{place}.xlsx", workbook({"Costs": [["Work", *QUARTERS], *rows]}))
    answer = await search(connect, "what did the dredging of the basin cost")
    shown = [passage["text"] for one in answer["results"] for passage in one["passages"]]
    assert sum("Dredging" in one for one in shown) == 3
    assert all(one.count("\n") < 3 for one in shown if "Dredging" in one)


async def test_a_table_is_found_by_the_headings_above_it(connect: Connect, app: App) -> None:
    towns = ("Oslo", "Perth", "Quito")
    parts = [f"<h2>{one}</h2><p>At the end of the year.</p>{TABLE}<h3>Tugs</h3>{TABLE}<p>Hired.</p>" for one in towns]
    app.files.add(LOCAL, "harbours.html", f"<body><h1>Harbours</h1>{''.join(parts)}</body>".encode())
    for town in ("Perth", "Quito"):
        answer = await search(connect, f"berths of the north pier in {town}")
        headings = [one["heading"] for one in answer["results"][0]["passages"] if "North | 7" in one["text"]]
        assert sorted(headings[:2]) == [f"Harbours > {town} > At the end of the year.", f"Harbours > {town} > Tugs"]
