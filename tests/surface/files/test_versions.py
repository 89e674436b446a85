"""Versions of a file: what changed from one to the next, and citations that are checked against the right one."""

import io
from typing import Any

import openpyxl
import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.support.files import workbooks
from tests.surface.conftest import Connect
from tests.surface.files.searches import call
from tests.surface.results import texts

pytestmark = pytest.mark.anyio
OLD = (
    "# Trip\n\nThe train to Berlin costs 40 euros.\n\nAnn buys the tickets.\n\n## Hotel\n\nRoom 1,240 at the “Adler”.\n"
)
NEW = "# Trip\n\nThe train to Berlin costs 55 euros.\n\nAnn buys the tickets.\n\nBob packs.\n\n## Hotel\n\nRoom 7.\n"


async def refused(connect: Connect, tool: str, **arguments: object) -> str:
    async with connect("files") as client:
        answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return texts(answer)[0]


async def trip(connect: Connect, *contents: str) -> str:
    added = [await call(connect, "add_memory", name="trip.md", text=text) for text in contents]
    return str(added[-1][0]["id"])


def workbook(*rows: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.title = "Costs"
    for row in rows:
        book.active.append(row)
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


async def test_paragraphs_that_changed_are_told_with_their_lines(connect: Connect) -> None:
    id = await trip(connect, OLD, NEW)
    told = await call(connect, "diff_versions", memory_id=id)
    assert (told["older"]["version"], told["newer"]["version"], told["n"], told["more"]) == (1, 2, 3, 0)
    seen = [(one["kind"], one["before"], one["after"], one["locator"]["lines"]) for one in told["changes"]]
    assert seen == [
        ("changed", "The train to Berlin costs 40 euros.", "The train to Berlin costs 55 euros.", [3, 3]),
        ("added", None, "Bob packs.", [7, 7]),
        ("changed", "Room 1,240 at the “Adler”.", "Room 7.", [11, 11]),
    ]


async def test_the_answer_is_bounded_and_says_how_much_is_missing(connect: Connect) -> None:
    id = await trip(connect, *("\n\n".join(f"{word} {number}." for number in range(9)) for word in ("One", "Two")))
    told = await call(connect, "diff_versions", memory_id=id, limit=2)
    assert (len(told["changes"]), told["n"], told["more"]) == (2, 9, 7)


async def test_versions_that_are_not_there_are_named(connect: Connect) -> None:
    id = await trip(connect, OLD)
    assert "no version before 1" in await refused(connect, "diff_versions", memory_id=id)
    assert "Its versions are 1" in await refused(connect, "diff_versions", memory_id=id, older=7)


async def test_cells_that_changed_are_told_and_a_new_row_moves_no_others(connect: Connect, app: App) -> None:
    before = workbook(["Item", "Euros"], ["train", 40], ["hotel", 120], ["food", 30])
    after = workbook(["Item", "Euros"], ["taxi", 9], ["train", 40], ["hotel", 125], ["food", 30])
    app.files.add(LOCAL, "costs.xlsx", before)
    file = app.files.add(LOCAL, "costs.xlsx", after)
    assert file.newest.status == "okay", file.newest.reason
    told = await call(connect, "diff_versions", memory_id=file.id)
    seen = [(one["kind"], one["what"], one["locator"]["label"], one["before"], one["after"]) for one in told["changes"]]
    assert seen == [
        ("added", "row", "Costs!A2:B2", None, "taxi | 9"),
        ("changed", "cell", "Costs!B4", "120", "125"),
    ]


async def cited(connect: Connect, question: str) -> str:
    found = await call(connect, "search_memory", parsed_query=question)
    return found["results"][0]["passages"][0]["chunk_id"]


@each(
    ("text", "is_true"),
    [
        ("The train to Berlin costs 40 euros", True),
        ("the train\n  to Berlin", True),
        ("“costs 40 euros.”", True),
        ("costs 4", False),
        ("costs 41 euros", False),
        ("train to Ber", False),
    ],
)
async def test_a_citation_is_true_if_its_whole_words_stand_there(connect: Connect, text: str, is_true: bool) -> None:
    await trip(connect, OLD)
    told = await call(connect, "verify_citation", chunk_id=await cited(connect, "train to Berlin"), text=text)
    assert told["verified"] is is_true
    assert "costs 40 euros" in told["actual"]


async def test_numbers_and_quotation_marks_are_compared_as_people_read_them(connect: Connect) -> None:
    await trip(connect, OLD)
    chunk = await cited(connect, "room at the Adler hotel")
    for text, is_true in (("1,240", True), ("240", False), ("1", False), ('at the "Adler"', True)):
        told = await call(connect, "verify_citation", chunk_id=chunk, text=text)
        assert told["verified"] is is_true, text


async def test_a_text_that_stands_elsewhere_is_found_there(connect: Connect) -> None:
    await trip(connect, OLD)
    told = await call(
        connect,
        "verify_citation",
        chunk_id=await cited(connect, "room at the Adler hotel"),
        text="Ann buys the tickets",
    )
    assert not told["verified"]
    assert [one["locator"]["lines"] for one in told["elsewhere"]] == [[5, 5]]


async def test_a_citation_of_an_older_version_is_checked_against_it(connect: Connect, app: App) -> None:
    id = await trip(connect, OLD, NEW)
    current = await cited(connect, "train to Berlin")
    told = await call(connect, "verify_citation", chunk_id=current, text="costs 40 euros")
    assert (told["verified"], told["version"], told["is_current"], told["other_versions"]) == (False, 2, True, [1])
    told = await call(connect, "verify_citation", chunk_id=f"{id}@1#0", text="costs 40 euros")
    assert (told["verified"], told["version"], told["is_current"]) == (True, 1, False)


async def test_a_value_of_a_workbook_is_checked_in_its_cells(connect: Connect, app: App) -> None:
    content = workbook(["Item", "Euros"], *([f"thing {number}", number] for number in range(400)))
    file = app.files.add(LOCAL, "costs.xlsx", content)
    told = await call(connect, "verify_citation", chunk_id=f"{file.id}#0", text="thing 1 | 1")
    assert told["verified"]
    told = await call(connect, "verify_citation", chunk_id=f"{file.id}#0", text="thing 399")
    assert (told["verified"], told["elsewhere"][0]["locator"]["label"]) == (False, "Costs!A401")


async def test_a_passage_that_is_not_there_is_told(connect: Connect) -> None:
    id = await trip(connect, OLD)
    for chunk in (f"{id}#99", f"{id}@9#0", "ds-0#0", "what?"):
        said = await refused(connect, "verify_citation", chunk_id=chunk, text="x")
        assert said.split(":")[0] in ("PASSAGE_NOT_FOUND", "VERSION_NOT_FOUND", "MEMORY_NOT_FOUND")


PORTS = [["Port", "Ships"], ["Kiel", 7]]
QUARTERS = workbooks.xlsx(("Ports", PORTS), then=workbooks.merged_header)


@each(
    ("name", "content", "text", "label"),
    [
        ("quarters.xlsx", QUARTERS, "North", "Quarters!A3"),
        ("quarters.xlsx", QUARTERS, "2026 Q1", "Quarters!D1:D2"),
        ("plan.xlsx", workbooks.xlsx(then=workbooks.two_tables), "Costs of the year", "Plan!A1"),
    ],
)
async def test_a_value_below_two_rows_of_header_and_a_title_stand_in_their_own_cells(
    connect: Connect, app: App, name: str, content: bytes, text: str, label: str
) -> None:
    file = app.files.add(LOCAL, name, content)
    told = await call(connect, "verify_citation", chunk_id=f"{file.id}#0", text=text)
    assert [one["locator"]["label"] for one in told["elsewhere"]] == [label]


async def test_a_value_of_a_table_that_begins_at_c3_stands_in_its_own_cell(connect: Connect, app: App) -> None:
    costs = [[], [], [None, None, "Item", "Euros"], [None, None, "hotel", 120]]
    file = app.files.add(LOCAL, "costs.xlsx", workbooks.xlsx(("Ports", PORTS), ("Costs", costs)))
    told = await call(connect, "verify_citation", chunk_id=f"{file.id}#0", text="120")
    assert [one["locator"]["label"] for one in told["elsewhere"]] == ["Costs!D4"]


async def test_a_title_that_changed_is_told_with_its_cell(connect: Connect, app: App) -> None:
    rows: list[list[Any]] = [[], ["Item", "Euros"], ["train", 40], ["hotel", 120]]
    app.files.add(LOCAL, "costs.xlsx", workbook(["Costs of May"], *rows))
    file = app.files.add(LOCAL, "costs.xlsx", workbook(["Costs of June"], *rows))
    told = await call(connect, "diff_versions", memory_id=file.id)
    seen = [(one["what"], one["locator"]["label"], one["before"], one["after"]) for one in told["changes"]]
    assert seen == [("cell", "Costs!A1", "Costs of May", "Costs of June")]


async def test_rows_below_a_header_of_two_rows_have_their_own_numbers(connect: Connect, app: App) -> None:
    header = (["Region", "2025", None, "2026", None], ["", "Q1", "Q2", "Q1", "Q2"])
    rows = (["North", 11, 12, 13, 14], ["South", 21, 22, 23, 24])
    app.files.add(LOCAL, "costs.xlsx", workbook(*header, *rows))
    file = app.files.add(LOCAL, "costs.xlsx", workbook(*header, rows[0], ["South", 21, 22, 23, 99]))
    told = await call(connect, "diff_versions", memory_id=file.id)
    assert [one["locator"]["label"] for one in told["changes"]] == ["Costs!E4"]
    cited = await call(connect, "verify_citation", chunk_id=f"{file.id}#0", text="South | 21 | 22")
    assert cited["verified"]


async def test_a_content_that_is_gone_is_told_without_the_place_where_it_lay(connect: Connect, app: App) -> None:
    id = await trip(connect, OLD, NEW)
    for key in app.blobs.list(LOCAL, f"files/{id}/"):
        app.blobs.remove(LOCAL, key)
    for tool, arguments in (
        ("diff_versions", {"memory_id": id}),
        ("verify_citation", {"chunk_id": f"{id}#0", "text": "train"}),
    ):
        said = await refused(connect, tool, **arguments)
        assert said.startswith("CONTENT_NOT_FOUND")
        assert "files/" not in said


SALES = [
    ["Net sales by product (in millions)"],
    ["", "2022", "2023"],
    ["Tablets", "29,292", "28,300"],
    ["Wearables", "41,241", "39,845"],
    ["Other", "9,283", "9,283"],
]
VISITS = [["Year", "Month", "Ships"], ["2022", "Jan", 7], ["", "Feb", 9], ["2023", "Jan", 8], ["", "Feb", 11]]


async def test_a_figure_is_verified_with_its_table_its_columns_and_its_row(connect: Connect, app: App) -> None:
    file = app.files.add(LOCAL, "sales.xlsx", workbooks.xlsx(("Sales", SALES), ("Visits", VISITS)))
    caption = "Net sales by product (in millions)"
    cases: list[tuple[int, str, tuple[object, ...]]] = [
        (0, "28,300", ("Sales!C3", caption, ["2023"], "Tablets", "")),
        (0, "Tablets | 29,292", ("Sales!A3:C3", caption, ["2022"], "Tablets", "")),
        (0, "9,283", ("Sales!B5", caption, ["2022", "2023"], "Other", "")),
        (0, "2023", ("Sales!C2", caption, [], "", "")),
        (1, "11", ("Visits!C5", "", ["Ships"], "Feb", "2023")),
    ]
    for chunk, text, expected in cases:
        told = await call(connect, "verify_citation", chunk_id=f"{file.id}#{chunk}", text=text)
        assert told["verified"], text
        [cells] = told["cells"]
        assert tuple(cells[one] for one in ("label", "caption", "columns", "row", "group")) == expected
    told = await call(connect, "verify_citation", chunk_id=f"{file.id}#1", text="39,845")
    assert (told["verified"], told["elsewhere"][0]["cells"]["columns"]) == (False, ["2023"])
    await trip(connect, OLD)
    told = await call(connect, "verify_citation", chunk_id=await cited(connect, "train to Berlin"), text="40 euros")
    assert "cells" not in told
