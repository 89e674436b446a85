"""Workbooks, tables of text and JSON, read by the program behind the wall."""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from openpyxl import Workbook

from loci.core.errors import Refused
from loci.files.citations import places_of
from loci.files.cutting import cut
from loci.files.locators import cell_range, locator_of
from loci.files.reading import Reading, TableSection, TextSection
from tests.contract.files.readers import Read, reader_in
from tests.support.each import each
from tests.support.files import workbooks

CITIES = [["City", "Cost"], ["Berlin", 40], ["Rome", 55]]
TEXT = "City,Cost\nBerlin,40\nRome,55\n"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    with reader_in(tmp_path_factory.mktemp("sheets")) as read:
        yield read


def _table(reading: Reading) -> TableSection:
    [table] = reading.tables
    return table


def _cell(reading: Reading, sheet: str, place: str) -> str:
    """The text of a cell, by the place that a locator gives it."""
    for table in reading.tables:
        for down, row in enumerate([table.header, *table.rows]):
            at = table.first_row + (table.header_rows - 1 if down == 0 else table.header_rows - 1 + down)
            at -= 0 if table.header else 1
            for across, text in enumerate(row):
                found = cell_range(at, at, table.first_column + across, table.first_column + across)
                if table.sheet == sheet and found == place:
                    return text
    return ""


@each(
    ("name", "content"),
    [
        ("a.xlsx", workbooks.xlsx(("Costs", CITIES))),
        ("a.xls", workbooks.xls("Costs", CITIES)),
        ("a.ods", workbooks.ods("Costs", [["City", "Cost"], ["Berlin", 40], ["Rome", 55]])),
        ("a.csv", TEXT.encode()),
        ("windows.csv", TEXT.replace("\n", "\r\n").encode()),
        ("mac.csv", TEXT.replace("\n", "\r").encode()),
        ("semicolons.csv", TEXT.replace(",", ";").encode()),
        ("tabs.tsv", TEXT.replace(",", "\t").encode()),
        ("marked.csv", TEXT.encode("utf-8-sig")),
        ("wide.csv", TEXT.encode("utf-16")),
        ("a.json", b'[{"City": "Berlin", "Cost": 40}, {"City": "Rome", "Cost": 55}]'),
        ("lines.jsonl", b'{"City": "Berlin", "Cost": 40}\n{"City": "Rome", "Cost": 55}\n'),
    ],
)
def test_every_format_gives_the_same_table(read: Read, name: str, content: bytes) -> None:
    table = _table(read(name, content))
    assert (table.header, table.rows) == (("City", "Cost"), (("Berlin", "40"), ("Rome", "55")))
    assert (table.first_row, table.first_column) == (0, 0)


def test_the_tables_of_a_sheet_are_apart_with_their_places(read: Read) -> None:
    reading = read("a.xlsx", workbooks.xlsx(then=workbooks.two_tables))
    found = [(one.title, one.header, one.first_row, one.first_column) for one in reading.tables]
    assert found == [
        ("Costs of the year", ("City", "Cost"), 2, 0),
        ("", ("Name", "Age"), 2, 3),
        ("", ("Port", "Ships"), 8, 1),
    ]
    assert [_cell(reading, "Plan", one) for one in ("B4", "A5", "E5", "B10", "C10")] == [
        "40",
        "Rome",
        "45",
        "Kiel",
        "7",
    ]


def test_cells_below_each_other_with_no_table_are_a_list_and_none_is_lost(read: Read) -> None:
    words = ["costs", "ports", "ships", "crews", "storms"]
    reading = read("a.xlsx", workbooks.xlsx(("Contents", [row for one in words for row in ([one], [])])))
    assert _table(reading).title == ""
    assert [_cell(reading, "Contents", f"A{at}") for at in (1, 3, 5, 7, 9)] == words


def test_two_header_lines_are_joined_and_merged_cells_hold_for_all_their_columns(read: Read) -> None:
    table = _table(read("a.xlsx", workbooks.xlsx(then=workbooks.merged_header)))
    assert table.header == ("Region", "2025 Q1", "2025 Q2", "2026 Q1", "2026 Q2")
    assert (table.header_rows, table.below_header, table.rows) == (2, 2, (("North", "1", "2", "3", "4"),))


VISITS = [
    [2, "Purpose of visits to the UK"],
    [*[None] * 8, "thousands"],
    [None, None, "All visits", None, None, None, "Purpose"],
    [*[None] * 6, "Holiday", None, "Business"],
    [],
    [None, None, "NSA", None, "SA", None, "NSA", None, "NSA"],
    [2012, "Jan", 2245, None, 2660, None, 708, None, 517],
    [None, "Feb", 1736, None, 2470, None, 538, None, 548],
    [2013, "Jan", 2200, None, 2630, None, 700, None, 510],
    [None, "Feb", 1951, None, 2720, None, 690, None, 505],
    [],
    ["Year to date", None, 4151, None, 5350, None, 1390, None, 1015],
]
"""As statistical offices write: empty columns between the figures, and header lines above an empty row."""
STATEMENT = [
    ["Ferries plc"],
    ["Statement of operations (unaudited)"],
    ["In millions"],
    [],
    [None, None, "July 1, 2023", None, None, "June 25, 2022"],
    [],
    ["Net sales:"],
    ["Tickets", "$", 60584, None, "$", 63355],
    ["Freight", None, 21213, None, None, 19604],
]
"""As firms report: a caption of several lines, signs of a currency in columns of their own, labels above labels."""


def test_empty_columns_within_a_table_and_a_header_above_an_empty_row_part_nothing(read: Read) -> None:
    table = _table(read("a.xlsx", workbooks.xlsx(("Table 2", VISITS))))
    assert table.title == "Purpose of visits to the UK - thousands"
    names = ("All visits NSA", "", "All visits SA", "", "Purpose Holiday NSA", "", "Purpose Business NSA")
    assert table.header == ("", "", *names)
    assert (table.first_row, table.header_rows, table.rows[0][:3]) == (2, 4, ("2012", "Jan", "2245"))
    assert table.rows[-1] == ("Year to date", "", "4151", "", "5350", "", "1390", "", "1015")


def test_the_lines_above_a_statement_are_its_caption(read: Read) -> None:
    table = _table(read("a.xlsx", workbooks.xlsx(("S", STATEMENT))))
    assert table.title == "Ferries plc - Statement of operations (unaudited) - In millions"
    assert [one for one in table.header if one] == ["July 1, 2023", "June 25, 2022"]


def test_a_table_of_words_beside_another_stays_apart(read: Read) -> None:
    ports = [["Port", None, "Code", "Ship"], ["Kiel", None, 7, "Ann"], ["Rome", None, 8, "Bob"]]
    assert len(read("a.xlsx", workbooks.xlsx(("S", ports))).tables) == 2


@each(("rows", "passage", "label"), [(VISITS, "| Feb | 1736", "2012"), (STATEMENT, "Freight |", "Net sales:")])
def test_a_passage_names_the_group_of_rows_that_it_begins_in(
    read: Read, rows: list[list[object]], passage: str, label: str
) -> None:
    reading = read("a.xlsx", workbooks.xlsx(("S", rows)))
    chunks = cut("ds-1", "a.xlsx", reading, lambda texts: [len(one) // 2 for one in texts], longest=90)
    found = next(one for one in chunks if passage in one.text)
    assert found.text.splitlines()[1].strip().startswith(passage), found.text  # it begins there
    assert found.heading[-1] == label


def test_an_ods_with_each_element_in_a_line_of_its_own_is_read(read: Read) -> None:
    spread = {"content.xml": workbooks.replaced(b"><", b">\n <")}
    content = workbooks.patched(workbooks.ods("Costs", [["City", "Cost"], ["Berlin", 40.0]]), spread)
    assert _table(read("a.ods", content)).rows == (("Berlin", "40"),)


def test_values_are_shown_as_the_sheet_shows_them(read: Read) -> None:
    content = workbooks.xlsx(then=workbooks.odd_values)
    noise = workbooks.replaced(b"<v>1.5</v>", b"<v>0.30000000000000004</v>")
    [row] = _table(read("a.xlsx", workbooks.patched(content, {"xl/worksheets/sheet1.xml": noise}))).rows
    assert row == ("2026-05-01", "2026-05-01 13:05:00", "30:00:00", "25.6%", "TRUE", "0.3")


def test_a_percent_sign_that_a_format_only_writes_behind_a_number_changes_nothing(read: Read) -> None:
    def share(book: Workbook) -> None:
        sheet = book.create_sheet("Shares")
        for row in (["City", "Share"], ["Berlin", 12.5], ["Rome", 0.5]):
            sheet.append(row)
        sheet["B2"].number_format, sheet["B3"].number_format = '0.0"%"', "0.0%;[Red]-0.0%"

    reading = read("a.xlsx", workbooks.xlsx(then=share))
    assert [_cell(reading, "Shares", one) for one in ("B2", "B3")] == ["12.5", "50%"]


def test_percentages_of_an_ods_are_shown_as_such_also_where_cells_and_rows_are_repeated(read: Read) -> None:
    content = workbooks.ods("Shares", [["City", "Old", "New", "Sum"], ["Berlin", 0.256, 4.0], ["Rome", 0.5, 3.0]])
    shares = {
        b'office:value-type="float" office:value="0.256"': b'table:number-columns-repeated="2" '
        b'office:value-type="percentage" office:value="0.256"',
        b'<table:table-row><table:table-cell office:value-type="string"><text:p>Rome': b"<table:table-row "
        b'table:number-rows-repeated="2"><table:table-cell office:value-type="string"><text:p>Rome',
        b'office:value-type="float" office:value="0.5"': b'office:value-type="percentage" office:value="0.5"',
    }

    def marked(xml: bytes) -> bytes:
        for before, after in shares.items():
            assert before in xml
            xml = xml.replace(before, after)
        return xml

    rows = _table(read("a.ods", workbooks.patched(content, {"content.xml": marked}))).rows
    assert rows == (("Berlin", "25.6%", "25.6%", "4"), ("Rome", "50%", "3", ""), ("Rome", "50%", "3", ""))


def test_the_cells_of_all_sheets_together_are_limited(tmp_path: Path) -> None:
    content = workbooks.xlsx(("Costs", CITIES), ("Ports", CITIES), ("Ships", CITIES))
    with reader_in(tmp_path, {"cells": 2 * sum(map(len, CITIES))}) as read:
        reading = read("a.xlsx", content)
    assert [one.sheet for one in reading.tables] == ["Costs", "Ports"]
    [remark] = reading.remarks
    assert "'Ships' were read: the workbook is too large" in remark


def test_a_formula_has_its_value_and_one_that_was_never_calculated_is_told(read: Read) -> None:
    cells = '<c r="A9"><f>1+1</f><v>2</v></c><c r="B9" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="C9"><f>A1</f><v></v></c>'
    content = workbooks.xlsx(("Costs", [*CITIES, [], [], [], [], [], [], []]))
    reading = read("a.xlsx", workbooks.patched(content, {"xl/worksheets/sheet1.xml": workbooks.in_cells(cells)}))
    assert (_cell(reading, "Costs", "A9"), _cell(reading, "Costs", "B9")) == ("2", "#DIV/0!")
    assert [one for one in reading.remarks if "formula" in one and one.startswith("1 ")]


def test_years_can_be_a_header(read: Read) -> None:
    rows = [["Item", 2024, 2025], ["Rent", 900, 950], ["Power", 80, 95]]
    assert _table(read("a.xlsx", workbooks.xlsx(("S", rows)))).header == ("Item", "2024", "2025")


def test_numbers_alone_have_no_header(read: Read) -> None:
    table = _table(read("a.csv", b"1,2\n3,4\n5,6\n"))
    assert (table.header, len(table.rows), table.below_header) == ((), 3, 0)


def test_an_empty_row_does_not_end_a_table(read: Read) -> None:
    rows = [["City", "Cost"], ["Berlin", 40], [], ["Total", 40]]
    reading = read("a.xlsx", workbooks.xlsx(("S", rows)))
    assert _table(reading).rows[-1] == ("Total", "40")
    assert _cell(reading, "S", "A4") == "Total"


def test_charts_are_figures_and_hidden_and_empty_sheets_are_named(read: Read) -> None:
    book = workbooks.xlsx(("Costs", CITIES), ("Nothing", []), then=workbooks.with_chart)
    reading = read("a.xlsx", book)
    assert reading.sheets == ("Costs", "Nothing", "Secret")
    assert reading.figures == 1
    assert [one for one in reading.remarks if "Secret" in one]
    assert _cell(reading, "Secret", "A2") == "heron"


@each(
    ("encoding", "word"),
    [
        ("cp1252", "Café"),
        ("gb18030", "上海销售部门收入"),
        ("shift_jis", "東京のおいしい会社"),
        ("cp932", "東京の髙橋さんの会社"),
        ("euc_kr", "서울의 회사"),
    ],
)
def test_a_table_in_an_old_encoding_is_read(read: Read, encoding: str, word: str) -> None:
    reading = read("a.csv", f"Name,Cost\n{word},40\n".encode(encoding))
    assert _table(reading).rows[0][0] == word
    assert reading.remarks


def test_a_foreign_letter_at_the_end_of_a_short_file_is_read(read: Read) -> None:
    assert _table(read("a.csv", "a,b\n1,2\n4,é\n".encode("cp1252"))).rows[-1] == ("4", "é")


def test_a_quoted_line_end_stays_in_its_cell(read: Read) -> None:
    reading = read("a.csv", b'Name,Note\nAnn,"first\nsecond"\nBob,none\n')
    assert _cell(reading, "", "B2") == "first\nsecond"
    assert _cell(reading, "", "A3") == "Bob"


def test_a_table_of_one_column_is_read(read: Read) -> None:
    assert _table(read("a.csv", b"Name\nSmith, John\nDoe, Jane and others\nRoe\n")).rows[1] == ("Smith, John",)


def test_json_that_is_no_table_is_text_by_paths(read: Read) -> None:
    reading = read("a.json", b'{"shop": {"name": "Nord", "open": true}, "orders": [{"id": 7, "to": {"city": "Kiel"}}]}')
    [text] = [one for one in reading.sections if isinstance(one, TextSection)]
    assert text.text == "shop.name: Nord\nshop.open: true"
    table = _table(reading)
    assert (table.sheet, table.header, table.rows) == ("orders", ("id", "to.city"), (("7", "Kiel"),))


def test_each_passage_of_a_table_has_its_header_and_its_cells(read: Read) -> None:
    rows = [["Name", "Place", "Sum"], *([f"person {n}", f"town {n}", n] for n in range(300))]
    chunks = cut(
        "ds-1", "a.xlsx", read("a.xlsx", workbooks.xlsx(("S", rows))), lambda texts: [len(t) // 3 for t in texts]
    )
    assert all(one.text.startswith("Name | Place | Sum\n") for one in chunks)
    [found] = [one for one in chunks if "person 217 |" in one.text]
    cells = locator_of(found.path.rpartition("#")[2]).cells
    assert cells is not None
    first, last = (int(one.lstrip("ABC")) for one in cells.split(":"))
    assert first <= 219 <= last
    assert last - first + 1 == len(found.text.splitlines()) - 1


def test_a_wide_row_is_cut_by_columns_and_a_long_cell_is_found_whole(read: Read) -> None:
    wide = [[f"column {n}" for n in range(200)], [f"value {n}" for n in range(200)], list(range(200))]
    story = " ".join(f"word{n}" for n in range(900))
    content = workbooks.xlsx(("Wide", wide), ("Long", [["Name", "Story"], ["Ann", story], ["Bob", "short"]]))
    chunks = cut("ds-1", "a.xlsx", read("a.xlsx", content), lambda texts: [len(t) // 4 + 1 for t in texts])
    [found] = [one for one in chunks if "value 137 " in one.text]
    assert "column 137" in found.text
    assert len(found.text) < 2000
    assert [one.path for one in chunks if "word850" in one.text] == ["a.xlsx#sheet=Long&cells=B2"]


def test_a_workbook_without_cells_is_empty(read: Read) -> None:
    with pytest.raises(Refused, match="no cell of Sheet1 has a value") as caught:
        read("a.xlsx", workbooks.xlsx(("Sheet1", [])))
    assert caught.value.code == "FILE_EMPTY"


def test_a_reading_of_before_has_no_sheet_for_a_table_of_text_and_its_citations_stay_true() -> None:
    rows = [{"kind": "table", "sheet": "Sheet1", "header": ["City", "Cost"], "rows": [["Berlin", "40"]]}]
    before = gzip.compress(json.dumps({"format": "csv", "sections": rows}).encode())
    [there], elsewhere = places_of(before, "ds-1", "40", locator_of("sheet=Sheet1&cells=A1:B2"))
    assert (there.where.label, elsewhere) == ("B2", [])
    assert places_of(before, "ds-1", "40", locator_of("cells=A2:B2"))[0] == [there]
    assert not places_of(before, "ds-1", "40", locator_of("cells=A2"))[0]


def test_a_workbook_whose_parts_lie_at_the_root_of_its_package_is_read(read: Read) -> None:
    """Excel and other programs find its parts through the package's relations."""

    def with_percent(book: Workbook) -> None:
        book["Shares"]["B2"].number_format = "0.0%"

    moved = io.BytesIO()
    usual = io.BytesIO(workbooks.xlsx(("Shares", [["City", "Share"], ["Berlin", 0.077]]), then=with_percent))
    with zipfile.ZipFile(usual) as packed, zipfile.ZipFile(moved, "w") as copy:
        for name in packed.namelist():
            content = packed.read(name).replace(b'"/xl/', b'"/').replace(b'"xl/', b'"')
            copy.writestr(name.removeprefix("xl/"), content)
    table = _table(read("a.xlsx", moved.getvalue()))
    assert (table.sheet, table.header, table.rows) == ("Shares", ("City", "Share"), (("Berlin", "7.7%"),))
