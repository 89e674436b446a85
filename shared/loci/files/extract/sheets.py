"""Reads workbooks: xlsx, xls and ods."""

import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from lxml import etree

from loci.files.extract import office_package
from loci.files.extract.cell_texts import cell_text, kind, percent_text, place_of, position
from loci.files.extract.office_package import OfficePackage
from loci.files.extract.packed_workbook import SheetPart, WorkbookParts, examine, smaller_copy
from loci.files.extract.tables import Grid, tables
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

CONTENT = "content.xml"
PERCENTAGE = b"percentage"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
CELLS = (f"{TABLE}table-cell", f"{TABLE}covered-table-cell")
MOST_REPEATED = 100_000
"""Cells. A column of a million shares has no more values than its parser reads."""
LONGEST_NAME = 500
NO_PASSWORD = UnreadableFile("The workbook has a password", "Save it without one, and add it again", "FILE_ENCRYPTED")


def read_workbook(path: str, limits: ReadingLimits) -> dict[str, Any]:
    """The sheets of a workbook, with their tables."""
    package = examine(path, limits) if zipfile.is_zipfile(path) else WorkbookParts(0, {})
    smaller = None
    if package.is_too_large:
        descriptor, smaller = tempfile.mkstemp(suffix=".xlsx")
        os.close(descriptor)
        smaller_copy(path, package, smaller)
    try:
        return _read(smaller or path, package, limits)
    finally:
        if smaller:
            Path(smaller).unlink()


def _opened(path: str, limits: ReadingLimits) -> Any:
    """The workbook. Of a file that it cannot open, the parser says why only if the name has the right ending."""
    import python_calamine as calamine

    try:
        try:
            return calamine.CalamineWorkbook.from_path(path)  # pyright: ignore[reportUnknownMemberType]
        except calamine.CalamineError:
            is_packed = zipfile.is_zipfile(path)
            if is_packed and not office_package.OfficePackage(path, limits).has(CONTENT):
                raise
            with tempfile.NamedTemporaryFile(suffix=".ods" if is_packed else ".xls") as named:
                if is_packed:
                    _write_dense(office_package.OfficePackage(path, limits), named)
                else:
                    with open(path, "rb") as opened:  # noqa: PTH123
                        shutil.copyfileobj(opened, named)
                    named.flush()
                return calamine.CalamineWorkbook.from_path(named.name)  # pyright: ignore[reportUnknownMemberType]
    except calamine.PasswordError as error:
        raise NO_PASSWORD from error
    except calamine.CalamineError as error:
        advice = "Open it in its own program and save it again"
        raise UnreadableFile("The workbook is damaged: its parts do not fit", advice, "FILE_DAMAGED") from error


def _write_dense(package: office_package.OfficePackage, target: IO[bytes]) -> None:
    """Write an ods without space between its elements, which some programs write and this parser does not expect."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name in ("mimetype", "META-INF/manifest.xml"):
            packed.writestr(name, package.read(name))
        packed.writestr(CONTENT, office_package.dense(package.xml(CONTENT)))


def _read(path: str, package: WorkbookParts, limits: ReadingLimits) -> dict[str, Any]:
    import python_calamine as calamine

    book = _opened(path, limits)
    is_ods = not package.sheets and zipfile.is_zipfile(path)
    percents = percents_of_ods(office_package.OfficePackage(path, limits)) if is_ods else {}
    sections: list[dict[str, Any]] = []
    remarks: list[str] = []
    names: list[str] = []
    rows_left = limits.rows
    for at, sheet in enumerate(book.sheets_metadata[: limits.sheets]):
        names.append(sheet.name[:LONGEST_NAME])
        if sheet.typ != calamine.SheetTypeEnum.WorkSheet:
            continue
        if sheet.visible != calamine.SheetVisibleEnum.Visible:
            remarks.append(f"Sheet {sheet.name!r} is hidden")
        part = package.sheets.get(sheet.name, SheetPart(sheet.name, "", percents=percents.get(sheet.name, set())))
        read = book.get_sheet_by_index(at)
        grid = _grid(read, part, rows_left)
        sections += tables(grid)
        remarks += _remarks(part, grid, read.total_height, rows_left)
        rows_left -= min(rows_left, len(grid.cells))
    if len(book.sheets_metadata) > limits.sheets:
        remarks.append(f"Only the first {limits.sheets} of {len(book.sheets_metadata)} sheets were read")
    if not sections and not package.figures:
        raise UnreadableFile(
            f"The workbook is empty: no cell of {', '.join(names[:5]) or 'any sheet'} has a value",
            "Add it again with something in it",
            "FILE_EMPTY",
        )
    remarks = [one[:LONGEST_NAME] for one in remarks[:50]]
    return {"sheets": names, "sections": sections, "figures": package.figures, "remarks": remarks}


def _grid(sheet: Any, part: SheetPart, rows_left: int) -> Grid:
    """The used cells of a sheet."""
    row, column = sheet.start or (0, 0)
    raw: list[list[Any]] = sheet.to_python(skip_empty_area=True, nrows=max(0, rows_left - row))
    cells = [[*map(cell_text, one)] for one in raw]
    for place in part.percents:
        at, across = position(place, row, column)
        if 0 <= at < len(raw) and 0 <= across < len(raw[at]) and raw[at][across].__class__ in (int, float):
            cells[at][across] = percent_text(raw[at][across])
    for place, text in part.errors.items():
        at, across = position(place, row, column)
        if 0 <= at < len(cells) and 0 <= across < len(cells[at]):
            cells[at][across] = text

    def cell_kind(at: int, across: int) -> str:
        if across >= len(raw[at]) or not cells[at][across]:
            return "e"
        found = kind(raw[at][across])
        return "n" if found == "e" else found  # an error, which the parser shows as an empty cell

    return Grid(sheet.name[:LONGEST_NAME], cells, cell_kind, row, column, sheet.merged_cell_ranges or ())


def _remarks(part: SheetPart, grid: Grid, height: int, rows_left: int) -> list[str]:
    found: list[str] = []
    read = grid.row + len(grid.cells)
    if part.keep_rows is not None or height > rows_left:
        found.append(f"Only rows 1 to {read:,} of sheet {grid.name!r} were read: the workbook is too large")
    if part.without_far:
        found.append(f"Of sheet {grid.name!r} only columns A to ZZ were read")
    if part.not_calculated:
        found.append(
            f"{part.not_calculated} formulas of sheet {grid.name!r} have no stored value: "
            "open the workbook in its program and save it"
        )
    return found


def percents_of_ods(package: OfficePackage) -> dict[str, set[str]]:
    """The names of the cells of an ods that show percentages, by sheet: its parser does not tell them apart.

    A damaged file has none: the parser says what it cannot read.
    """
    try:
        content = package.read(CONTENT) if package.has(CONTENT) else b""
    except UnreadableFile:  # it is too large for a tree, and its parser needs none
        return {}
    if PERCENTAGE not in content or b"<!DOCTYPE" in content:
        return {}
    found: dict[str, set[str]] = {}
    row, sheet = 0, ""
    events = etree.iterparse(
        io.BytesIO(content),
        events=("start", "end"),
        tag=(f"{TABLE}table", f"{TABLE}table-row"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        for event, element in events:
            if element.tag == f"{TABLE}table":
                row, sheet = (0, element.get(f"{TABLE}name") or "") if event == "start" else (0, "")
            elif event == "end":
                rows = _count(element, "rows")
                places = found.setdefault(sheet, set())
                for column in _percents(element):
                    room = max(0, MOST_REPEATED - len(places))
                    places.update(place_of(row + at, column) for at in range(min(rows, room)))
                row += rows
                element.clear()
    except etree.XMLSyntaxError:
        return {}
    return found


def _percents(row: Any) -> Iterator[int]:
    column = 0
    for cell in row.iterchildren(*CELLS):
        count = _count(cell, "columns")
        if cell.get(f"{OFFICE}value-type") == "percentage":
            yield from range(column, column + min(count, MOST_REPEATED))
        column += count


def _count(element: Any, what: str) -> int:
    """The number of times that a row or a cell is repeated."""
    given = element.get(f"{TABLE}number-{what}-repeated") or "1"
    return max(1, int(given)) if given.isdecimal() else 1
