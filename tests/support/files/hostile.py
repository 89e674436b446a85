"""Files that attack the programs which read them."""

import copy
import io
import struct
import zipfile
from collections.abc import Callable

from tests.support.files import office, workbooks

LAUGHS = "".join(f'<!ENTITY a{at} "{f"&a{at - 1};" * 10 if at else "ha"}">' for at in range(9))
"""A billion laughs: each entity is ten of the one before it."""
FETCHED = '<!ENTITY a8 SYSTEM "file:///etc/passwd">'
CITIES: list[list[str | float]] = [["City", "Cost"], ["Berlin", 40.0]]
BOOK = workbooks.xlsx(("Costs", CITIES))
SHEET = "xl/worksheets/sheet1.xml"
PARTS = {
    "sheet.xlsx": (BOOK, SHEET, b"<v>"),
    "workbook.xlsx": (BOOK, "xl/workbook.xml", b"<sheets>"),
    "a.ods": (workbooks.ods("Costs", CITIES), "content.xml", b"<text:p>"),
    "a.docx": (office.report(), office.MAIN, b"<w:t>"),
    "a.pptx": (office.slides(), "ppt/slides/slide1.xml", b"<a:t>"),
}
"""A file, a part of it, and the element in which an entity is used."""


def with_entities(name: str, entities: str) -> bytes:
    """The file of this name in `PARTS` with these entities, the last of which it uses."""
    content, part, element = PARTS[name]
    return workbooks.patched(content, {part: _defining(entities, element)})


def _defining(entities: str, element: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        start = content.index(b"?>") + 2 if content.startswith(b"<?xml") else 0
        used = content[start:].replace(element, element + b"&a8;")
        return content[:start] + f"<!DOCTYPE w [{entities}]>".encode() + used

    return change


def with_sizes(content: bytes, size: int) -> bytes:
    """The packed file with this size of every part in its directory."""
    changed, at = bytearray(content), 0
    while (at := changed.find(b"PK\x01\x02", at)) >= 0:
        changed[at + 24 : at + 28] = struct.pack("<I", size)
        at += 4
    return bytes(changed)


def overlapping() -> bytes:
    """A workbook of which 500 parts are the same 8 MB."""
    out = io.BytesIO(BOOK)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/media/a.xml", b" " * (8 << 20))
        for number in range(500):
            again = copy.copy(packed.getinfo("xl/media/a.xml"))
            again.filename = f"xl/media/{number}.xml"
            packed.filelist.append(again)
    return out.getvalue()


def bomb(part: str) -> bytes:
    """A workbook of which this part unpacks to 600 MB."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(BOOK)) as book,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
    ):
        for name in book.namelist():
            if name != part:
                packed.writestr(name, book.read(name))
        with packed.open(part, "w", force_zip64=True) as opened:
            for _ in range(600):
                opened.write(bytes(1 << 20))
    return out.getvalue()
