"""Looks into a packed workbook before its parser does: how large it really is, and what the parser does not tell."""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from loci.files.extract.cell_texts import column_number, shows_percent
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile, too_large

PIECE = 1 << 20
LONGEST_ROW = 64 << 20
MOST_DENSE = 24_000_000
"""Cells of a sheet with the empty ones between: the parser takes 32 bytes for each."""
FAR = 702
"""The first column with three letters. Of a sheet that is too wide, no columns from here on are read."""
ATTRIBUTE = re.compile(r"""(?<![\w:])([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
ROW = re.compile(rb"<(?:\w+:)?row[\s>/]")
ROW_NUMBER = re.compile(rb'<(?:\w+:)?row\s[^>]*?\br="(\d{1,9})"')
COLUMN = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})\d')
FAR_CELL = re.compile(rb'<c\s[^>]*?\br="[A-Z]{3}\d+"[^>]*?(?:/>|>.*?</c>)', re.DOTALL)
ERROR = re.compile(
    rb'<c\s[^>]*?\br="([A-Z]{1,3}\d{1,7})"[^>]*?\bt="e"[^>]*>(?:(?!</c>).)*?<v>([^<]{1,20})</v>', re.DOTALL
)
STYLED = re.compile(rb'<c\s[^>]*?\br="([A-Z]{1,3}\d{1,7})"\s[^>]*?\bs="(\d+)"')
NOT_CALCULATED = re.compile(rb"(?:</f>|<f/>|<f\s[^>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")
SHEET_END = re.compile(rb"<(\w+:)?sheetData[\s>]")
FIGURE = re.compile(r"(?:xl/)?media/.+|(?:xl/)?charts/chart[^/]*\.xml|Pictures/.+|Object \d+/content\.xml")
PERCENT_FORMATS = frozenset({9, 10})


@dataclass
class SheetPart:
    """The part of a package that holds one sheet."""

    name: str
    part: str
    columns: int = 0
    last_row: int = 0
    """The number of the sheet, counted from 1."""
    cells: int = 0
    keep_rows: int | None = None
    """The rows with higher numbers are not read, since the sheet is too large."""
    without_far: bool = False
    percents: set[str] = field(default_factory=set[str])
    errors: dict[str, str] = field(default_factory=dict[str, str])
    not_calculated: int = 0


@dataclass
class WorkbookParts:
    """The parts of a packed workbook."""

    figures: int
    sheets: dict[str, SheetPart]
    """The parts by the name of the sheet. Empty if the workbook is no xlsx."""

    @property
    def is_too_large(self) -> bool:
        """True if the workbook is so large that a smaller copy of it is read."""
        return any(one.keep_rows is not None or one.without_far for one in self.sheets.values())


def examine(path: str, limits: ReadingLimits) -> WorkbookParts:
    """Look into the workbook. Raises `UnreadableFile` if it cannot be read within the limits."""
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        sheets = _sheet_parts(packed)
        parts = {one.part for one in sheets.values()}
        room = limits.unpacked_bytes
        for info in packed.infolist():
            if info.filename.lower().endswith((".xml", ".bin", ".rels")):
                room -= _size(packed, info.filename, room, is_sheet=info.filename in parts)
        percents = _percent_styles(packed) if sheets else frozenset[bytes]()
        rows, cells = limits.rows, limits.cells
        for sheet in sheets.values():
            room -= _look(packed, sheet, percents, (rows, cells, room))
            rows -= min(rows, sheet.keep_rows or sheet.last_row)
            cells -= min(cells, sheet.cells)
    return WorkbookParts(len({one for one in names if FIGURE.fullmatch(one)}), sheets)


def _size(packed: zipfile.ZipFile, part: str, room: int, *, is_sheet: bool) -> int:
    """The bytes of the part; 0 for a sheet, which is counted later. `UnreadableFile` if it has entities."""
    size = 0
    for piece in _pieces(packed, part, PIECE if is_sheet else room):
        if b"<!DOCTYPE" in piece:
            what = f"The file is refused: {part} defines entities, as no Office program does"
            raise UnreadableFile(what, "Save it again in its own program", "FILE_DAMAGED")
        size += len(piece)
        if is_sheet:
            return 0
    return size


def smaller_copy(path: str, package: WorkbookParts, target: str) -> None:
    """Write the workbook again, with only the rows and columns that are read."""
    parts = {one.part: one for one in package.sheets.values()}
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for info in packed.infolist():
            sheet = parts.get(info.filename)
            if sheet is None and not info.filename.endswith((".xml", ".rels")):
                continue
            with copy.open(info.filename, "w", force_zip64=True) as opened:
                if sheet is None:
                    opened.writelines(_pieces(packed, info.filename, info.file_size))
                else:
                    opened.writelines(_cut(packed, sheet))


def attributes(element: str) -> dict[str, str]:
    """The attributes of an XML element, by their names without prefix."""
    found = ATTRIBUTE.findall(element)
    return {name.rpartition(":")[2]: html.unescape(double or single) for name, double, single in found}


def workbook_part(packed: zipfile.ZipFile) -> str | None:
    """The part of an xlsx that lists its sheets: nearly always xl/workbook.xml, but the package may say otherwise."""
    names = set(packed.namelist())
    said = _relations(packed, "_rels/.rels") if "_rels/.rels" in names else []
    targets = [one["Target"].lstrip("/") for one in said if one.get("Type", "").endswith("/officeDocument")]
    known = (one for one in ("xl/workbook.xml", *targets) if one.endswith("workbook.xml") and one in names)
    return next(known, None)


def _relations(packed: zipfile.ZipFile, part: str) -> list[dict[str, str]]:
    found = map(attributes, re.findall(r"<(?:\w+:)?Relationship\s[^>]*>", _text(packed, part)))
    return [one for one in found if {"Id", "Target"} <= one.keys()]


def _sheet_parts(packed: zipfile.ZipFile) -> dict[str, SheetPart]:
    names = set(packed.namelist())
    workbook = workbook_part(packed)
    folder, name = posixpath.split(workbook or "")
    rels = posixpath.join(folder, "_rels", f"{name}.rels")
    if workbook is None or rels not in names:
        return {}
    relations = {one["Id"]: one["Target"] for one in _relations(packed, rels)}
    found: dict[str, SheetPart] = {}
    for element in re.findall(r"<(?:\w+:)?sheet\s[^>]*>", _text(packed, workbook)):
        one = attributes(element)
        target = relations.get(one.get("id", ""), "")
        part = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
        if part in names and "name" in one:
            found[one["name"]] = SheetPart(one["name"], part)
    return found


def _look(packed: zipfile.ZipFile, sheet: SheetPart, percents: frozenset[bytes], left: tuple[int, int, int]) -> int:
    """Find out how large the sheet is, and what its parser leaves out. Returns how many bytes were looked at."""
    rows, cells, room = left
    seen = 0
    columns: set[bytes] = set()
    for piece in _whole_rows(packed, sheet.part):
        seen += len(piece)
        found = COLUMN.findall(piece)
        numbers = ROW_NUMBER.findall(piece)
        last = int(numbers[-1]) if numbers else sheet.last_row + len(ROW.findall(piece))
        if last > rows or sheet.cells + len(found) > cells or seen > room:
            sheet.keep_rows = min(rows, last - 1 if last <= rows else rows)
            if sheet.cells + len(found) > cells or seen > room:
                sheet.keep_rows = min(rows, sheet.last_row)
            if not sheet.last_row and seen > room:
                raise too_large(f"The sheet {sheet.name!r} unpacks to more than may be read")
        columns.update(found)
        sheet.cells += len(found)
        _note(sheet, piece, percents)
        if sheet.keep_rows is not None:
            sheet.last_row = max(sheet.last_row, last)
            break
        sheet.last_row = last
    sheet.columns = max((column_number(one.decode()) for one in columns), default=0)
    kept = sheet.keep_rows or sheet.last_row
    if kept * sheet.columns > MOST_DENSE:
        sheet.without_far = sheet.columns > FAR
        sheet.columns = min(sheet.columns, FAR)
        if kept * sheet.columns > MOST_DENSE:
            sheet.keep_rows = MOST_DENSE // sheet.columns
    return seen


def _note(sheet: SheetPart, piece: bytes, percents: frozenset[bytes]) -> None:
    if b't="e"' in piece:
        sheet.errors.update((place.decode(), text.decode("utf-8", "replace")) for place, text in ERROR.findall(piece))
    if percents:
        sheet.percents.update(place.decode() for place, style in STYLED.findall(piece) if style in percents)
    if b"<f" in piece:
        sheet.not_calculated += len(NOT_CALCULATED.findall(piece))


def _percent_styles(packed: zipfile.ZipFile) -> frozenset[bytes]:
    """The styles that show a number as a percentage, as cells name them."""
    styles = posixpath.join(posixpath.dirname(workbook_part(packed) or ""), "styles.xml")
    if styles not in packed.namelist():
        return frozenset()
    text = _text(packed, styles)
    formats = {
        int(one.get("numFmtId", "0"))
        for element in re.findall(r"<(?:\w+:)?numFmt\s[^>]*>", text)
        if shows_percent((one := attributes(element)).get("formatCode", "")) and one.get("numFmtId", "0").isdecimal()
    }
    used = re.search(r"<(?:\w+:)?cellXfs[\s>].*?</(?:\w+:)?cellXfs>", text, re.DOTALL)
    kinds = re.findall(r"<(?:\w+:)?xf\s[^>]*>", used.group()) if used else []
    numbers = [attributes(one).get("numFmtId", "0") for one in kinds]
    wanted = {str(one) for one in formats | PERCENT_FORMATS}
    return frozenset(str(at).encode() for at, one in enumerate(numbers) if one in wanted)


def _cut(packed: zipfile.ZipFile, sheet: SheetPart) -> Iterator[bytes]:
    prefix = b""
    for piece in _whole_rows(packed, sheet.part):
        begin = SHEET_END.search(piece)
        prefix = begin.group(1) or b"" if begin else prefix
        kept = FAR_CELL.sub(b"", piece) if sheet.without_far else piece
        for row in ROW.finditer(kept) if sheet.keep_rows is not None else ():
            number = ROW_NUMBER.match(kept, row.start())
            if number and int(number.group(1)) > (sheet.keep_rows or 0):
                yield kept[: row.start()]
                yield b"</%bsheetData></%bworksheet>" % (prefix, prefix)
                return
        yield kept


def _whole_rows(packed: zipfile.ZipFile, part: str) -> Iterator[bytes]:
    """The bytes of a sheet, in pieces that end between two rows."""
    held = b""
    with packed.open(part) as opened:
        while piece := opened.read(PIECE):
            held += piece
            if len(held) > LONGEST_ROW:
                raise too_large("A row of the workbook is too long to be read")
            end = held.rfind(b"</row>")
            end = end + 6 if end >= 0 else held.rfind(b":row>") + 5
            if end > 5:
                yield held[:end]
                held = held[end:]
    yield held


def _pieces(packed: zipfile.ZipFile, part: str, room: int) -> Iterator[bytes]:
    with packed.open(part) as opened:
        while piece := opened.read(PIECE):
            room -= len(piece)
            if room < 0:
                raise too_large("The workbook unpacks to more than may be read")
            yield piece


def _text(packed: zipfile.ZipFile, part: str) -> str:
    return b"".join(_pieces(packed, part, LONGEST_ROW)).decode("utf-8", "replace")
