"""Reads pages that are pictures with tesseract, if it is installed: as a library, since no program can start here."""

import ctypes
import os
import time
from pathlib import Path
from typing import Any

from loci.files.extract.layout import Line

LIBRARY = "libtesseract.so.5"
LANGUAGES = ("/usr/share/tesseract-ocr/5/tessdata", "/usr/share/tessdata", "/usr/share/tesseract/tessdata")
PREFERRED = "eng"
RESOLUTION = 200
MOST_PIXELS = 16_000_000
"""The most pixels of a page. A larger page is read more coarsely."""
SECONDS = 60.0
"""Seconds for all pages of a file. Reading a page takes about a second."""
SUREST = 100.0
SURE = 40.0
"""The least confidence in a line, in percent. Less sure lines are specks, not letters."""
LINE = 2
"""A level of tesseract's results."""


class Ocr:
    """Tesseract, with one language. It is loaded before the wall goes up, since its files cannot be opened later."""

    def __init__(self, library: ctypes.CDLL, language: str, trained: bytes) -> None:
        self.language = language
        self._library = library
        self._trained = trained
        self._started: Any = None
        self._deadline = 0.0

    @property
    def has_time(self) -> bool:
        """False once the pages of a file have taken too long."""
        return self._started is None or time.monotonic() < self._deadline

    def lines(self, page: Any, width: float, height: float) -> list[Line]:
        """The lines of text in the picture of this page."""
        scale = min(RESOLUTION / 72, (MOST_PIXELS / max(1.0, width * height)) ** 0.5)
        picture = page.render(scale=scale, grayscale=True)
        pixels = bytes(picture.buffer)
        one, api = self._library, self._start()
        one.TessBaseAPISetImage(api, pixels, picture.width, picture.height, 1, picture.stride)
        one.TessBaseAPISetSourceResolution(api, int(72 * scale))
        if one.TessBaseAPIRecognize(api, None) != 0:
            return []
        found = one.TessBaseAPIGetIterator(api)
        lines: list[Line] = []
        if not found:
            return lines
        edges = [ctypes.c_int() for _ in range(4)]
        while True:
            held = one.TessResultIteratorGetUTF8Text(found, LINE)
            text = ctypes.string_at(held).decode("utf-8", "replace").strip() if held else ""
            one.TessDeleteText(held)
            sure = one.TessResultIteratorConfidence(found, LINE)
            if text and SURE <= sure <= SUREST and one.TessPageIteratorBoundingBox(found, LINE, *edges):
                left, top, right, bottom = (edge.value / scale for edge in edges)
                lines.append(Line(text, (left, top, right, bottom), bottom - top))
            if not one.TessResultIteratorNext(found, LINE):
                break
        one.TessResultIteratorDelete(found)
        one.TessBaseAPIClear(api)
        return lines

    def _start(self) -> Any:
        if self._started is None:
            self._started = self._library.TessBaseAPICreate()
            self._deadline = time.monotonic() + SECONDS
            trained, language = self._trained, self.language.encode()
            nothing = (None, 0, None, None, 0, 0)
            if self._library.TessBaseAPIInit5(self._started, trained, len(trained), language, 1, *nothing):
                raise RuntimeError("tesseract cannot read the files of its language")
        return self._started


def _loaded() -> Ocr | None:
    """Tesseract, if it is on this machine."""
    os.environ["OMP_THREAD_LIMIT"] = "1"  # one file takes one core
    trained = sorted(
        file for folder in map(Path, LANGUAGES) if folder.is_dir() for file in folder.glob("*.traineddata")
    )
    trained = [file for file in trained if file.stem != "osd"]
    if not trained:
        return None
    chosen = next((file for file in trained if file.stem == PREFERRED), trained[0])
    try:
        library = ctypes.CDLL(LIBRARY)
        _declare(library)
        return Ocr(library, chosen.stem, chosen.read_bytes())
    except (OSError, AttributeError):  # no library, or an old one
        return None


def _declare(library: ctypes.CDLL) -> None:
    pointer, text, number, wide = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
    edge = ctypes.POINTER(number)
    functions: dict[str, tuple[Any, list[Any]]] = {
        "TessBaseAPICreate": (pointer, []),
        "TessBaseAPIInit5": (
            number,
            [pointer, text, number, text, number, pointer, number, pointer, pointer, wide, number],
        ),
        "TessBaseAPISetImage": (None, [pointer, text, number, number, number, number]),
        "TessBaseAPISetSourceResolution": (None, [pointer, number]),
        "TessBaseAPIRecognize": (number, [pointer, pointer]),
        "TessBaseAPIGetIterator": (pointer, [pointer]),
        "TessBaseAPIClear": (None, [pointer]),
        "TessResultIteratorGetUTF8Text": (pointer, [pointer, number]),
        "TessResultIteratorConfidence": (ctypes.c_float, [pointer, number]),
        "TessResultIteratorNext": (number, [pointer, number]),
        "TessResultIteratorDelete": (None, [pointer]),
        "TessPageIteratorBoundingBox": (number, [pointer, number, edge, edge, edge, edge]),
        "TessDeleteText": (None, [pointer]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


OCR = _loaded()
