"""Turns the cells of a sheet into tables: with titles, headers, and the places of their cells."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

GAP = 2
"""Empty rows across which a table may go on, or its title stand."""
LONGEST_TITLE = 200
MOST_TITLES = 5
Merged = Sequence[tuple[tuple[int, int], tuple[int, int]]]
"""Ranges of merged cells: the top left cell and the bottom right one."""
LOOKED_AT = 20
LONGEST = 120
"""Characters of a column's name."""
Kinds = Sequence[str]
DATA = frozenset("nyd")
FIGURES = frozenset("nb")
MARKS = frozenset("$ € £ ¥ % ) ( * - \u2013 \u2014 … .. : NA n/a N/A n.a.".split())  # noqa: SIM905
"""Cells that stand for a figure, or beside one."""
SPACER = 3
"""Empty columns that a table may have between its columns."""
MOST_HEADER = 6
"""Rows of a header."""
Cells = Sequence[Sequence[str]]
MOST = 200
"""Blocks of a sheet. One with more has cells scattered over it, and is read as a single table."""


@dataclass(frozen=True)
class CellBlock:
    """Cells with a rectangle of their own; `bottom` and `right` are the first row and column behind it."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def rows(self) -> int:
        return self.bottom - self.top

    @property
    def columns(self) -> int:
        return self.right - self.left


@dataclass(frozen=True)
class Grid:
    """The cells of a sheet as texts, the kind of each, and the place of the first one."""

    name: str
    cells: list[list[str]]
    kind: Callable[[int, int], str]
    """The kind of the cell in a row and a column, counted from the first cell."""
    row: int = 0
    column: int = 0
    merged: Merged = ()
    beside: bool = True
    """True if empty columns separate tables."""


@dataclass(frozen=True)
class Table:
    """A block with what its first rows are."""

    block: CellBlock
    title: tuple[tuple[int, int], ...] = ()
    """The cells above it that name it, by row and column of the grid."""
    heading: int = 0
    """The number of rows of the header."""
    header: Sequence[str] = field(default=())


def tables(grid: Grid) -> list[dict[str, Any]]:
    """The tables on the sheet, as sections of a reading."""
    found: list[Table] = []
    for block in _as_people_see(grid, blocks(grid.cells, beside=grid.beside)):
        table = _table(grid, block)
        above = _place_above(found, block)
        while above is not None and _is_named_by(grid, table, found[above]):
            upper = found.pop(above)
            left = upper.block.left + _is_numbered_title(grid, upper.block)
            lines = [(row, left) for row in range(upper.block.top, upper.block.bottom)]
            table = replace(table, title=(*upper.title, *lines, *table.title))
            above = _place_above(found, block)
        if above is not None and not table.title and _goes_on(found[above], table):
            whole = found[above].block
            found[above] = replace(found[above], block=replace(whole, bottom=block.bottom))
        else:
            found.append(table)
    listed = [_as_list(one) for one in found]
    return [_section(grid, one) for one in sorted(listed, key=lambda one: (one.block.top, one.block.left))]


def _as_people_see(grid: Grid, found: Sequence[CellBlock]) -> list[CellBlock]:
    """Join the blocks that only empty columns or rows within one table separate."""
    joined_blocks = list(found)
    figures = cache(partial(_first_figures, grid))
    while pair := next(_pairs_beside(grid, joined_blocks, figures), None):
        joined_blocks = _union(joined_blocks, pair)
    for block in sorted(joined_blocks, key=lambda one: one.top):
        if block in joined_blocks and (above := _headers_above(grid, block, joined_blocks)):
            joined_blocks = _union(joined_blocks, [block, *above])
    return sorted(joined_blocks, key=lambda one: (one.top, one.left))


def _union(found: Sequence[CellBlock], some: Sequence[CellBlock]) -> list[CellBlock]:
    """Put one block in place of some of them, and of all that lie in its rectangle."""
    whole, others = some[0], list(found)
    waiting = list(some)
    while waiting:
        whole = CellBlock(
            min(whole.top, *(one.top for one in waiting)),
            max(whole.bottom, *(one.bottom for one in waiting)),
            min(whole.left, *(one.left for one in waiting)),
            max(whole.right, *(one.right for one in waiting)),
        )
        others = [one for one in others if one not in waiting]
        waiting = [one for one in others if _overlap(one, whole)]
    return [*others, whole]


def _overlap(one: CellBlock, other: CellBlock) -> bool:
    return one.top < other.bottom and other.top < one.bottom and one.left < other.right and other.left < one.right


def _pairs_beside(
    grid: Grid, found: Sequence[CellBlock], figures: Callable[[CellBlock], int | None]
) -> Iterator[tuple[CellBlock, CellBlock]]:
    """Yield blocks with labels, each with a block of figures beside it that has none of its own.

    `figures`: the first row with figures of such a block; None for another block.
    """
    for right in found:
        near = [one for one in found if one.right <= right.left <= one.right + SPACER and one.bottom > right.top]
        if near and (first := figures(right)) is not None:
            for left in near:
                rows = range(max(first, left.top), min(right.bottom, left.bottom))
                if len(rows) * 2 > right.bottom - first and _has_labels(grid, left, rows):
                    yield left, right


def _first_figures(grid: Grid, block: CellBlock) -> int | None:
    """Return the first row of a block of figures; None if some column of the block has words beside figures."""
    columns = [[grid.kind(row, column) for row in range(block.top, block.bottom)] for column in _span(block)]
    starts = [next((at for at, one in enumerate(kinds) if one in FIGURES), None) for kinds in columns]
    known = [one for one in starts if one is not None]
    if not known:
        return None
    first = min(known)
    for at, kinds in enumerate(columns):
        below = kinds[first:]
        words = [row for row, one in enumerate(below, first) if one == "s" and not _is_mark(grid, block, row, at)]
        if len(words) * 2 > sum(one != "e" for one in below):
            return None
    return block.top + first


def _is_mark(grid: Grid, block: CellBlock, row: int, column: int) -> bool:
    return grid.cells[block.top + row][block.left + column].strip() in MARKS


def _has_labels(grid: Grid, block: CellBlock, rows: range) -> bool:
    """True if a column of the block names these rows: by words, dates or years."""
    for column in _span(block):
        kinds = [grid.kind(row, column) for row in rows]
        if sum(one in "sdy" for one in kinds) * 2 > sum(one != "e" for one in kinds):
            return True
    return False


def _headers_above(grid: Grid, block: CellBlock, found: Sequence[CellBlock]) -> list[CellBlock]:
    """Return the blocks with the header of a block of figures, or its upper lines, if empty rows separate them."""
    above = [
        one
        for one in found
        if one.bottom <= block.top <= one.bottom + GAP
        and one.rows <= MOST_HEADER
        and block.left <= one.left
        and one.right <= block.right
        and not _has_figures(grid, one)
    ]
    if not above or not _has_figures(grid, block):
        return []
    if _table(grid, block).heading:  # its corner is its own: only lines above the other columns belong to it
        above = [one for one in above if one.left > block.left]
    cells = [(row, column) for one in above for row in range(one.top, one.bottom) for column in _span(one)]
    filled = {column for row, column in cells if grid.kind(row, column) != "e"}
    return above if len(filled) > 1 else []


def _has_figures(grid: Grid, block: CellBlock) -> bool:
    """Return True if there is a figure in the first rows of the block."""
    rows = range(block.top, min(block.bottom, block.top + LOOKED_AT))
    return any(grid.kind(row, column) in FIGURES for row in rows for column in _span(block))


def _has_text(grid: Grid, block: CellBlock, column: int) -> bool:
    return any(column < len(row) and row[column] for row in grid.cells[block.top : block.bottom])


def _span(block: CellBlock) -> range:
    return range(block.left, block.right)


def _table(grid: Grid, block: CellBlock) -> Table:
    title: list[tuple[int, int]] = []
    while block.columns > 1 and block.rows > 1 and len(title) < MOST_TITLES:
        row = grid.cells[block.top]
        filled = [at for at in range(block.left, min(block.right, len(row))) if row[at]]
        if len(filled) != 1 or len(row[filled[0]]) > LONGEST_TITLE or not _is_text(grid, block):
            break
        if not _is_wider_below(grid, block):
            break
        title.append((block.top, filled[0]))
        block = replace(block, top=block.top + 1)
    rows = [*range(block.top, min(block.bottom, block.top + LOOKED_AT + 2))]
    texts = [_padded(grid.cells[row], block) for row in rows]
    kinds = [[grid.kind(row, column) for column in _span(block)] for row in rows]
    count = header_rows(*_under_merged(grid, block, kinds, texts))
    header = joined(_filled(grid, block, texts[:count])) if count else ()
    if count > 1:  # a group's name does not stand over an empty column within the group
        used = {at for at in range(block.columns) if _has_text(grid, block, block.left + at)}
        header = [name if at in used else "" for at, name in enumerate(header)]
    return Table(block, tuple(title), count, header)


def _under_merged(
    grid: Grid, block: CellBlock, kinds: list[list[str]], texts: list[list[str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """The kinds and the texts. Cells of the first row that are merged downwards, as a header's corner, are repeated."""
    kinds, texts = [[*row] for row in kinds], [[*row] for row in texts]
    for (top, left), (bottom, right) in grid.merged:
        at = left - grid.column - block.left
        if left == right and top == grid.row + block.top < bottom and 0 <= at < block.columns and len(kinds) > 1:
            kinds[1][at], texts[1][at] = kinds[0][at], texts[0][at]
    return kinds, texts


def _is_text(grid: Grid, block: CellBlock) -> bool:
    return any(grid.kind(block.top, column) == "s" for column in _span(block))


def _is_wider_below(grid: Grid, block: CellBlock) -> bool:
    """True if the rows below have more filled cells than this one: else it is a row of a list."""
    below = grid.cells[block.top + 1 : block.top + 1 + LOOKED_AT]
    return any(sum(map(bool, row[block.left : block.right])) > 1 for row in below)


def _place_above(found: Sequence[Table], block: CellBlock) -> int | None:
    """The place of the last table that stands right above the block."""
    return next((at for at, one in reversed([*enumerate(found)]) if _is_above(one.block, block)), None)


def _is_above(upper: CellBlock, lower: CellBlock) -> bool:
    return upper.bottom <= lower.top <= upper.bottom + GAP and (_spans(lower, upper) or _spans(upper, lower))


def _spans(wide: CellBlock, narrow: CellBlock) -> bool:
    return wide.left <= narrow.left + 1 and narrow.right <= wide.right


def _is_named_by(grid: Grid, table: Table, upper: Table) -> bool:
    """Return True if the upper table has the title of this one, or both are cells of a list."""
    block, is_cell = upper.block, _is_cell(upper.block)
    if _is_numbered_title(grid, block) and table.block.columns > block.columns:
        return not table.block.left > block.right and len(table.title) < MOST_TITLES
    if block.columns > 1 or not _spans(table.block, block) or not (is_cell or table.block.columns > 1):
        return False
    cells = [(grid.kind(row, block.left), grid.cells[row][block.left]) for row in range(block.top, block.bottom)]
    if any(kind != "s" or len(text) > LONGEST_TITLE for kind, text in cells):
        return False
    is_short = len(upper.title) + block.rows + len(table.title) <= MOST_TITLES
    return is_short or (is_cell and _is_cell(table.block))


def _is_numbered_title(grid: Grid, block: CellBlock) -> bool:
    """True if the block is one line of a number and a text: the number of a table, and its name."""
    if block.rows != 1 or block.columns != 2 or len(grid.cells[block.top][block.left + 1]) > LONGEST_TITLE:
        return False
    return grid.kind(block.top, block.left) in FIGURES and grid.kind(block.top, block.left + 1) == "s"


def _is_cell(block: CellBlock) -> bool:
    return block.rows == 1 and block.columns == 1


def _as_list(table: Table) -> Table:
    """Cells below each other in which no table follows are a list, and none is the title of another."""
    if not table.title or not _is_cell(table.block):
        return table
    columns = [*(column for _, column in table.title), table.block.left]
    return Table(replace(table.block, top=table.title[0][0], left=min(columns), right=max(columns) + 1))


def _goes_on(upper: Table, lower: Table) -> bool:
    """True if the lower block has the rest of the upper one's rows, below an empty row."""
    if lower.heading or lower.title or not upper.heading or lower.block.columns == 1 < upper.block.columns:
        return False
    return upper.block.left <= lower.block.left and lower.block.right <= upper.block.right


def _padded(row: Sequence[str], block: CellBlock) -> list[str]:
    cells = list(row[block.left : block.right])
    return cells + [""] * (block.columns - len(cells))


def _filled(grid: Grid, block: CellBlock, lines: list[list[str]]) -> list[list[str]]:
    """The header's lines, with the value of merged cells in each of them."""
    filled = [list(line) for line in lines]
    for (top, left), (bottom, right) in grid.merged:
        rows = range(max(top - grid.row, block.top), min(bottom - grid.row, block.top + len(lines) - 1) + 1)
        columns = range(max(left - grid.column, block.left), min(right - grid.column, block.right - 1) + 1)
        if rows and columns and rows[0] == top - grid.row and columns[0] == left - grid.column:
            value = filled[rows[0] - block.top][columns[0] - block.left]
            for row in rows:
                for column in columns:
                    filled[row - block.top][column - block.left] = value
    return filled


def _section(grid: Grid, table: Table) -> dict[str, Any]:
    block = table.block
    first = block.top + table.heading
    section: dict[str, Any] = {
        "kind": "table",
        "sheet": grid.name,
        "first_row": grid.row + block.top,
        "first_column": grid.column + block.left,
        "header": list(table.header),
        "rows": [row[block.left : block.right] for row in grid.cells[first : block.bottom]],
    }
    if table.title:
        texts = [grid.cells[row][column].strip() for row, column in table.title]
        section["title"] = " - ".join(texts)[:500]
        places = [(grid.row + row, grid.column + column) for row, column in table.title]
        section["title_cells"] = [[*place, text] for place, text in zip(places, texts, strict=True)]
    if table.heading > 1:
        section["header_rows"] = table.heading
    return section


def header_rows(kinds: Sequence[Kinds], texts: Sequence[Sequence[str]]) -> int:
    """Return how many of the rows are a header. Both arguments hold the table's first rows."""
    filled = [row for row, one in enumerate(kinds) if set(one) - {"e"}]
    if (count := _rows_above_figures(kinds)) > 1:
        return count
    for lines in (1, 0):
        below = filled[lines:]
        is_grouped = not lines or (len(filled) > 2 and _is_group_line(kinds[filled[0]], kinds[filled[1]]))
        if len(below) > 1 and is_grouped and _is_header([kinds[row] for row in below], [texts[row] for row in below]):
            return below[0] + 1
    return 0


def _rows_above_figures(kinds: Sequence[Kinds]) -> int:
    """Return the rows above the first row with figures; 0 if they are no header of several lines.

    The first column names rows, so that at most the header's corner stands in it.
    """
    count = next((row for row, one in enumerate(kinds) if not FIGURES.isdisjoint(one)), 0)
    lines = kinds[:count]
    if not 1 < count <= MOST_HEADER or sum(one[0] != "e" for one in lines) > 1 or kinds[count][0] in FIGURES:
        return 0
    if any(one[0] != "e" and set(one[1:]) == {"e"} for one in lines):  # the label of the rows below it
        return 0
    columns = [at for at in range(len(kinds[0])) if _is_mostly_data([row[at] for row in kinds[count:]])]
    named = [at for at in columns if any(line[at] != "e" for line in lines)]
    return count if len(named) > 1 and len(named) * 2 > len(columns) else 0


def joined(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the columns, out of all lines of the header: "2025 Q1"."""
    plain = [[" ".join(one.split()) for one in line] for line in lines if any(line)]
    spread, begun = list[list[str]](), set[int]()
    for at, line in enumerate(plain):
        spread.append(_spread(line, plain[at + 1 :], begun))
        begun |= {column for column, name in enumerate(line) if name}
    return [" ".join(dict.fromkeys(name for name in column if name)) for column in zip(*spread, strict=True)]


def _spread(line: Sequence[str], below: Sequence[Sequence[str]], begun: Collection[int]) -> list[str]:
    """Return the line with each group's name over all of its columns: those that have names in one line below it.

    `begun`: the columns in which a group of a line above begins.
    """
    depths = [next((at for at, names in enumerate(below) if names[column]), None) for column in range(len(line))]
    group, depth, spread = "", None, list[str]()
    for column, name in enumerate(line):
        if name or column in begun:
            group, depth = name, depths[column]
        spread.append(name or (group if depth is not None and depth == depths[column] else ""))
    return spread


def _is_group_line(above: Kinds, below: Kinds) -> bool:
    """True if the upper line names groups of columns: it has gaps, and the lower one fills them."""
    groups = [one for one in above if one != "e"]
    if len(groups) < 2 or any(one not in "sy" for one in groups):
        return False
    filled = [at for at, one in enumerate(below) if one != "e"]
    gaps = [at for at, one in enumerate(above) if one == "e" and at and below[at] != "e"]
    return bool(gaps) and len(filled) > len(groups) and all(below[at] in "sy" for at in filled)


def _is_header(kinds: Sequence[Kinds], texts: Sequence[Sequence[str]]) -> bool:
    first, below = kinds[0], kinds[1 : LOOKED_AT + 1]
    filled = [at for at, one in enumerate(first) if one != "e"]
    names = [texts[0][at] for at in filled]
    if not filled or not below or max(map(len, names)) > LONGEST:
        return False
    if any(first[at] != "s" for at in filled):
        return _is_run_of_periods(first, below, names)
    contrasts = sum(_is_mostly_data([row[at] for row in below]) for at in filled)
    if contrasts:
        return len(filled) > 1 or len(first) == 1
    if len(filled) < max(2, len(first) - 1) or len(set(names)) < len(names):
        return False
    return not any(texts[0][at] in {row[at] for row in texts[1 : LOOKED_AT + 1]} for at in filled)


def _is_run_of_periods(first: Kinds, below: Sequence[Kinds], names: Sequence[str]) -> bool:
    """True for a header such as: Item, 2023, 2024. Its columns hold no years themselves."""
    periods = [at for at, one in enumerate(first) if one in "yd"]
    others = [at for at, one in enumerate(first) if one not in "yde"]
    if len(periods) < 1 + (first[0] != "e") or any(first[at] != "s" for at in others) or first[0] not in "se":
        return False
    same = sum(row[at] == first[at] for row in below for at in periods)
    return len(set(names)) == len(names) and same * 2 < len(below) * len(periods)


def _is_mostly_data(column: Kinds) -> bool:
    filled = [one for one in column if one != "e"]
    return bool(filled) and sum(one in DATA or one == "b" for one in filled) * 2 > len(filled)


def blocks(cells: Cells, *, beside: bool = True) -> list[CellBlock]:
    """The blocks, from top to bottom. Unless `beside`, empty columns separate nothing."""
    width = max(map(len, cells), default=0)
    whole = CellBlock(0, len(cells), 0, width)
    found: list[CellBlock] = []
    waiting = [whole]
    while waiting:
        parts = _apart(cells, waiting.pop(), beside=beside)
        if len(parts) == 1:
            found += parts
        else:
            waiting += parts
        if len(found) + len(waiting) > MOST:
            found, waiting = _apart(cells, whole, beside=False, only_trim=True), []
    return sorted(found, key=lambda one: (one.top, one.left))


def _apart(cells: Cells, block: CellBlock, *, beside: bool, only_trim: bool = False) -> list[CellBlock]:
    """The block without the empty rows and columns at its edges; several blocks if some are within."""
    rows = [number for number in range(block.top, block.bottom) if any(cells[number][block.left : block.right])]
    if not rows:
        return []
    runs = [(rows[0], rows[-1] + 1)] if only_trim else _runs(rows)
    if len(runs) > 1:
        return [replace(block, top=top, bottom=bottom) for top, bottom in runs]
    [(top, bottom)] = runs
    used = _used_columns(cells, replace(block, top=top, bottom=bottom))
    columns = _runs(used) if beside else [(used[0], used[-1] + 1)]
    return [CellBlock(top, bottom, left, right) for left, right in columns]


def _used_columns(cells: Cells, block: CellBlock) -> list[int]:
    waiting = set(range(block.left, block.right))
    used: set[int] = set()
    for row in cells[block.top : block.bottom]:
        hits = [one for one in waiting if one < len(row) and row[one]]
        used.update(hits)
        waiting.difference_update(hits)
        if not waiting:
            break
    return sorted(used)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring numbers, as (first, behind the last)."""
    found: list[tuple[int, int]] = []
    for one in numbers:
        if found and found[-1][1] == one:
            found[-1] = (found[-1][0], one + 1)
        else:
            found.append((one, one + 1))
    return found
