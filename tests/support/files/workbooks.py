"""Workbooks and tables of text whose cells are known."""

import datetime
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping

import xlwt  # pyright: ignore[reportMissingTypeStubs]
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.worksheet.worksheet import Worksheet

Rows = Iterable[Iterable[object]]


def xlsx(*sheets: tuple[str, Rows], then: Callable[[Workbook], None] | None = None) -> bytes:
    """A workbook with these sheets, after `then` has changed it."""
    book = Workbook()
    assert book.active is not None
    book.remove(book.active)
    for name, rows in sheets:
        sheet: Worksheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    if then is not None:
        then(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def patched(content: bytes, changes: Mapping[str, Callable[[bytes], bytes]]) -> bytes:
    """The package with other bytes in some of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as packed, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in packed.namelist():
            change = changes.get(name)
            copy.writestr(name, change(packed.read(name)) if change else packed.read(name))
    return out.getvalue()


def replaced(before: bytes, after: bytes) -> Callable[[bytes], bytes]:
    """Puts other bytes into a part."""
    return lambda content: content.replace(before, after)


def in_cells(cells: str) -> Callable[[bytes], bytes]:
    """Puts these cells, as XML, into row 9 of a sheet."""
    row = f'<row r="9">{cells}</row></sheetData>'.encode()
    return lambda content: content.replace(b"</sheetData>", row)


def xls(name: str, rows: Rows) -> bytes:
    """A workbook in the format of 1997."""
    book = xlwt.Workbook()
    sheet = book.add_sheet(name)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for at, row in enumerate(rows):
        for across, value in enumerate(row):
            sheet.write(at, across, value)  # pyright: ignore[reportUnknownMemberType]
    out = io.BytesIO()
    book.save(out)  # pyright: ignore[reportUnknownMemberType]
    return out.getvalue()


def ods(name: str, rows: Iterable[Iterable[str | float]]) -> bytes:
    """A workbook in the OpenDocument format."""

    def cell(value: str | float) -> str:
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    body = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    spaces = " ".join(
        f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="{name}">{body}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        packed.writestr("content.xml", content)
        packed.writestr("META-INF/manifest.xml", MANIFEST)
    return out.getvalue()


MANIFEST = (
    '<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
)


def two_tables(book: Workbook) -> None:
    """A title, a table, and below and beside it two more."""
    sheet = book.create_sheet("Plan")
    sheet["A1"] = "Costs of the year"
    for at, row in enumerate([("City", "Cost"), ("Berlin", 40), ("Rome", 55)]):
        for across, value in enumerate(row):
            sheet.cell(row=3 + at, column=1 + across, value=value)
    for at, row in enumerate([("Name", "Age"), ("Ann", 31), ("Bob", 45)]):
        for across, value in enumerate(row):
            sheet.cell(row=3 + at, column=4 + across, value=value)
    for at, row in enumerate([("Port", "Ships"), ("Kiel", 7)]):
        for across, value in enumerate(row):
            sheet.cell(row=9 + at, column=2 + across, value=value)


def merged_header(book: Workbook) -> None:
    """Two header lines: years over quarters, with merged cells."""
    sheet = book.create_sheet("Quarters")
    for row in [("Region", "2025", None, "2026", None), (None, "Q1", "Q2", "Q1", "Q2"), ("North", 1, 2, 3, 4)]:
        sheet.append(row)
    for cells in ("A1:A2", "B1:C1", "D1:E1"):
        sheet.merge_cells(cells)


def odd_values(book: Workbook) -> None:
    """A date, a moment, a duration, a percentage, a truth, and a number with binary noise."""
    sheet = book.create_sheet("Odd")
    sheet.append(["Day", "Moment", "Span", "Share", "Paid", "Sum"])
    moment = datetime.datetime(2026, 5, 1, 13, 5)
    sheet.append([moment.date(), moment, datetime.timedelta(hours=30), 0.256, True, 1.5])
    sheet["D2"].number_format = "0.0%"


def with_chart(book: Workbook) -> None:
    """A chart, a sheet that is only a chart, and a hidden sheet."""
    chart = BarChart()
    chart.add_data(Reference(book.worksheets[0], min_col=2, min_row=1, max_row=3))  # pyright: ignore[reportUnknownMemberType]
    book.worksheets[0].add_chart(chart, "D1")
    hidden = book.create_sheet("Secret")
    hidden.append(["Word", "Number"])
    hidden.append(["heron", 12])
    hidden.sheet_state = "hidden"
