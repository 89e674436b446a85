"""Puts the lines of a page into the order in which people read them, and joins them to paragraphs."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in points from the top left."""
HYPHEN = "\x02"
"""Stands at the end of a line that ends inside a word."""
COLUMN_LINES = 3
MOST_LINES = 2_000
"""The most lines of a page in which columns are looked for."""
COLUMN_CHARACTERS = 16
"""Characters on the median line of a column of text. Cells of a table are shorter."""
NARROWEST_GUTTER = 6.0
MOST_ACROSS = 0.7
"""The share of lines that may run across both columns, such as a title."""
WIDE = ((0x2E80, 0x9FFF), (0xFF00, 0xFFEF))
HEADING_SIZE = 1.15
"""The height of a heading, as a multiple of the usual height of a line."""
HEADING_CHARACTERS = 150


@dataclass
class Line:
    """Glyphs that stand beside each other."""

    text: str
    box: Box
    size: float
    upright: bool = True
    starts: list[float] = field(default_factory=list[float])
    """The left edge of each character; empty if unknown."""
    ends: list[float] = field(default_factory=list[float])
    """The right edge of each character."""
    table: int | None = None
    """The table that this entry of the reading order stands for, instead of a line."""

    @property
    def width(self) -> float:
        return self.box[2] - self.box[0]

    @property
    def is_wordy(self) -> bool:
        wide = sum(ord(one) > 0x2E7F for one in self.text)
        return len(self.text) + 2 * wide >= COLUMN_CHARACTERS


TableLines = Callable[[list[list[Line]]], list[Line]]
"""Takes the rows of a column of text, and returns their lines, one line in place of each table."""


@dataclass
class TextBlock:
    """A paragraph, a heading or a table."""

    lines: list[Line]
    heading: bool = False
    text: str = field(default="", init=False)

    @property
    def box(self) -> Box:
        return union([one.box for one in self.lines])


def line_of(run: Sequence[tuple[int, Box]], hyphens: frozenset[int], *, upright: bool) -> Line:
    """The line of these glyphs, in the order in which they were drawn."""
    if len(run) > 3 and not any(code & 0xFF for code, _ in run if code != ord(" ")):
        run = [(code >> 8 or code, box) for code, box in run]  # the font's table of letters has its bytes swapped
    units = "".join(HYPHEN if code in hyphens else chr(code) for code, _ in run)
    text = units.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not units.isascii() else units
    boxes = [box for _, box in run]
    sizes = [box[3] - box[1] if upright else box[2] - box[0] for box in boxes]
    known = boxes if len(text) == len(boxes) else []
    starts, ends = [box[0] for box in known], [box[2] for box in known]
    return Line(text, union(boxes), median(sizes), upright, starts, ends)


def union(boxes: Sequence[Box]) -> Box:
    """The smallest box around all of them."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def in_reading_order(lines: Sequence[Line], tables: TableLines, depth: int = 0) -> list[Line]:
    """Columns from left to right, and each from top to bottom. What runs across columns separates them.

    `tables` is asked for each column of text.
    """
    gutter = _gutter(lines) if depth < 6 else None
    if gutter is None:
        return tables(rows_of(lines))
    ordered: list[Line] = []
    band: list[Line] = []
    for line in sorted(lines, key=lambda one: (one.box[1], one.box[0])):
        if line.box[0] < gutter < line.box[2]:
            ordered += _columns(band, gutter, tables, depth)
            band = []
            ordered.append(line)
        else:
            band.append(line)
    return ordered + _columns(band, gutter, tables, depth)


def paragraphs(lines: Sequence[Line], usual: float) -> list[TextBlock]:
    """Lines in reading order, joined as long as they stand closely below each other."""
    blocks: list[TextBlock] = []
    room = _usual_gap(lines) + 0.2 * usual
    for line in lines:
        last = blocks[-1].lines[-1] if blocks else None
        if last is not None and _continues(blocks[-1], last, line, room):
            blocks[-1].lines.append(line)
        else:
            blocks.append(TextBlock([line]))
    for block in blocks:
        block.text = _joined(block.lines)
        first = block.lines[0]
        block.heading = (
            first.table is None
            and first.upright
            and first.size >= HEADING_SIZE * usual
            and 1 < len(block.text) <= HEADING_CHARACTERS
            and any(one.isalpha() for one in block.text)
        )
    return [block for block in blocks if block.text.strip() or block.lines[0].table is not None]


class Sizes:
    """The height of the lines that hold most of the text of the pages so far."""

    def __init__(self) -> None:
        self._weights: dict[float, int] = {}

    def usual(self, lines: Sequence[Line]) -> float:
        """The height of most text, with these lines of the next page."""
        for line in lines:
            size = round(line.size * 2) / 2
            self._weights[size] = self._weights.get(size, 0) + len(line.text)
        return max(self._weights, key=lambda size: (self._weights[size], -size), default=0.0)


def _usual_gap(lines: Sequence[Line]) -> float:
    """The distance between most lines that stand below each other."""
    gaps = [
        line.box[1] - last.box[3]
        for last, line in itertools.pairwise(lines)
        if line.box[0] < last.box[2] and line.box[2] > last.box[0] and abs(line.box[1] - last.box[3]) < last.size
    ]
    return max(0.0, median(gaps)) if gaps else 0.0


def _gutter(lines: Sequence[Line]) -> float | None:
    """The middle of a gap that separates two columns of running text, if there is one."""
    if not 2 * COLUMN_LINES <= len(lines) <= MOST_LINES:
        return None
    edges = sorted({round(one.box[0], 1) for one in lines})
    most = MOST_ACROSS * len(lines)
    best: tuple[int, float, float] | None = None
    left_edges = sorted((one.box[0], one.box[2]) for one in lines)
    for edge in edges[1:]:
        ends = [right for left, right in left_edges if left < edge - 0.5 and right <= edge + 0.5]
        across = sum(left < edge - 0.5 and right > edge + 0.5 for left, right in left_edges)
        if not ends or across > most:
            continue
        # Some lines are longer than their column by a glyph or so: they do not close the gutter.
        gap = edge - max(ends)
        if gap < NARROWEST_GUTTER:
            continue
        middle = edge - gap / 2
        sides = [one for one in lines if one.box[2] <= middle], [one for one in lines if one.box[0] >= middle]
        if all(_is_column(side) for side in sides) and _overlap(*sides):
            key = (across, -gap, middle)
            best = key if best is None else min(best, key)
    return None if best is None else best[2]


def _is_column(lines: Sequence[Line]) -> bool:
    texts = [one for one in lines if one.table is None and one.upright]
    return len(texts) >= COLUMN_LINES and 2 * sum(one.is_wordy for one in texts) > len(texts)


def _overlap(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """True if the columns stand beside each other for some lines."""
    top = max(min(one.box[1] for one in side) for side in (left, right))
    bottom = min(max(one.box[3] for one in side) for side in (left, right))
    return bottom - top > 2 * median(one.size for one in left)


def _columns(band: Sequence[Line], gutter: float, tables: TableLines, depth: int) -> list[Line]:
    left = [one for one in band if one.box[2] <= gutter]
    right = [one for one in band if one.box[2] > gutter]
    return in_reading_order(left, tables, depth + 1) + in_reading_order(right, tables, depth + 1)


def rows_of(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines from top to bottom. Lines of nearly one height are a row, from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda one: one.box[1] + one.box[3]):
        middle = (line.box[1] + line.box[3]) / 2
        first = rows[-1][0] if rows else None
        beside = first is not None and first.upright and line.upright and first.table is None and line.table is None
        if first is not None and beside and first.box[1] <= middle <= first.box[3] and line.box[1] < first.box[3] - 1:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda one: one.box[0]) for row in rows]


def _continues(block: TextBlock, last: Line, line: Line, room: float) -> bool:
    if last.table is not None or line.table is not None or last.upright != line.upright:
        return False
    big, small = max(last.size, line.size), min(last.size, line.size)
    if big > HEADING_SIZE * small and not _beside(last, line):
        return False
    if not last.upright:
        return line.box[0] - last.box[2] < big and last.box[0] - line.box[2] < big
    if _beside(last, line):
        return True
    gap = line.box[1] - last.box[3]
    left, _, right, _ = block.box
    return -big < gap < min(room, big) and line.box[0] < right and line.box[2] > left


def _beside(last: Line, line: Line) -> bool:
    middle = (line.box[1] + line.box[3]) / 2
    return last.box[1] <= middle <= last.box[3] and line.box[0] >= last.box[2] - 1


def _joined(lines: Sequence[Line]) -> str:
    """The lines as a text: words that were cut are whole again, and lines that end early stay lines."""
    if not lines or lines[0].table is not None:
        return ""
    right = max(one.box[2] for one in lines)
    wide = right - min(one.box[0] for one in lines)
    text = lines[0].text
    row = False  # True if the last line is one of several cells beside each other
    for last, line in itertools.pairwise(lines):
        beside = _beside(last, line)
        if beside:
            text += " " + line.text
        elif text.endswith(HYPHEN) or (text.endswith("-") and text[-2:-1].isalpha() and line.text[:1].islower()):
            text = text[:-1] + line.text
        elif row or (last.upright and right - last.box[2] > 0.25 * wide):
            text += "\n" + line.text
        else:
            text += ("" if _is_wide(text[-1:]) and _is_wide(line.text[:1]) else " ") + line.text
        row = beside
    return text.replace(HYPHEN, "-").strip()


def _is_wide(text: str) -> bool:
    """True for Chinese and Japanese, which are written without spaces."""
    return bool(text) and any(low <= ord(text) <= high for low, high in WIDE)
