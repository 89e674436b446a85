"""Everything that stands on one page of a PDF, as a reader sees it, in points from the top left."""

import ctypes
import itertools
import math
from dataclasses import dataclass, field
from typing import Any

from loci.files.extract.layout import Box, Line, line_of

LONGEST_PATH = 5_000
"""Segments of one drawing. A longer one is a picture, not the ruling of a table."""
MOST_RULES = 3_000
THIN = 3.0
"""Points: a drawn rectangle that is thinner is a line."""
HYPHENS = frozenset({0x02, 0xFFFE})
"""PDFium reports this for a hyphen at the end of a line."""
SPACES = frozenset({0, 9, 32, 160})
PALE, TRANSPARENT = 235, 25
"""Of 255: the least of red, green and blue of a nearly white line, and the opacity of one that is hardly there."""
SMALLEST = 1.5
"""Points: nobody reads lines that are less high."""
CONTRAST = 10
"""Of 255: what is less dark than its ground is not seen."""
WIDE_GAP = 1.2
"""The line heights of a gap that separates cells or columns, not words."""


@dataclass
class PdfPage:
    """The lines, rules and pictures of a page."""

    width: float
    height: float
    lines: list[Line] = field(default_factory=list[Line])
    across: list[Box] = field(default_factory=list[Box])
    """Horizontal rules."""
    down: list[Box] = field(default_factory=list[Box])
    has_unseen: bool = False
    """True if there is text that nobody sees, such as white letters on white. It is in no line."""
    figures: int = 0
    fields: list[str] = field(default_factory=list[str])
    """Values of form fields, and comments."""
    is_picture: bool = False
    """True if the lines were recognised in a picture."""


class PageReader:
    """Reads a page of an open document."""

    def __init__(self, page: Any) -> None:
        import pypdfium2.raw as raw

        self._raw = raw
        self._page = page
        self.found = PdfPage(*page.get_size())
        self._turn = self._as_shown()
        self._pale: list[Line] = []

    def read(self) -> PdfPage:
        """Read all of it."""
        self._read_text()
        self._leave_out_unseen()
        self._read_drawings()
        self._read_fields()
        return self.found

    def _as_shown(self) -> tuple[float, float, float, float, float, float]:
        """The matrix from the page's own coordinates to the ones that a reader sees."""
        scale = 1 << 20  # the function returns whole numbers
        x, y = ctypes.c_int(), ctypes.c_int()
        width, height = self.found.width / scale, self.found.height / scale

        def seen_point(at_x: float, at_y: float) -> tuple[float, float]:
            self._raw.FPDF_PageToDevice(self._page, 0, 0, scale, scale, 0, at_x, at_y, x, y)
            return x.value * width, y.value * height

        # From three points that are far apart: near ones would lose precision to rounding.
        (x0, y0), (x1, y1), (x2, y2) = seen_point(0, 0), seen_point(1000, 0), seen_point(0, 1000)
        return (x1 - x0) / 1000, (y1 - y0) / 1000, (x2 - x0) / 1000, (y2 - y0) / 1000, x0, y0

    def _box(self, left: float, bottom: float, right: float, top: float) -> Box:
        a, b, c, d, e, f = self._turn
        if a > 0 > d and b == c == 0:  # nearly every page, and this is done for every glyph
            return a * left + e, d * top + f, a * right + e, d * bottom + f
        x0, y0 = a * left + c * bottom + e, b * left + d * bottom + f
        x1, y1 = a * right + c * top + e, b * right + d * top + f
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    def _read_text(self) -> None:
        text = self._page.get_textpage()
        handle, raw = text.raw, self._raw
        unicode, loose = raw.FPDFText_GetUnicode, raw.FPDFText_GetLooseCharBox
        area = raw.FS_RECTF()
        run: list[tuple[int, Box]] = []
        upright = True
        space = pale = False
        for at in range(raw.FPDFText_CountChars(handle)):
            code = unicode(handle, at)
            if code in (10, 13):
                self._end_line(run, upright, pale)
                run, space = [], False
                continue
            if code in SPACES:
                space = True
                continue
            if not loose(handle, at, area):
                continue
            box = self._box(area.left, area.bottom, area.right, area.top)
            if run:
                breaks = _breaks(run[-1][1], box) if upright else _leaves(run[-1][1], box)
                if breaks and upright and len(run) == 1 and self._is_turned(handle, at):
                    breaks = False
                    upright = False
                if breaks:
                    self._end_line(run, upright, pale)
                    run, space = [], False
            if not run:
                upright, pale = True, self._is_pale(handle, at)
            if space and run:
                run.append((32, run[-1][1]))
            space = False
            run.append((code, box))
        self._end_line(run, upright, pale)

    def _is_pale(self, handle: Any, at: int) -> bool:
        """True if the glyph is nearly white, or nearly transparent."""
        red, green, blue, opacity = (ctypes.c_uint() for _ in range(4))
        if not self._raw.FPDFText_GetFillColor(handle, at, red, green, blue, opacity):
            return False
        return min(red.value, green.value, blue.value) >= PALE or opacity.value <= TRANSPARENT

    def _leave_out_unseen(self) -> None:
        """Keep only lines on the page that are large enough to be read; of pale ones those that stand out."""
        shown = self._page.render(scale=1, grayscale=True) if self._pale else None
        unseen = {id(one) for one in self._pale if not _stands_out(one, shown)}
        kept = [
            one
            for one in self.found.lines
            if one.size >= SMALLEST and id(one) not in unseen and self._is_on_page(*one.box)
        ]
        self.found.has_unseen = len(kept) < len(self.found.lines)
        self.found.lines = kept

    def _is_on_page(self, left: float, top: float, right: float, bottom: float) -> bool:
        return left < self.found.width and top < self.found.height and right > 0 and bottom > 0

    def _is_turned(self, handle: Any, at: int) -> bool:
        """True if the glyph is drawn upwards or downwards, as a reader sees it."""
        angle = self._raw.FPDFText_GetCharAngle(handle, at)
        a, b, c, d, _, _ = self._turn
        x, y = math.cos(angle), math.sin(angle)
        return abs(b * x + d * y) > abs(a * x + c * y)

    def _end_line(self, run: list[tuple[int, Box]], upright: bool, pale: bool) -> None:
        if run:
            line = line_of(run, HYPHENS, upright=upright)
            self.found.lines.append(line)
            self._pale += [line] if pale else []

    def _read_drawings(self) -> None:
        raw = self._raw
        for one in self._page.get_objects([raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_IMAGE], max_depth=8):
            if one.type == raw.FPDF_PAGEOBJ_IMAGE:
                self.found.figures += 1
            elif len(self.found.across) + len(self.found.down) < MOST_RULES:
                self._read_path(one)

    def _read_path(self, path: Any) -> None:
        raw = self._raw
        count = raw.FPDFPath_CountSegments(path)
        if not 2 <= count <= LONGEST_PATH:
            return
        matrix = path.get_matrix()
        outer = path.container
        while outer is not None:
            matrix = matrix.multiply(outer.get_matrix())
            outer = outer.container
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        raw.FPDFPath_GetDrawMode(path, fill, stroke)
        points = self._points(path, count, matrix)
        for part in points:
            left, top = min(x for x, _ in part), min(y for _, y in part)
            right, bottom = max(x for x, _ in part), max(y for _, y in part)
            if right - left <= THIN or bottom - top <= THIN:
                self._rule((left, top, right, bottom))
            elif stroke.value:
                for (x0, y0), (x1, y1) in itertools.pairwise(part):
                    self._rule((min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))

    def _points(self, path: Any, count: int, matrix: Any) -> list[list[tuple[float, float]]]:
        """The corners of each part of a drawing. Parts with curves are left out."""
        raw = self._raw
        a, b, c, d, e, f = self._turn
        x, y = ctypes.c_float(), ctypes.c_float()
        parts: list[list[tuple[float, float]]] = []
        curved: set[int] = set()
        for at in range(count):
            segment = raw.FPDFPath_GetPathSegment(path, at)
            kind = raw.FPDFPathSegment_GetType(segment)
            if not raw.FPDFPathSegment_GetPoint(segment, x, y):
                continue
            px, py = matrix.on_point(x.value, y.value)
            point = a * px + c * py + e, b * px + d * py + f
            if kind == raw.FPDF_SEGMENT_MOVETO or not parts:
                parts.append([])
            elif kind == raw.FPDF_SEGMENT_BEZIERTO:
                curved.add(len(parts) - 1)
            parts[-1].append(point)
            if raw.FPDFPathSegment_GetClose(segment):
                parts[-1].append(parts[-1][0])
        return [part for at, part in enumerate(parts) if at not in curved and len(part) > 1]

    def _rule(self, box: Box) -> None:
        left, top, right, bottom = box
        if bottom - top <= THIN < right - left:
            middle = (top + bottom) / 2
            self.found.across.append((left, middle, right, middle))
        elif right - left <= THIN < bottom - top:
            middle = (left + right) / 2
            self.found.down.append((middle, top, middle, bottom))

    def _read_fields(self) -> None:
        raw = self._raw
        for at in range(min(raw.FPDFPage_GetAnnotCount(self._page), 2_000)):
            annotation = raw.FPDFPage_GetAnnot(self._page, at)
            if not annotation:
                continue
            is_field = raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET
            name, value = (self._string(annotation, key) for key in ("T", "V" if is_field else "Contents"))
            if value:
                self.found.fields.append(f"{name}: {value}" if is_field and name else value)
            raw.FPDFPage_CloseAnnot(annotation)

    def _string(self, annotation: Any, key: str) -> str:
        raw = self._raw
        size = raw.FPDFAnnot_GetStringValue(annotation, key.encode(), None, 0)
        if size <= 2:
            return ""
        held = ctypes.create_string_buffer(min(size, 1 << 16))
        pointer = ctypes.cast(held, ctypes.POINTER(raw.FPDF_WCHAR))
        raw.FPDFAnnot_GetStringValue(annotation, key.encode(), pointer, len(held))
        return held.raw[: size - 2].decode("utf-16-le", "replace").strip("\0 ")


def _breaks(last: Box, box: Box) -> bool:
    """True if a glyph begins another line, or another column, than the one before it."""
    left, top, right, bottom = last
    middle = (box[1] + box[3]) / 2
    height, other = bottom - top, box[3] - box[1]
    if other > height:
        height = other
    slack = 0.25 * height
    return not top - slack <= middle <= bottom + slack or box[0] - right > WIDE_GAP * height or box[0] < left - height


def _leaves(last: Box, box: Box) -> bool:
    """True if a glyph does not follow the one before it on a line that runs upwards or downwards."""
    wide = max(last[2] - last[0], box[2] - box[0])
    middle = (box[0] + box[2]) / 2
    gap = max(box[1] - last[3], last[1] - box[3])
    return not last[0] - wide / 4 <= middle <= last[2] + wide / 4 or gap > WIDE_GAP * wide


def _stands_out(line: Line, shown: Any) -> bool:
    """True if the pixels of the line differ from each other."""
    left, top, right, bottom = (max(0, round(one)) for one in line.box)
    pixels, width = memoryview(shown.buffer).cast("B"), shown.stride
    rows = (
        pixels[y * width + left : y * width + min(right, shown.width)] for y in range(top, min(bottom, shown.height))
    )
    values = [one for row in rows for one in row]
    return not values or max(values) - min(values) > CONTRAST
