"""Reads the format and the size of a picture from the bytes at its beginning, and the text in it."""

import re
import struct
from itertools import chain
from statistics import median
from typing import Any

from loci.files.extract.encodings import decoded
from loci.files.extract.layout import in_reading_order, paragraphs
from loci.files.extract.ocr import RECOGNISED, Ocr
from loci.files.extract.unreadable import ReadingLimits

HEAD = 1 << 20
"""Bytes in which the size of a picture stands. A photograph has other facts before it."""
SVG = re.compile(r"<svg\b([^<>]*)>")
SVG_SIZE = re.compile(r'\b(width|height)="(\d{1,6})(?:\.\d{1,9})?(?:px|pt)?"')
SVG_VIEW = re.compile(
    r'\bviewBox="[-.\d]{1,12}[ ,]{1,3}[-.\d]{1,12}[ ,]{1,3}(\d{1,6})(?:\.\d{1,12})?[ ,]{1,3}(\d{1,6})'
)
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The marks in a JPEG after which its size stands."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MOST_PIXELS = 25_000_000
"""The most pixels of a picture whose text is read."""
Picture = tuple[str, int, int]
"""The format, the width and the height."""


def picture_at(path: str) -> Picture | None:
    """The picture in this file; None if the file is no picture, or does not say its size."""
    with open(path, "rb") as opened:  # noqa: PTH123
        head = opened.read(HEAD)
    format, width, height = _picture(head)
    return (format, width, height) if width and height else None


def read(path: str, limits: ReadingLimits) -> dict[str, Any]:  # noqa: ARG001 (the readers of other formats need them)
    """The size of the picture as a text, which searches find, and the text in it."""
    format, width, height = picture_at(path) or ("", 0, 0)
    text = f"Picture ({format.upper()}), {width} x {height} pixels"
    sections: list[dict[str, Any]] = [{"kind": "text", "text": text}]
    if format != "svg" and width * height <= MOST_PIXELS:
        sections += [{"kind": "text", "text": one, "recognised": True} for one in _recognised(path)]
    remarks = [f"Text {RECOGNISED}"] if len(sections) > 1 else []
    return {"sections": sections, "figures": 1, "remarks": remarks}


def _recognised(path: str) -> list[str]:
    """The paragraphs in the picture; none if it is damaged, or nothing is installed that reads it."""
    ocr = Ocr()
    if not ocr.is_installed:
        return []
    import numpy
    from PIL import Image, ImageOps

    try:
        with Image.open(path, formats=FORMATS) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return []
            picture = ImageOps.exif_transpose(opened).convert("RGBA")
        ground = Image.new("RGBA", picture.size, "white")  # below what is transparent
        ground.alpha_composite(picture)
        lines = ocr.lines(numpy.asarray(ground.convert("L")), 1.0, 1.0)
    except Exception:  # noqa: BLE001 (a picture may be damaged in any way, or take too long)
        return []
    usual = median([one.size for one in lines] or [1.0])
    return [one.text for one in paragraphs(in_reading_order(lines, lambda rows: [*chain.from_iterable(rows)]), usual)]


def _picture(head: bytes) -> Picture:
    """The picture that begins so, with zeros if its size is not known."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR" and len(head) >= 24:
        return "png", *struct.unpack(">II", head[16:24])
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return "gif", *struct.unpack("<HH", head[6:10])
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return "webp", *_webp(head)
    return ("jpg", *_jpeg(head)) if head.startswith(b"\xff\xd8") else ("svg", *_svg(head))


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in FRAMES:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        is_filler = head[at + 1] == 0xFF
        at += 1 if is_filler else 2 + max(2, int.from_bytes(head[at + 2 : at + 4], "big"))
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case _:
            width, height = struct.unpack("<HH", head[26:30])
            return width & 0x3FFF, height & 0x3FFF


def _svg(head: bytes) -> tuple[int, int]:
    """The size that a drawing names."""
    begin = head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if (
        not begin.startswith((b"<svg", b"<?xml", b"<!--", b"<!doctype svg"))
        or b"<html" in begin
        or b"<svg" not in begin
    ):
        return 0, 0
    found = SVG.search(decoded(head)[0])
    if found is None:
        return 0, 0
    sizes, view = dict(SVG_SIZE.findall(found[1])), SVG_VIEW.search(found[1])
    if len(sizes) < 2 and view:
        return int(view[1]), int(view[2])
    return int(sizes.get("width", 0)), int(sizes.get("height", 0))
