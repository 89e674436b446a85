"""Finds tables that no lines are drawn around, by the figures that stand below each other in columns."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median

from loci.files.extract.layout import Box, Line, union

NUMBER = r"[-+\u2013\u2014(<>~]{0,2}[$\u20ac\u00a3\u00a5]?[-(]?[.,]?\d[\d.,'\u2019/]*[KMBTx]?[%)]{0,2}[a-z*]?\)?"
FIGURE = re.compile(rf"{NUMBER}(?:[-\u2013]{NUMBER})?")
SHARE = re.compile(rf"{NUMBER} ?\({NUMBER}")
"""A figure, and its share of a whole: 12 (3.4%)."""
NOTE = re.compile(r"(?:\(\d\))+")
"""A mark of a footnote behind a label."""
HAS_FIGURES = re.compile(r"[\d\u2014\u2013*\u2026]|\.\.|--|N/?A|n/a|NM")
MARKS = frozenset("\u2014 \u2013 - -- * \u2026 .. N/A n/a n.a. NA NM $\u2014 $- \u2014% -% \u2014) *%".split())  # noqa: SIM905
"""Stand in a table in place of a figure."""
UNITS_BEFORE = frozenset("$ \u20ac \u00a3 \u00a5 US$ C$ A$ HK$ R$ S$ CHF (".split())  # noqa: SIM905
UNITS_BEHIND = frozenset(") % )% %) pts ppts bps".split())  # noqa: SIM905
PERIOD = re.compile(
    r"(?:19|20)\d\d|[QH][1-4]|FY|[Qq]uarter|[Mm]onths?|[Yy]ears?|[Ww]eeks|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|[Ee]nded"
)
YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d(?:[-\u2013/](?:\d\d){1,2})?[a-zA-Z*]?")
WORD_GAP = 0.9
"""The line heights of a gap that separates cells, if no figure stands beside it."""
FIGURE_GAP = 0.5
"""The same beside a figure, such as between a label and its figure."""
MOST_APART = 3.2
"""The line heights between two rows of one table."""
LONGEST_ROW = 5_000
"""Characters of a row. A longer one, and one with more cells than a table has columns, is of no table."""
MOST_COLUMNS = 60
MOST_LABELS = 6
"""Lines without figures between two rows with figures: labels of groups, and long labels."""
MOST_HEADER = 8
FEWEST_ROWS = 2
SHARE_ALIGNED = 0.6
"""The share of a column's figures that end at one place."""
LONGEST_CELL = 60
"""Characters of a cell of text beside figures. A longer one is running text."""


@dataclass
class Cell:
    """Words beside each other in a row."""

    text: str
    left: float
    right: float
    end: float
    """The right edge of the last digit: figures are aligned there, whatever sign follows."""
    is_figure: bool = False


@dataclass
class Row:
    """The cells of a row, from left to right."""

    cells: list[Cell]
    lines: list[Line]
    top: float = 0.0
    bottom: float = 0.0
    height: float = 0.0

    @cached_property
    def figures(self) -> list[Cell]:
        return [one for one in self.cells if one.is_figure]

    @cached_property
    def has_figures(self) -> bool:
        """True for a row of a table: with a label and figures, or with several figures; years alone are a header."""
        figures = self.figures
        if (
            all(NOTE.fullmatch(one.text) for one in figures)
            or self.is_header
            or any(len(one.text) > LONGEST_CELL for one in self.cells[1:])
        ):
            return False
        return len(figures) > 1 or not self.cells[0].is_figure

    @cached_property
    def is_header(self) -> bool:
        """True if each cell but the first, which names the rows, is a period, and there are several of them."""
        named = [one for one in self.cells if len(one.text) <= LONGEST_CELL and PERIOD.search(one.text)]
        years = sum(YEAR.fullmatch(one.text) is not None for one in named)
        return bool(named) and len(named) >= len(self.cells) - 1 and years == sum(one.is_figure for one in self.cells)


@dataclass
class FigureTable:
    """Rows of cells under a header."""

    box: Box
    header: list[str]
    rows: list[list[str]]
    columns: list[tuple[float, float]]
    """The left and the right edge of each column."""


def figure_tables(rows: Sequence[Sequence[Line]], across: Sequence[Box]) -> list[tuple[FigureTable, list[Line]]]:
    """All tables in rows of lines, each with its lines.

    `across` are the rules of the page: below the name of a group they show which columns are in it.
    """
    space = _usual_space(rows)
    read = [_row(one, space) for one in rows]
    found: list[tuple[FigureTable, list[Line]]] = []
    free = 0
    for first, last in _runs(read):
        made = _table(read, max(free, first - MOST_HEADER), first, last, across)
        if made is not None:
            table, top = made
            found.append((table, [line for row in read[top : last + 1] for line in row.lines]))
            free = last + 1
    return found


def figures_among(lines: Sequence[Line]) -> int:
    """The number of words that are a figure."""
    return sum(FIGURE.fullmatch(word) is not None for line in lines for word in line.text.split())


def figures_in(rows: Sequence[Sequence[str]]) -> int:
    """The number of cells that are a figure."""
    return sum(
        2 if SHARE.fullmatch(cell) else FIGURE.fullmatch(cell.replace(" ", "")) is not None
        for row in rows
        for cell in row
    )


def _usual_space(rows: Sequence[Sequence[Line]]) -> float:
    """The width of most spaces between words, in line heights: half of one or more in type of one width."""
    spaces: list[float] = []
    for line in (one for row in rows for one in row if one.starts):
        at = line.text.find(" ", len(line.text) // 3)
        if 0 < at < len(line.text) - 1:  # one of a line is enough
            spaces.append((line.starts[at + 1] - line.ends[at - 1]) / (line.size or 1.0))
    return median(spaces) if spaces else 0.0


def _row(lines: Sequence[Line], space: float) -> Row:
    height = max((one.size for one in lines), default=1.0) or 1.0
    row = Row([], list(lines), min(one.box[1] for one in lines), max(one.box[3] for one in lines), height)
    first = lines[0]
    if len(lines) == 1 and first.upright and first.table is None and _is_prose(first, height, space):
        row.cells = [Cell(first.text, first.box[0], first.box[2], first.box[2])]
    elif sum(len(one.text) for one in lines) <= LONGEST_ROW and all(one.upright and one.table is None for one in lines):
        row.cells = _joined_with_units(_cells(lines, height, space), height)
    return row


def _is_prose(line: Line, height: float, space: float) -> bool:
    """True if there is no figure in the line, or no gap before one: nearly all lines, which need no cells."""
    if not HAS_FIGURES.search(line.text):
        return True
    if len(line.text) <= LONGEST_CELL or not line.starts or ".." in line.text:
        return False
    wide, at = max(FIGURE_GAP, 1.5 * space) * height, line.text.find(" ", 1)
    while 0 < at < len(line.text) - 1:
        if line.starts[at + 1] - line.ends[at - 1] > wide:
            return False
        at = line.text.find(" ", at + 1)
    return True


def _words(line: Line) -> Iterator[Cell]:
    if not line.starts:
        yield Cell(line.text, line.box[0], line.box[2], line.box[2])
        return
    at = 0
    for word in line.text.split(" "):
        if word:
            digits = len(word.rstrip(")%*abcdefghr"))
            yield Cell(word, line.starts[at], line.ends[at + len(word) - 1], line.ends[at + max(1, digits) - 1])
        at += len(word) + 1


def _cells(lines: Sequence[Line], height: float, space: float) -> list[Cell]:
    cells: list[Cell] = []
    for line in lines:
        begins = True
        for word in _words(line):
            word.is_figure = FIGURE.fullmatch(word.text) is not None or word.text in MARKS
            is_apart = begins or _is_apart(cells[-1], word, height, space)
            begins = False
            if not _without_leaders(word.text):
                continue
            if is_apart:
                cells.append(word)
            else:
                last = cells[-1]
                is_figure = word.is_figure and (last.is_figure or last.text in UNITS_BEFORE)
                cells[-1] = Cell(f"{last.text} {word.text}", last.left, word.right, word.end, is_figure)
    for cell in cells:
        cell.text = _without_leaders(cell.text)
    return cells if len(cells) <= MOST_COLUMNS else []


def _without_leaders(text: str) -> str:
    bare = text.rstrip(". \u2026")
    return bare if len(text) - len(bare) > 2 or "\u2026" in text[len(bare) :] else text


def _is_apart(last: Cell, word: Cell, height: float, space: float) -> bool:
    gap = (word.left - last.right) / height
    if gap > max(WORD_GAP, 2 * space):
        return True
    if last.is_figure and word.is_figure:
        is_rest = len(word.text) == 3 and word.text.isdecimal() and gap < 0.4  # of 12 345
        return not is_rest and gap > 0.7 * space
    is_beside = last.is_figure or word.is_figure or word.text in UNITS_BEFORE or last.text.endswith("..")
    return is_beside and gap > max(FIGURE_GAP, 1.5 * space)


def _joined_with_units(cells: Sequence[Cell], height: float) -> list[Cell]:
    """The cells, with the signs that stand in columns of their own joined to their figures."""
    joined: list[Cell] = []
    for cell in cells:
        last = joined[-1] if joined else None
        if last is not None and cell.is_figure and last.text in UNITS_BEFORE:
            text = f"{last.text}{cell.text}" if len(last.text) == 1 else f"{last.text} {cell.text}"
            joined[-1] = Cell(text, last.left, cell.right, cell.end, is_figure=True)
        elif last is not None and last.is_figure and cell.text in UNITS_BEHIND and cell.left - last.right < 3 * height:
            space = " " if cell.text[0].isalpha() else ""
            joined[-1] = Cell(f"{last.text}{space}{cell.text}", last.left, cell.right, last.end, is_figure=True)
        else:
            joined.append(cell)
    return joined


def _runs(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """The first and the last row with figures of each run of such rows."""
    first = last = -1
    for at, row in enumerate(rows):
        if not row.has_figures:
            continue
        if first >= 0 and not _goes_on(rows, first, last, at):
            yield first, last
            first = -1
        if first < 0:
            first = at
        last = at
    if first >= 0:
        yield first, last


def _goes_on(rows: Sequence[Row], first: int, last: int, at: int) -> bool:
    """True if the row belongs to the table of the rows before it."""
    between = rows[last + 1 : at]
    if len(between) > MOST_LABELS or any(not one.cells for one in between):
        return False
    height = median(one.height for one in rows[last : at + 1])
    if any(lower.top - upper.bottom > MOST_APART * height for upper, lower in pairwise(rows[last : at + 1])):
        return False
    known = [cell for row in rows[max(first, last - 20) : last + 1] for cell in row.figures]
    figures = rows[at].figures
    fits = sum(any(_is_over(one, (other.left, other.right)) for other in known) for one in figures)
    if 2 * fits < len(figures):
        return False
    edge = min(cell.left for cell in known)
    if any(one.is_header and one.cells[-1].right > edge for one in between):  # of the next table
        return False
    wide = [one for one in between if len(one.cells) == 1 and one.cells[0].right > edge + 6 * height]
    return len(wide) < 3


def _table(
    rows: Sequence[Row], free: int, first: int, last: int, across: Sequence[Box]
) -> tuple[FigureTable, int] | None:
    """The table of these rows and its first row, the header's; None if they are no table."""
    body = rows[first : last + 1]
    with_figures = [one for one in body if one.has_figures]
    if len(with_figures) < FEWEST_ROWS:
        return None
    columns = _columns(with_figures)
    if columns is None or len(columns) > MOST_COLUMNS:
        return None
    zone = columns[1][0] if len(columns) > 1 else columns[0][0]
    begin, headers = _header(rows, free, first, columns, zone)
    has_labels = any(not one.cells[0].is_figure for one in with_figures)
    if not headers and (len(with_figures) <= FEWEST_ROWS or not has_labels or _is_list_of_pages(with_figures)):
        return None
    names = _names(headers, columns, across)
    filled = [_filled(one, columns) for one in rows[begin + len(headers) : last + 1]]
    joined = _unwrapped(filled, rows[begin + len(headers) : last + 1])
    lines = [line.box for row in rows[begin : last + 1] for line in row.lines]
    return FigureTable(union(lines), names if any(names) else [], joined, columns), begin


def _columns(rows: Sequence[Row]) -> list[tuple[float, float]] | None:
    """The edges of the columns, labels first; None if the figures do not stand below each other."""
    height = median(one.height for one in rows)
    labels = [row.cells[0] for row in rows if not row.cells[0].is_figure]
    figures = _merged([cell for row in rows for cell in row.figures])
    columns = [one for one in figures if len(one) > 1 or len(rows) < 5]
    columns = [one for one in columns if not all(NOTE.fullmatch(cell.text) for cell in one)] or columns
    aligned = [one for one in columns if _is_aligned(one, height)]
    if not aligned or 2 * len(aligned) < len(columns) or (not labels and len(aligned) < 2):
        return None
    found = [_edges(one) for one in columns]
    first = found[0]
    labels = [one for one in labels if not _is_over(one, first)]
    texts = [
        cell
        for row in rows
        for number, cell in enumerate(row.cells)
        if not cell.is_figure and (number or cell.left > first[0]) and not any(_is_over(cell, one) for one in found)
    ]
    for left, right in (_edges(one) for one in _merged(texts) if len(one) * 3 > len(rows)):
        if 5 * sum(_is_over(one, (left, right)) for one in labels) < len(labels) or not labels:
            found.append((left, right))
    if labels and (left := min(one.left for one in labels)) < min(found)[0]:
        found.append((left, min(max(one.right for one in labels), min(found)[0])))
    return sorted(found)


def _edges(cells: Sequence[Cell]) -> tuple[float, float]:
    return min(one.left for one in cells), max(one.right for one in cells)


def _is_over(cell: Cell, column: tuple[float, float]) -> bool:
    return cell.left < column[1] and column[0] < cell.right


def _merged(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that stand below each other, together."""
    columns: list[list[Cell]] = []
    right = float("-inf")
    for cell in sorted(cells, key=lambda one: one.left):
        if cell.left < right:
            columns[-1].append(cell)
        else:
            columns.append([cell])
        right = max(right, cell.right)
    return columns


def _is_aligned(cells: Sequence[Cell], height: float) -> bool:
    """True if most of the cells end, or begin, at one place, or have one middle."""
    for places in (
        [one.end for one in cells if one.text not in MARKS],
        [one.left for one in cells],
        [one.left + one.right for one in cells],
    ):
        if places and _most_at_one_place(sorted(places), 0.35 * height) >= SHARE_ALIGNED * len(places):
            return True
    return False


def _most_at_one_place(places: Sequence[float], room: float) -> int:
    return max(bisect_left(places, one + 2 * room) - at for at, one in enumerate(places))


def _is_list_of_pages(rows: Sequence[Row]) -> bool:
    """True for a table of contents: one figure in each row, never smaller than the one before."""
    numbers = [one.figures[-1].text for one in rows]
    if any(len(one.figures) > 1 for one in rows) or not all(one.isdecimal() and len(one) < 5 for one in numbers):
        return False
    return all(int(one) <= int(two) for one, two in pairwise(numbers))


def _header(
    rows: Sequence[Row], free: int, first: int, columns: Sequence[tuple[float, float]], zone: float
) -> tuple[int, list[Row]]:
    """The number of the table's first row, and the rows of its header."""
    height = rows[first].height
    headers: list[int] = []
    for at in range(first - 1, free - 1, -1):
        row = rows[at]
        if not row.cells or row.has_figures or rows[at + 1].top - row.bottom > MOST_APART * height:
            break
        over = [one for one in row.cells if one.right > zone]
        if not over:  # a label of a group, or of the header's corner
            if first - at > 3 and not headers:
                break
            continue
        is_unit = len(row.cells) == 1 and row.cells[0].text.startswith("(")
        if is_unit or _is_text_across(row, columns, zone):
            break
        headers.append(at)
    return (headers[-1], [*rows[headers[-1] : headers[0] + 1]]) if headers else (first, [])


def _is_text_across(row: Row, columns: Sequence[tuple[float, float]], zone: float) -> bool:
    """True if a cell of the row is a title or running text, which begins far left of the columns of figures."""
    is_long = any(len(one.text) > LONGEST_CELL for one in row.cells[1:])
    if is_long or row.cells[-1].left > columns[-1][1] + 3 * row.height:
        return True
    room = 3 * row.height
    return row.cells[0].left < zone - room and row.cells[0].right > zone + (room if len(row.cells) > 1 else row.height)


def _names(headers: Sequence[Row], columns: Sequence[tuple[float, float]], across: Sequence[Box]) -> list[str]:
    """The name of each column, out of the header's rows from top to bottom."""
    names: list[list[str]] = [[] for _ in columns]
    for number, row in enumerate(headers):
        below = headers[number + 1 :]
        is_group = len(columns) > 2 and any(len(one.cells) > len(row.cells) for one in below)
        for at, cell in _over(row, columns, across, is_group=is_group):
            if cell.text not in names[at]:
                names[at].append(cell.text)
    return [" ".join(one) for one in names]


def _over(
    row: Row, columns: Sequence[tuple[float, float]], across: Sequence[Box], *, is_group: bool
) -> Iterator[tuple[int, Cell]]:
    """Each column with the cell of a header's row that stands over it."""
    for number, cell in enumerate(row.cells):
        touched = [at for at, (left, right) in enumerate(columns) if cell.left < right and left < cell.right]
        if not touched or touched == [0]:
            middle = (cell.left + cell.right) / 2
            nearest = min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - middle))
            touched = [0] if touched == [0] and cell.left < columns[0][1] else [nearest]
        if is_group and touched != [0]:
            touched = _spanned(row, number, touched, columns, across)
        for at in touched:
            yield at, cell


def _spanned(
    row: Row, number: int, touched: list[int], columns: Sequence[tuple[float, float]], across: Sequence[Box]
) -> list[int]:
    """The columns of a group: those above the rule below its name, else those with the name in their middle."""
    cell = row.cells[number]
    for left, top, right, _ in across:
        is_below = row.bottom - row.height / 2 <= top <= row.bottom + row.height
        if is_below and left <= cell.left + 3 and cell.right - 3 <= right:
            under = [at for at, (begin, end) in enumerate(columns) if left - 3 <= (begin + end) / 2 <= right + 3]
            if under and len(under) < len(columns):
                return under
    groups = [one for one in row.cells if one.right > columns[1][0]]
    share, rest = divmod(len(columns) - 1, max(1, len(groups)))
    if len(groups) > 1 < share and not rest and cell in groups:
        equal = range(1 + share * groups.index(cell), 1 + share * (groups.index(cell) + 1))
        if all(one in equal for one in touched):
            return [*equal]
    others = [one for at, one in enumerate(row.cells) if at != number]
    middle = (cell.left + cell.right) / 2
    ranges = [
        (abs((columns[begin][0] + columns[end][1]) / 2 - middle), begin, end)
        for begin in range(1, touched[0] + 1)
        for end in range(touched[-1], len(columns))
        if not any(_is_over(one, columns[at]) for one in others for at in range(begin, end + 1))
    ]
    if not ranges:
        return touched
    best = min(ranges)
    if PERIOD.search(cell.text):  # stands over several columns
        best = max((one for one in ranges if one[0] <= best[0] + row.height), key=lambda one: one[2] - one[1])
    elif best[0] >= abs((columns[touched[0]][0] + columns[touched[-1]][1]) / 2 - middle) - row.height / 2:
        return touched
    return [*range(best[1], best[2] + 1)]


def _filled(row: Row, columns: Sequence[tuple[float, float]]) -> list[str]:
    """The texts of the row by column."""
    texts: list[list[str]] = [[] for _ in columns]
    for number, cell in enumerate(row.cells):
        shares = [min(cell.right, right) - max(cell.left, left) for left, right in columns]
        at = max(range(len(columns)), key=shares.__getitem__)
        if number == 0 and not cell.is_figure and cell.left < columns[0][1]:
            at = 0
        texts[at].append(cell.text)
    return [" ".join(one) for one in texts]


def _unwrapped(rows: Sequence[list[str]], places: Sequence[Row]) -> list[list[str]]:
    """The rows, with labels of several lines whole."""
    joined: list[list[str]] = []
    for at, row in enumerate(rows):
        is_near = at > 0 and places[at].top - places[at - 1].bottom < 0.6 * places[at].height
        if is_near and row[0][:1].islower() and _takes(joined[-1], row):
            label, *cells = joined[-1]
            joined[-1] = [f"{label} {row[0]}", *(one or other for one, other in zip(cells, row[1:], strict=True))]
        else:
            joined.append(row)
    return joined


def _takes(last: Sequence[str], row: Sequence[str]) -> bool:
    """True if the label of a row may go on in the next row: figures stand beside one of them only."""
    return bool(last[0]) and not last[0].endswith(":") and not (any(last[1:]) and any(row[1:]))
