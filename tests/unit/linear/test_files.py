"""What reads a stored file, or compares it with a text or with another version, takes time in proportion to it."""

from collections.abc import Sequence

import pytest

from loci.files.citations import WantedText, occurrences
from loci.files.cutting import cut, table_pieces, text_pieces
from loci.files.differences import changes
from loci.files.extracted_summary import extracted_summary
from loci.files.lake import packed
from loci.files.reading import Reading, TableSection, TextSection, read_plain, read_text
from loci.files.search_query import parsed
from tests.support.each import each
from tests.unit.linear.growth import Read, Shape, faulty_growth
from tests.unit.linear.shapes import LARGE, repeated
from tests.unit.linear.test_readers import either, slow


def text_file(text: str) -> Reading:
    return Reading(format="txt", sections=(TextSection(text=text, first_line=1),))


def sheet(text: str) -> Reading:
    """Each word is a row."""
    rows = tuple((word,) for word in text.split(" "))
    return Reading(format="csv", sheets=("a",), sections=(TableSection(sheet="a", rows=rows),))


def a_fourth(texts: Sequence[str]) -> list[int]:
    return [len(one) // 4 for one in texts]


def taken_in(name: str) -> Read:
    """All that is done with a file of this name before the index has it, but for the words."""

    def read(text: str) -> None:
        reading = read_text(name, text.encode())
        for _ in text_pieces([one for one in reading.sections if isinstance(one, TextSection)], a_fourth, 250, 99_999):
            pass
        for table in reading.tables:
            for _ in table_pieces(table, (), a_fourth, 250):
                pass
        extracted_summary(reading)
        packed(reading)

    return either(read)


OF_FILES: dict[str, Read] = {
    "a plain text": either(lambda text: cut("ds-0", "a.md", read_plain("a.md", text.encode()), a_fourth)),
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


@each("name", LARGE)
def test_twice_the_file_takes_twice_the_time(name: str) -> None:
    for ending, most in (("log", 2_000_000), ("md", 400_000), ("csv", 400_000)):
        assert faulty_growth(taken_in(f"a.{ending}"), LARGE[name], most) is None, ending


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("name", [*OF_FILES, "a.log", "a.md", "a.csv"])
def test_no_reader_of_files_is_slow_up_to_the_largest(name: str, shape: str) -> None:
    assert faulty_growth(OF_FILES.get(name) or taken_in(name), LARGE[shape], most=100_000_000) is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_FILES)
def test_no_reader_of_files_is_slow(name: str) -> None:
    assert slow({name: OF_FILES[name]}, most=256_000, of_documents=False) == []
