"""Finds the cells of an xls that show a number as a percentage: their parser gives numbers without their formats."""

import struct
from collections.abc import Iterator

from loci.files.extract.cell_texts import shows_percent
from loci.files.extract.packed_workbook import PERCENT_FORMATS
from loci.files.extract.places import place_of

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
END_OF_CHAIN = 0xFFFFFFFA
"""Sector numbers from here on mean something else than a sector."""
DIRECTORY_ENTRY = 128
SMALLEST_OWN = 4096
"""Bytes. Smaller streams share sectors."""
BOF, EOF, PASSWORD = 0x0809, 0x000A, 0x002F
FORMAT, STYLE, SHEET = 0x041E, 0x00E0, 0x0085
CELLS = frozenset({0x0203, 0x027E, 0x0006})
"""Numbers, short numbers and formulas."""
ROW_OF_NUMBERS = 0x00BD


def percents_of_xls(content: bytes) -> dict[str, set[str]]:
    """The names of those cells, by sheet. What is damaged has none: the parser says what it cannot read."""
    try:
        book = _workbook(content)
        styles, sheets = _globals(book)
        return {name: set(_cells(book, at, styles)) for name, at in sheets} if styles else {}
    except (struct.error, IndexError):
        return {}


def _workbook(content: bytes) -> bytes:
    """The stream of the workbook, out of the sectors of the file."""
    if not content.startswith(MAGIC):
        return content  # before 1993 there were no sectors
    size = 1 << struct.unpack_from("<H", content, 30)[0]
    sectors = [content[at : at + size] for at in range(size, len(content), size)]
    table = [*struct.unpack_from("<109I", content, 76)]
    following: int = struct.unpack_from("<I", content, 68)[0]
    for _ in sectors:  # no chain is longer
        if following >= END_OF_CHAIN:
            break
        more = struct.unpack(f"<{size // 4}I", sectors[following])
        table, following = [*table, *more[:-1]], more[-1]
    numbers = b"".join(sectors[one] for one in table if one < len(sectors))
    fat = struct.unpack(f"<{len(numbers) // 4}I", numbers)
    directory = _chain(sectors, fat, struct.unpack_from("<I", content, 48)[0])
    found: dict[str, tuple[int, int]] = {}
    for at in range(0, len(directory) - DIRECTORY_ENTRY + 1, DIRECTORY_ENTRY):
        length = struct.unpack_from("<H", directory, at + 64)[0]
        name = directory[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        found[name] = struct.unpack_from("<II", directory, at + 116)
    first, length = found.get("Workbook") or found.get("Book") or (END_OF_CHAIN, 0)
    if length >= SMALLEST_OWN:
        return _chain(sectors, fat, first)[:length]
    shared = _chain(sectors, fat, found.get("Root Entry", (END_OF_CHAIN, 0))[0])
    small = _chain(sectors, fat, struct.unpack_from("<I", content, 60)[0])
    pieces = [shared[at : at + 64] for at in range(0, len(shared), 64)]
    return _chain(pieces, struct.unpack(f"<{len(small) // 4}I", small), first)[:length]


def _chain(sectors: list[bytes], following: tuple[int, ...], first: int) -> bytes:
    found: list[bytes] = []
    while first < END_OF_CHAIN and len(found) <= len(sectors):
        found.append(sectors[first])
        first = following[first]
    return b"".join(found)


def _globals(book: bytes) -> tuple[frozenset[int], list[tuple[str, int]]]:
    """The styles that show a percentage, and where each sheet begins."""
    formats: set[int] = set(PERCENT_FORMATS)
    styles: list[int] = []
    sheets: list[tuple[str, int]] = []
    for kind, body in _records(book, 0):
        if kind == PASSWORD:
            return frozenset(), []
        if kind == FORMAT and shows_percent(_text(body[2:], 2)):
            formats.add(struct.unpack_from("<H", body)[0])
        elif kind == STYLE:
            styles.append(struct.unpack_from("<H", body, 2)[0])
        elif kind == SHEET:
            sheets.append((_text(body[6:], 1), struct.unpack_from("<I", body)[0]))
    return frozenset(at for at, one in enumerate(styles) if one in formats), sheets


def _cells(book: bytes, at: int, styles: frozenset[int]) -> Iterator[str]:
    for kind, body in _records(book, at):
        if kind in CELLS:
            row, column, style = struct.unpack_from("<HHH", body)
            if style in styles:
                yield place_of(row, column)
        elif kind == ROW_OF_NUMBERS:
            row, first = struct.unpack_from("<HH", body)
            for number in range((len(body) - 6) // 6):
                if struct.unpack_from("<H", body, 4 + 6 * number)[0] in styles:
                    yield place_of(row, first + number)


def _records(book: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """The records of a part of the workbook. A part in it, such as a chart, is left out."""
    depth = 0
    while at + 4 <= len(book):
        kind, length = struct.unpack_from("<HH", book, at)
        depth += (kind == BOF) - (kind == EOF)
        if depth == 1 and kind != BOF:
            yield kind, book[at + 4 : at + 4 + length]
        if depth <= 0:
            return
        at += 4 + length


def _text(body: bytes, width: int) -> str:
    """A text after its length, which has one or two bytes. Since 1997 a byte says if its letters have one or two."""
    length = int.from_bytes(body[:width], "little")
    if len(body) == width + length:  # of 1995; its letters are those of Windows
        return body[width:].decode("cp1252", "replace")
    if body[width] & 1:
        return body[width + 1 : width + 1 + 2 * length].decode("utf-16-le", "replace")
    return body[width + 1 : width + 1 + length].decode("latin-1")
