"""Cells of workbooks that nobody here wrote. The tools give each the place that somebody saw it in."""

import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.files.locators import cell_range, cells_in
from tests.support.computing import computing
from tests.support.each import each
from tests.support.files.archives import unpacked
from tests.surface.results import call_files

pytestmark = [pytest.mark.anyio, pytest.mark.models]
HERE = Path(__file__).parents[2] / "contract" / "files" / "real"
CELLS: list[dict[str, str]] = json.loads((HERE / "cells.json").read_text("utf-8"))
EXONERATIONS = "agate-1.14.2/examples/realdata/exonerations-20150828.csv"
REGIONS = "agate_excel-0.4.2/examples/covid_19-iss.xlsx"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    with computing("embedded", tmp_path_factory) as app:
        yield app


def stored(app: App, file: str) -> str:
    """The id of the file in the lake."""
    found = app.files.add(LOCAL, file.replace("/", "-"), (unpacked(HERE / "sheets.txt") / file).read_bytes(), wait=60)
    assert found.newest.status == "okay", found.newest.reason
    return found.id


def in_cells(passage: Mapping[str, Any]) -> dict[str, str]:
    """The text of each cell that a passage shows: its lines are the rows of its place."""
    top, bottom, left, _ = cells_in(passage["locator"]["cells"])
    lines = passage["text"].split("\n")
    assert len(lines) == bottom - top + 1, passage
    return {
        cell_range(row, row, column, column): text
        for row, line in enumerate(lines, top)
        for column, text in enumerate(line.split(" | "), left)
    }


@each("place", [pytest.param(one, id=f"{one['sheet']}!{one['cell']}") for one in CELLS])
async def test_a_cell_is_found_at_its_true_place_and_can_be_cited(app: App, place: dict[str, str]) -> None:
    id = stored(app, place["file"])
    asked: dict[str, object] = {"parsed_query": place["question"], "memory_ids": [id], "sheet": place["sheet"]}
    answer = (await call_files(app, "search_memory", **asked, max_tokens=8000))["result"]
    passages = [one for result in answer["results"] for one in result["passages"]]
    top, _, left, _ = cells_in(place["cell"])
    there = [one for one in passages if _has(one["locator"]["cells"], top, left)]
    assert there, [one["locator"] for one in passages]
    assert in_cells(there[0])[place["cell"]] == place["text"]
    told = (await call_files(app, "verify_citation", chunk_id=there[0]["chunk_id"], text=place["text"]))["result"]
    assert (told["verified"], told["locator"]["sheet"]) == (True, place["sheet"])


def _has(cells: str, row: int, column: int) -> bool:
    top, bottom, left, right = cells_in(cells)
    return top <= row <= bottom and left <= column <= right


@each(
    ("file", "sheet", "sql", "rows"),
    [
        (EXONERATIONS, None, "SELECT count(*) FROM {t} WHERE state = 'TN'", [[16]]),
        (REGIONS, "casi_regioni", "SELECT CASI_CUMULATIVI FROM {t} WHERE NOME_NUTS2 = 'Molise'", [[13632]]),
        ("agate_excel-0.4.2/examples/ne_1033_data.xlsx", "NE data", "SELECT count(*) FROM {t}", [[1036]]),
        ("csvkit-2.2.0/examples/iris.csv", None, "SELECT max(petal_length) FROM {t}", [[6.9]]),
    ],
)
async def test_a_real_table_answers_sql(app: App, file: str, sheet: str | None, sql: str, rows: list[Any]) -> None:
    id = stored(app, file)
    tables = (await call_files(app, "query_table", memory_id=id))["result"]["tables"]
    name = next(one["name"] for one in tables if one["sheet"] == sheet)
    assert (await call_files(app, "query_table", memory_id=id, sql=sql.format(t=name)))["result"]["rows"] == rows
