"""Files that attack their readers, and odd ones: each gets a reason and a next step, and the next file is read."""

from pathlib import Path

import pytest

from loci.core.errors import Refused
from loci.files.reading import Reading, TextSection
from tests.contract.files.conftest import Read
from tests.support.each import each
from tests.support.files import hostile, office, papers
from tests.support.files.encrypted_xls import encrypted_xls

AGILE = Path(hostile.__file__).with_name("encrypted") / "agile.xlsx"
DEEP = b'{"a":' * 990 + b"1" + b"}" * 990


def refused(read: Read, name: str, content: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        read(name, content)
    assert str(caught.value).count(". ") >= 1, "it says what to do"
    assert read("next.csv", b"City,Cost\nBerlin,40\n").tables
    return caught.value


def text_of(reading: Reading) -> str:
    return "\n".join(one.text for one in reading.sections if isinstance(one, TextSection))


@each("entities", [hostile.LAUGHS, hostile.FETCHED])
@each("name", hostile.PARTS)
def test_a_file_that_defines_entities_is_refused(read: Read, name: str, entities: str) -> None:
    error = refused(read, name, hostile.with_entities(name, entities))
    assert error.code == "FILE_DAMAGED"
    assert "entit" in str(error)


@each("entities", [hostile.LAUGHS, hostile.FETCHED])
def test_no_entity_of_a_page_is_expanded_or_fetched(read: Read, entities: str) -> None:
    page = f"<!DOCTYPE w [{entities}]><html><body><p>&a8; words</p></body></html>"
    text = text_of(read("a.html", page.encode()))
    assert "&a8; words" in text
    assert "root:" not in text
    assert len(text) < 100


@each("content", [pytest.param(hostile.BOOK, id="xlsx"), pytest.param(office.report(), id="docx")])
def test_a_directory_with_sizes_that_are_too_small_is_refused(read: Read, content: bytes) -> None:
    assert refused(read, "a.xlsx", hostile.with_sizes(content, 10)).code == "FILE_DAMAGED"


def test_a_directory_with_sizes_that_are_too_large_costs_nothing(read: Read) -> None:
    assert read("a.xlsx", hostile.with_sizes(hostile.BOOK, 0xFFFFFFF0)).tables[0].rows == (("Berlin", "40"),)


@each("part", [hostile.SHEET, "xl/sharedStrings.xml", "xl/worksheets/_rels/sheet1.xml.rels"])
def test_a_workbook_that_unpacks_to_too_much_is_refused(read: Read, part: str) -> None:
    assert refused(read, "a.xlsx", hostile.bomb(part)).code == "FILE_TOO_LARGE"


def test_parts_that_lie_over_each_other_are_refused(read: Read) -> None:
    assert refused(read, "a.xlsx", hostile.overlapping()).code == "FILE_DAMAGED"


@each("content", [DEEP, b"[" * 5000 + b"]" * 5000])
def test_json_that_is_nested_too_deeply_says_so(read: Read, content: bytes) -> None:
    assert "nested too deeply" in str(refused(read, "a.json", content))


def test_a_page_that_is_nested_too_deeply_says_so(read: Read) -> None:
    assert "nested too deeply" in str(refused(read, "a.html", b"<div>" * 50_000 + b"words"))
    reading = read("a.html", b"<p>Above</p>" + b"<div>" * 50_000 + b"words")
    assert (text_of(reading), len(reading.remarks)) == ("Above", 1)


@each("name", ["a.xls", "a.xlsx", "a.txt"])
def test_a_workbook_with_a_password_says_so(read: Read, name: str) -> None:
    content = AGILE.read_bytes() if name == "a.xlsx" else encrypted_xls("sesame")
    error = refused(read, name, content)
    assert (error.code, "has a password" in str(error)) == ("FILE_ENCRYPTED", True)


def test_a_table_with_a_zero_byte_says_where(read: Read) -> None:
    assert "byte 5 is zero" in str(refused(read, "a.csv", b"a,b\n\0,2\n"))


@each("encoding", ["utf-16-le", "utf-16-be"])
@each("name", ["a.txt", "a.md", "a", "a.html"])
def test_a_text_in_utf_16_without_its_mark_is_read(read: Read, name: str, encoding: str) -> None:
    text = "<html><body><p>Ann buys tickets</p></body></html>" if name == "a.html" else "Ann buys tickets"
    assert text_of(read(name, text.encode(encoding))) == "Ann buys tickets"


def test_a_table_in_utf_16_without_its_mark_is_read(read: Read) -> None:
    assert read("a.csv", "City,Cost\nBerlin,40\n".encode("utf-16-le")).tables[0].rows == (("Berlin", "40"),)


@each(
    ("content", "format"),
    [
        (b"City,Cost\nBerlin,40\n", "txt"),
        (b"<html><body><p>Words</p></body></html>", "html"),
        (b'[{"City": "Berlin"}]', "json"),
        (hostile.BOOK, "xlsx"),
        (papers.drawn(papers.line("Words")), "pdf"),
    ],
)
def test_a_name_without_an_ending_leaves_it_to_the_content(read: Read, content: bytes, format: str) -> None:
    assert read("notes", content).format == format


def test_of_too_many_columns_the_first_are_read(read: Read) -> None:
    row = ",".join(f"c{at}" for at in range(20_000))
    reading = read("a.csv", f"{row}\n{row}\n".encode())
    assert len(reading.tables[0].rows[0]) == 16_384
    assert "16,384 columns" in reading.remarks[0]


def test_a_quotation_mark_that_never_closes_says_what_to_look_for(read: Read) -> None:
    error = refused(read, "a.csv", b'"' + b"x" * (20 << 20))
    assert "quotation mark" in str(error)
