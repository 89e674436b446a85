"""Reads tables of text: CSV and TSV in any encoding, with any of the usual separators."""

import csv
import io
from collections import Counter
from itertools import islice
from typing import Any

from loci.files.extract.cell_texts import kind_of_text
from loci.files.extract.encodings import decoded
from loci.files.extract.tables import Grid, tables
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

NO_SHEET = ""
"""The name of the only sheet: a table of text has rows and columns, and no name for them."""
SEPARATORS = ",;\t|"
NONE = "\x1f"
"""Stands in no text, so it separates nothing."""
LOOKED_AT = 200
LEAST, LEAST_BELOW_ONE = 0.5, 0.8
"""The share of the rows that have the same number of cells; below a first row with one cell, such as a title."""
MOST_COLUMNS = 16_384
LARGEST_CELL = 16 << 20


def read_csv(path: str, limits: ReadingLimits) -> dict[str, Any]:
    """The table of text at this path."""
    with open(path, "rb") as opened:  # noqa: PTH123
        return rows_of(opened.read(limits.unpacked_bytes + 1), limits)


def rows_of(content: bytes, limits: ReadingLimits) -> dict[str, Any]:
    """The rows of a table of text, with the row numbers that a spreadsheet program shows."""
    remarks: list[str] = []
    if len(content) > limits.unpacked_bytes:
        content = content[: content.rfind(b"\n", 0, limits.unpacked_bytes) + 1]
        remarks.append(f"Only the first {limits.unpacked_bytes >> 20} MB were read")
    text, encoding = decoded(content)
    if encoding not in ("utf-8", "utf-16"):
        remarks.append(f"The file is not in UTF-8. It was read as {encoding}")
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator(text), skipinitialspace=True)
    rows: list[list[str]] = []
    cells, is_wide = 0, False
    try:
        for row in reader:
            cells += len(row)
            if len(rows) >= limits.rows or cells > limits.cells:
                remarks.append(f"Only the first {len(rows):,} rows were read: the file is too large")
                break
            rows.append([one if one and not one.isspace() else "" for one in row[:MOST_COLUMNS]])
            is_wide = is_wide or len(row) > MOST_COLUMNS
    except csv.Error as error:
        advice = "Look for a quotation mark that is never closed, and save it again"
        raise UnreadableFile(f"Row {len(rows) + 1} cannot be read: {error}", advice, "FILE_DAMAGED") from error
    if is_wide:
        remarks.append(f"Only the first {MOST_COLUMNS:,} columns were read, as many as a sheet can have")
    if not any(map(any, rows)):
        raise UnreadableFile(
            "The file is empty: no cell has a value", "Add it again with something in it", "FILE_EMPTY"
        )

    def kind(at: int, across: int) -> str:
        return kind_of_text(rows[at][across]) if across < len(rows[at]) else "e"

    return {"sections": tables(Grid(NO_SHEET, rows, kind, beside=False)), "remarks": remarks}


def separator(text: str) -> str:
    """The character between the cells: the one that cuts the first rows into the same number of cells."""
    best, score = NONE, 0.0
    for one in SEPARATORS:
        try:
            lines = csv.reader(io.StringIO(text[: 1 << 18], newline=""), delimiter=one, skipinitialspace=True)
            found = [len(row) for row in islice(lines, LOOKED_AT) if row]
        except csv.Error:
            continue
        widths = Counter(found)
        width, times = max(widths.items(), key=lambda pair: (pair[0] > 1, pair[1]), default=(1, 0))
        share = times / max(1, len(found))
        if width < 2 or share < (LEAST if found[0] > 1 else LEAST_BELOW_ONE):
            continue
        share += min(width, 20) / 1000  # of two that fit equally well, the one with more cells
        if share > score:
            best, score = one, share
    return best
