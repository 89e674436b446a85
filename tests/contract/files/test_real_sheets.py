"""Workbooks, tables of text, JSON and web pages that nobody here wrote: each gets a true status, and loses no cell.

How many cells of a sheet have a value was counted with another reader of each format, or in its XML.
"""

import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from loci.core.errors import Refused
from loci.files.reading import Reading
from tests.contract.files.conftest import Read
from tests.support.each import each
from tests.support.files.archives import unpacked

pytestmark = pytest.mark.models
HERE = Path(__file__).with_name("real")
STATUSES: dict[str, dict[str, str]] = json.loads((HERE / "sheets.json").read_text("utf-8"))
WORKBOOKS = ("xlsx", "xlsm", "xls", "ods")


@pytest.fixture(scope="module")
def folder() -> Path:
    return unpacked(HERE / "sheets.txt")


def _status(read: Read, path: Path) -> str:
    try:
        reading = read(path.name, path.read_bytes())
    except Refused as error:
        return str(error.code)
    return ", ".join(["okay", reading.format, *_cells(reading)])


def _cells(reading: Reading) -> list[str]:
    """How many cells of each sheet have a value."""
    if reading.format in ("json", "html"):
        return []
    found = Counter(dict.fromkeys(reading.sheets, 0))
    for table in reading.tables:
        filled = sum(1 for row in (table.header, *table.rows) for cell in row if cell)
        found[table.sheet or ""] += filled + len(table.title_cells)
    return [f"{sheet} {count}" for sheet, count in found.items()] if reading.sheets else [f"{found.total()} cells"]


@each("project", sorted(STATUSES))
def test_every_file_of_a_project_gets_its_true_status(read: Read, folder: Path, project: str) -> None:
    expected = STATUSES[project]
    assert {name: _status(read, folder / project / name) for name in expected} == expected


def test_a_percentage_of_an_ods_is_shown_as_its_program_shows_it(read: Read, folder: Path) -> None:
    path = folder / "pyexcel-0.7.6/tests/fixtures/ods_formats.ods"
    assert "200.00%" in re.findall(r"<text:p>(.*?)</text:p>", zipfile.ZipFile(path).read("content.xml").decode())
    [table] = read(path.name, path.read_bytes()).tables
    assert (table.header[4:6], table.rows[0][4:6]) == (("Currency", "Percentage"), ("1", "200%"))


def test_there_are_many_of_them() -> None:
    names = [name for project in STATUSES.values() for name in project]
    assert len(names) >= 250
    assert sum(name.lower().endswith(WORKBOOKS) for name in names) >= 70
