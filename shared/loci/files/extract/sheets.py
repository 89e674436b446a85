"""Reads workbooks and tables of text."""

import csv
import datetime
import io
from typing import Any

from loci.files.extract.unreadable import Limits, Unreadable

Cells = list[list[str]]


def read_workbook(path: str, limits: Limits) -> dict[str, Any]:
    """The sheets of a workbook."""
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(path)  # pyright: ignore[reportUnknownMemberType]
    except python_calamine.PasswordError as error:
        raise Unreadable("The workbook has a password", "Save it without one", "FILE_ENCRYPTED") from error
    sections: list[dict[str, Any]] = []
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        rows = sheet.to_python(skip_empty_area=False, nrows=limits.rows)
        sections += _tables([[_shown(cell) for cell in row] for row in rows], name)
    return {"sheets": book.sheet_names, "sections": sections}


def read_csv(path: str, limits: Limits) -> dict[str, Any]:
    """The rows of a table of text."""
    with open(path, "rb") as opened:  # noqa: PTH123
        text = opened.read().decode("utf-8-sig", "replace")
    try:
        dialect: Any = csv.Sniffer().sniff(text[:8192], ",;\t|")
    except csv.Error:
        dialect = csv.excel
    rows: Cells = [list(row) for row, _ in zip(csv.reader(io.StringIO(text, newline=""), dialect), range(limits.rows))]  # noqa: B905
    return {"sections": _tables(rows, "Sheet1")}


def _tables(rows: Cells, sheet: str) -> list[dict[str, Any]]:
    """The used part of the sheet as one table."""
    used = [number for number, row in enumerate(rows) if any(row)]
    if not used:
        return []
    first = min(next(at for at, cell in enumerate(rows[number]) if cell) for number in used)
    body = [row[first:] for row in rows[used[0] : used[-1] + 1]]
    return [
        {
            "kind": "table",
            "sheet": sheet,
            "first_row": used[0],
            "first_column": first,
            "header": body[0],
            "rows": body[1:],
        }
    ]


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)
