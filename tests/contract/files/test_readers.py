"""What every `FileReader` does, on this machine and in a function."""

import io
import os
import signal
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from loci.core.errors import NotFound, Refused
from loci.files.reading import TableSection, TextSection
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.contract.file_readers import ADAPTERS, PARAMETERS, Readers
from tests.contract.stores import ANN, BOB
from tests.support.deno import STRONGEST
from tests.support.each import each
from tests.support.files import papers

pytestmark = pytest.mark.skipif(
    not STRONGEST >= UNPRIVILEGED,
    reason="this machine has no wall to put around parsers: `loci doctor` says what is missing",
)
PRICES = b"fruit,price\napple,3\npear,4\n"


@pytest.fixture(scope="module", params=PARAMETERS)
def readers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    with ADAPTERS[request.param](tmp_path_factory.mktemp("readers")) as made:
        yield made


def test_a_table_is_read_with_its_header_and_rows(readers: Readers) -> None:
    readers.blobs.write(ANN, "files/prices", PRICES)
    reading = readers.read(ANN, "files/prices", "prices.csv")
    [table] = reading.sections
    assert isinstance(table, TableSection)
    assert reading.format == "csv"
    assert (table.header, table.rows) == (("fruit", "price"), (("apple", "3"), ("pear", "4")))


def test_the_text_of_a_scan_is_recognised(readers: Readers) -> None:
    readers.blobs.write(ANN, "files/scan", papers.drawn(papers.picture))
    [section] = readers.read(ANN, "files/scan", "scan.pdf").sections
    assert isinstance(section, TextSection)
    assert (section.text, section.recognised) == ("Scanned lighthouse report", True)


def test_a_name_cannot_become_code(readers: Readers) -> None:
    readers.blobs.write(ANN, "files/odd", PRICES)
    reading = readers.read(ANN, "files/odd", "'+open('/etc/passwd').read()+'\"\\.csv")
    assert len(reading.sections) == 1


PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 640, 480, 8, 6, 0, 0, 0)
JPEG = b"\xff\xd8\xff\xe1\xff\xfe" + bytes(65532) + b"\xff\xff\xc2" + struct.pack(">HBHHB", 17, 8, 480, 640, 3)
WEBP = b"RIFF\0\0\0\0WEBP"
SVG = '<?xml version="1.0"?>\n<!-- drawn -->\n<svg xmlns="http://www.w3.org/2000/svg" {}><path d="M0 0"/></svg>'


@each(
    ("name", "content", "format"),
    [
        ("plot.png", PNG, "png"),
        ("plot.txt", PNG, "png"),
        ("photo.jpeg", JPEG, "jpg"),
        ("a.gif", b"GIF89a" + struct.pack("<HH", 640, 480), "gif"),
        ("lossy.webp", WEBP + b"VP8 " + bytes(10) + struct.pack("<HH", 640, 480 | 0x4000), "webp"),
        ("exact.webp", WEBP + b"VP8L" + bytes(5) + struct.pack("<I", 639 | 479 << 14) + bytes(5), "webp"),
        ("more.webp", WEBP + b"VP8X" + bytes(8) + b"\x7f\x02\0\xdf\x01\0", "webp"),
        ("drawn.svg", SVG.format('width="640.0pt" height="480pt"').encode(), "svg"),
        ("seen.svg", SVG.format('width="100%" viewBox="0 0 640 480"').encode(), "svg"),
    ],
)
def test_a_picture_is_read_with_its_size(readers: Readers, name: str, content: bytes, format: str) -> None:
    readers.blobs.write(ANN, f"files/{name}", content)
    reading = readers.read(ANN, f"files/{name}", name)
    [section] = reading.sections
    assert isinstance(section, TextSection)
    assert (reading.format, reading.figures) == (format, 1)
    assert section.text == f"Picture ({format.upper()}), 640 x 480 pixels"


@each(
    ("name", "content", "code"),
    [
        ("empty.csv", b"", "FILE_EMPTY"),
        ("photo.xlsx", b"GIF89a\0", "FILE_TYPE"),
        ("no.png", PNG[:20], "FILE_TYPE"),
        ("b.pdf", b"%PDF-1.7\n", None),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(
    readers: Readers, name: str, content: bytes, code: str | None
) -> None:
    readers.blobs.write(ANN, f"files/{name}", content)
    with pytest.raises(Refused) as refused:
        readers.read(ANN, f"files/{name}", name)
    assert code is None or refused.value.code == code


def test_a_damaged_workbook_does_not_keep_the_next_file_from_being_read(readers: Readers) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("xl/workbook.xml", "<not")
    readers.blobs.write(ANN, "files/damaged", packed.getvalue())
    readers.blobs.write(ANN, "files/prices", PRICES)
    with pytest.raises(Refused):
        readers.read(ANN, "files/damaged", "damaged.xlsx")
    assert readers.read(ANN, "files/prices", "prices.csv").sections


@each("times", [1, 2])
@each("moment", ["before it is asked", "while it reads"])
def test_a_process_that_something_else_ends_is_tried_once_more(
    readers: Readers, monkeypatch: pytest.MonkeyPatch, moment: str, times: int
) -> None:
    left = [times]
    real_run, real_send = ExecutorProcess.run, ExecutorProcess._send  # pyright: ignore[reportPrivateUsage]

    def kill(process: ExecutorProcess) -> None:
        if left[0]:
            left[0] -= 1
            os.kill(process.id, signal.SIGKILL)

    def run(process: ExecutorProcess, *args: Any) -> Any:
        if moment == "before it is asked":
            kill(process)
        return real_run(process, *args)

    def send(process: ExecutorProcess, exchange: Any) -> bool:
        is_doomed = process.has_run and moment == "while it reads"
        if is_doomed and left[0]:
            os.kill(process.id, signal.SIGSTOP)  # so that it does not answer before it is killed
        is_more = real_send(process, exchange)
        if is_doomed and not is_more:
            kill(process)
        return is_more

    monkeypatch.setattr(ExecutorProcess, "run", run)
    monkeypatch.setattr(ExecutorProcess, "_send", send)
    readers.blobs.write(ANN, "files/prices", PRICES)
    if times == 1:
        assert readers.read(ANN, "files/prices", "prices.csv").sections
    else:
        with pytest.raises(Refused, match="has crashed"):
            readers.read(ANN, "files/prices", "prices.csv")
    assert left == [0]
    assert readers.read(ANN, "files/prices", "prices.csv").sections


def test_another_owners_file_is_not_there(readers: Readers) -> None:
    readers.blobs.write(ANN, "files/prices", PRICES)
    with pytest.raises(NotFound):
        readers.read(BOB, "files/prices", "prices.csv")
