"""What reads a stored file, or compares it with a text or with another version, takes time in proportion to it."""

import pytest

from loci.files.citations import occurrences
from loci.files.cutting import cut
from loci.files.differences import changes
from loci.files.plain_text import read_plain
from loci.files.query import parsed
from loci.files.reading import Reading, TableSection, TextSection
from loci.files.wanted_text import WantedText
from tests.support.each import each
from tests.unit.linear.growth import Read, Shape, faulty_growth
from tests.unit.linear.shapes import repeated
from tests.unit.linear.test_readers import either, slow


def text_file(text: str) -> Reading:
    return Reading(format="txt", sections=(TextSection(text=text, first_line=1),))


def sheet(text: str) -> Reading:
    """Each word is a row."""
    rows = tuple((word,) for word in text.split(" "))
    return Reading(format="csv", sheets=("a",), sections=(TableSection(sheet="a", rows=rows),))


OF_FILES: dict[str, Read] = {
    "a plain text": either(
        lambda text: cut("ds-0", "a.md", read_plain("a.md", text.encode()), lambda one: [9] * len(one))
    ),
    "a question": lambda text: parsed(rewritten=text, entities=[text]),
    "a citation of a letter": lambda text: [*occurrences(text_file(text), WantedText("a"))],
    "a long citation": either(lambda text: [*occurrences(text_file(text), WantedText(f"{text[:999]}x"))]),
    "a citation in a sheet": either(lambda text: [*occurrences(sheet(text), WantedText(text[:20]))]),
    "two texts": lambda text: [*changes(text_file(text), text_file(text[::-1]))],
    "two sheets": lambda text: [*changes(sheet(text), sheet(text[::-1]))],
}
KNOWN: dict[str, tuple[Read, Shape]] = {
    "words of a citation that all fit but the last": (
        lambda text: [*occurrences(text_file(text), WantedText("a " * 999 + "c"))],
        repeated("", "a ", ""),
    ),
    "a citation that stands on every line": (
        lambda text: [*occurrences(text_file(text), WantedText("a"))],
        repeated("", "a\n", ""),
    ),
    "rows with an equal row between each two": (
        lambda text: [*changes(sheet(text), sheet(text.replace("0", "1")))],
        lambda size: " ".join(f"x 0{number}" for number in range(size // 8)),
    ),
    "rows of two kinds": (
        lambda text: [*changes(sheet(text), sheet(text[::-1]))],
        lambda size: " ".join("ab"[hash((number, 7)) % 2] for number in range(size // 2)),
    ),
    "many paragraphs": (
        lambda text: [*changes(text_file(text), text_file(text.replace("a", "b")))],
        repeated("", "a\n\n", ""),
    ),
}


@each("name", KNOWN)
def test_what_took_hours_takes_moments(name: str) -> None:
    read, shape = KNOWN[name]
    assert faulty_growth(read, shape, most=16_000) is None


def test_the_readers_of_files_are_not_slow() -> None:
    assert slow(OF_FILES, most=1_000, of_documents=False) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_FILES)
def test_no_reader_of_files_is_slow(name: str) -> None:
    assert slow({name: OF_FILES[name]}, most=256_000, of_documents=False) == []
