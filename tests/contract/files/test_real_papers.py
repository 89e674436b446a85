"""PDFs, documents and slides that nobody here wrote: each gets a true status, and its passages their true places.

Every page that `PLACES` names was looked at with the boxes drawn on it. In the files that have no text, PDFium finds no
letter either.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from loci.core.errors import Refused
from loci.files.cutting import cut
from loci.files.locators import locator_of
from loci.files.reading import Reading
from tests.contract.files.conftest import Read
from tests.support.each import each
from tests.support.files.archives import unpacked

pytestmark = pytest.mark.models
HERE = Path(__file__).with_name("real")
STATUSES: dict[str, dict[str, str]] = json.loads((HERE / "papers.json").read_text("utf-8"))
OCR = "ocrmypdf-17.13.0/tests/resources/"
TABLES = "tabula_py-2.10.0/tests/resources/"


class Place(NamedTuple):
    """Words, and where they stand: the page, and a point of it that lies in their box."""

    file: str
    words: str
    page: int
    x: float
    y: float


PLACES = [
    Place(OCR + "cmyk.pdf", "PureYellow", 1, 0.35, 0.65),
    Place(OCR + "formxobject.pdf", "embedded as a Form XObject", 1, 0.3, 0.075),
    Place(OCR + "francais.pdf", "Portez ce vieux whisky au juge", 1, 0.5, 0.2),
    Place(OCR + "francais.pdf", "à côté de l'alcôve ovoïde", 1, 0.5, 0.35),
    Place(OCR + "graph_ocred.pdf", "Oppose", 1, 0.5, 0.5),
    Place(OCR + "link.pdf", "Go to page 2", 1, 0.17, 0.1),
    Place(OCR + "link.pdf", "Other content", 1, 0.17, 0.155),
    Place(OCR + "link.pdf", "Somewhere on page 2", 2, 0.2, 0.137),
    Place(OCR + "link.pdf", "Go to page 1", 2, 0.17, 0.177),
    Place(OCR + "missing_docinfo.pdf", "This file has no /DocumentInfo block", 1, 0.3, 0.104),
    Place(OCR + "multipage.pdf", "Oppose", 4, 0.5, 0.5),
    Place(OCR + "negzero.pdf", "What follows is an image", 1, 0.3, 0.075),
    Place(OCR + "overlay.pdf", "Payed 2017-Jan-22", 1, 0.6, 0.49),
    Place(OCR + "skew.pdf", "To record a sequence, simply press RECORD and PLAY", 1, 0.3, 0.5),
    Place(OCR + "tagged.pdf", "Document text.", 1, 0.15, 0.225),
    Place(OCR + "tagged.pdf", "Cell 3 | Cell 4", 1, 0.5, 0.37),
    Place(OCR + "tagged.pdf", "Body text.", 2, 0.13, 0.12),
    Place(OCR + "toc.pdf", "What follows is an image", 1, 0.3, 0.075),
    Place(TABLES + "12s0324.pdf", "Table 324. Arrests by Sex and Age", 1, 0.3, 0.05),
    Place(TABLES + "12s0324.pdf", "10,690,561", 1, 0.5, 0.7),
    Place(TABLES + "12s0324.pdf", "Runaways", 1, 0.2, 0.47),
    Place(TABLES + "campaign_donors.pdf", "PICARDI | FRANCO EDUARDO", 1, 0.3, 0.13),
    Place(TABLES + "data.pdf", "Maserati Bora | 15.0 | 8 | 301.0", 1, 0.5, 0.66),
    Place(TABLES + "data.pdf", "virginica", 2, 0.5, 0.58),
    Place(TABLES + "data.pdf", "11.5 | VC | 0.5", 3, 0.3, 0.25),
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return unpacked(HERE / "papers.txt")


def _status(read: Read, path: Path, expected: str) -> str:
    try:
        reading = read(path.name, path.read_bytes())
    except Refused as error:
        return str(error.code)
    return f"okay, {reading.pages} pages" if reading.pages else "okay"


@each("project", sorted(STATUSES))
def test_every_file_of_a_project_gets_its_true_status(read: Read, folder: Path, project: str) -> None:
    expected = STATUSES[project]
    assert {name: _status(read, folder / project / name, expected[name]) for name in expected} == expected


def test_there_are_many_of_them() -> None:
    assert sum(map(len, STATUSES.values())) >= 150


@pytest.fixture(scope="module")
def readings(read: Read, folder: Path) -> dict[str, Reading]:
    return {name: read("a.pdf", (folder / name).read_bytes()) for name in {place.file for place in PLACES}}


@each("place", [pytest.param(place, id=f"{place.file}: {place.words}") for place in PLACES])
def test_a_passage_has_its_true_place(readings: dict[str, Reading], place: Place) -> None:
    chunks = cut("ds-1", "a.pdf", readings[place.file], lambda texts: [len(one) // 4 for one in texts])
    found = [locator_of(one.path.rpartition("#")[2]) for one in chunks if place.words in one.text]
    boxes = [one.box for one in found if one.page == place.page and one.box is not None]
    assert [box for box in boxes if box[0] <= place.x <= box[2] and box[1] <= place.y <= box[3]], (
        f"{place.words} is on {found}"
    )
