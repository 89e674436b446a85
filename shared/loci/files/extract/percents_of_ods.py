"""Finds the cells of an ods that show a number as a percentage: their parser gives numbers without their formats."""

import io
from collections.abc import Iterator
from typing import Any

from lxml import etree

from loci.files.extract.office_package import Package
from loci.files.extract.places import place_of
from loci.files.extract.unreadable import Unreadable

CONTENT = "content.xml"
PERCENTAGE = b"percentage"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
CELLS = (f"{TABLE}table-cell", f"{TABLE}covered-table-cell")
MOST_REPEATED = 100_000
"""Cells. A column of a million shares has no more values than its parser reads."""


def percents_of_ods(package: Package) -> dict[str, set[str]]:
    """The names of those cells, by sheet. What is damaged has none: the parser says what it cannot read."""
    try:
        content = package.read(CONTENT) if package.has(CONTENT) else b""
    except Unreadable:  # it is too large for a tree, and its parser needs none
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
    """How often a row or a cell is repeated."""
    given = element.get(f"{TABLE}number-{what}-repeated") or "1"
    return max(1, int(given)) if given.isdecimal() else 1
