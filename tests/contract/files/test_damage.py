"""Files that are damaged, too large or not what they seem: each gets a reason, and nothing else is harmed."""

import io
import zipfile
from collections.abc import Iterator

import pytest

from loci.core.errors import Refused
from tests.contract.files.readers import Read, reader_in
from tests.support.each import each
from tests.support.files import workbooks

BOOK = workbooks.xlsx(("Costs", [["City", "Cost"], ["Berlin", 40]]))
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
SHEET = "xl/worksheets/sheet1.xml"
LIMITS = {"rows": 500, "unpacked_bytes": 4 << 20, "sheets": 20}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    with reader_in(tmp_path_factory.mktemp("damage"), LIMITS) as read:
        yield read


def _bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", "<workbook/>")
        packed.writestr("xl/sharedStrings.xml", bytes(2 * LIMITS["unpacked_bytes"]))
    return out.getvalue()


@each(
    ("name", "content", "code"),
    [
        ("a.xlsx", b"", "FILE_EMPTY"),
        ("a.csv", b"\n\n", "FILE_EMPTY"),
        ("a.csv", b",,\n,,\n", "FILE_EMPTY"),
        ("a.json", b"{}", "FILE_EMPTY"),
        ("a.xlsx", BOOK[: len(BOOK) // 2], "FILE_DAMAGED"),
        ("a.xlsx", BOOK[:1000] + bytes(200) + BOOK[1200:], "FILE_DAMAGED"),
        ("a.xls", COMPOUND + "Workbook".encode("utf-16-le"), "FILE_DAMAGED"),
        ("a.json", b'{"a": ', "FILE_DAMAGED"),
        ("a.json", b"[" * 100_000, "FILE_DAMAGED"),
        ("a.xlsx", COMPOUND + "EncryptedPackage".encode("utf-16-le"), "FILE_ENCRYPTED"),
        ("a.xlsx", COMPOUND + "WordDocument".encode("utf-16-le"), "FILE_TYPE"),
        ("a.xlsx", b"\x89PNG\r\n\x1a\n" + bytes(100), "FILE_TYPE"),
        ("a.xlsx", b"Dear Ann, this is a letter and no workbook", "FILE_TYPE"),
        ("a.xlsx", _bomb(), "FILE_TOO_LARGE"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(read: Read, name: str, content: bytes, code: str) -> None:
    with pytest.raises(Refused) as caught:
        read(name, content)
    assert caught.value.code == code


@each("name", ["a.csv", "a.pdf", "a.bin", "a"])
def test_the_content_says_what_a_file_is(read: Read, name: str) -> None:
    reading = read(name, BOOK)
    assert (reading.format, reading.sheets) == ("xlsx", ("Costs",))


@each("name", ["a.xlsx", "a.csv"])
def test_of_too_many_rows_the_first_are_read_and_the_rest_is_told(read: Read, name: str) -> None:
    rows = [["Name", "Sum"], *([f"n{n}", n] for n in range(2000))]
    content = workbooks.xlsx(("S", rows))
    if name == "a.csv":
        content = "\n".join(f"{one},{two}" for one, two in rows).encode()
    reading = read(name, content)
    assert len(reading.tables[0].rows) == 499
    assert "500" in reading.remarks[0]


def test_one_cell_far_away_does_not_cost_the_others(read: Read) -> None:
    far = workbooks.in_cells('<c r="XFD9"><v>7</v></c></row><row r="1048576"><c r="XFD1048576"><v>8</v></c>')
    reading = read("a.xlsx", workbooks.patched(BOOK, {SHEET: far}))
    assert reading.tables[0].rows[0] == ("Berlin", "40")
    assert reading.remarks


def test_of_too_many_sheets_the_first_are_read(read: Read) -> None:
    reading = read("a.xlsx", workbooks.xlsx(*((f"S{n}", [["a", "b"], ["c", n]]) for n in range(30))))
    assert (len(reading.sheets), len(reading.tables)) == (20, 20)
    assert "30" in reading.remarks[-1]
