"""Turns the cells of a sheet into tables: with titles, headers, and the places of their cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

GAP = 2
"""Empty rows across which a table may go on, or its title stand."""
LONGEST_TITLE = 200
MOST_TITLES = 3
Merged = Sequence[tuple[tuple[int, int], tuple[int, int]]]
"""Ranges of merged cells: the top left cell and the bottom right one."""
LOOKED_AT = 20
LONGEST = 120
"""Characters of a column's name."""
Kinds = Sequence[str]
DATA = frozenset("nyd")
Cells = Sequence[Sequence[str]]
MOST = 200
"""Blocks of a sheet. One with more has cells scattered over it, and is read as a single table."""


@dataclass(frozen=True)
class Block:
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
    """By row and column, counted from the first cell."""
    row: int = 0
    column: int = 0
    merged: Merged = ()
    beside: bool = True
    """True if empty columns separate tables."""


@dataclass(frozen=True)
class Table:
    """A block with what its first rows are."""

    block: Block
    title: tuple[tuple[int, int], ...] = ()
    """The cells above it that name it, by row and column of the grid."""
    heading: int = 0
    """How many rows the header has."""
    header: Sequence[str] = field(default=())


def tables(grid: Grid) -> list[dict[str, Any]]:
    """The tables on the sheet, as sections of a reading."""
    found: list[Table] = []
    for block in blocks(grid.cells, beside=grid.beside):
        table = _table(grid, block)
        above = next((at for at, one in reversed([*enumerate(found)]) if _is_above(one.block, block)), None)
        if above is None:
            found.append(table)
        elif _is_named_by(grid, table, found[above]):
            upper = found[above]
            found[above] = replace(table, title=(*upper.title, (upper.block.top, upper.block.left), *table.title))
        elif _goes_on(found[above], table):
            whole = found[above].block
            found[above] = replace(found[above], block=replace(whole, bottom=block.bottom))
        else:
            found.append(table)
    listed = [_as_list(one) for one in found]
    return [_section(grid, one) for one in sorted(listed, key=lambda one: (one.block.top, one.block.left))]


def _table(grid: Grid, block: Block) -> Table:
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
    span = range(block.left, block.right)
    texts = [_padded(grid.cells[row], block) for row in rows]
    kinds = [[grid.kind(row, column) for column in span] for row in rows]
    count = header_rows(*_under_merged(grid, block, kinds, texts))
    header = joined(_filled(grid, block, texts[:count])) if count else ()
    return Table(block, tuple(title), count, header)


def _under_merged(
    grid: Grid, block: Block, kinds: list[list[str]], texts: list[list[str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Both, with the cells of the first row repeated below if they are merged with those, as the corner of a header."""
    kinds, texts = [[*row] for row in kinds], [[*row] for row in texts]
    for (top, left), (bottom, right) in grid.merged:
        at = left - grid.column - block.left
        if left == right and top == grid.row + block.top < bottom and 0 <= at < block.columns and len(kinds) > 1:
            kinds[1][at], texts[1][at] = kinds[0][at], texts[0][at]
    return kinds, texts


def _is_text(grid: Grid, block: Block) -> bool:
    return any(grid.kind(block.top, column) == "s" for column in range(block.left, block.right))


def _is_wider_below(grid: Grid, block: Block) -> bool:
    """True if the rows below have more filled cells than this one: else it is a row of a list."""
    below = grid.cells[block.top + 1 : block.top + 1 + LOOKED_AT]
    return any(sum(map(bool, row[block.left : block.right])) > 1 for row in below)


def _is_above(upper: Block, lower: Block) -> bool:
    return upper.bottom <= lower.top <= upper.bottom + GAP and (_spans(lower, upper) or _spans(upper, lower))


def _spans(wide: Block, narrow: Block) -> bool:
    return wide.left <= narrow.left + 1 and narrow.right <= wide.right


def _is_named_by(grid: Grid, table: Table, upper: Table) -> bool:
    """True if the upper table is a cell with the title of this one, or both are cells of a list."""
    block = upper.block
    if not _is_cell(block) or grid.kind(block.top, block.left) != "s" or not _spans(table.block, block):
        return False
    is_short = len(upper.title) + len(table.title) < MOST_TITLES
    return (is_short or _is_cell(table.block)) and len(grid.cells[block.top][block.left]) <= LONGEST_TITLE


def _is_cell(block: Block) -> bool:
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


def _padded(row: Sequence[str], block: Block) -> list[str]:
    cells = list(row[block.left : block.right])
    return cells + [""] * (block.columns - len(cells))


def _filled(grid: Grid, block: Block, lines: list[list[str]]) -> list[list[str]]:
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
    """0, 1 or 2: how many of the rows are a header. Both arguments hold the table's first rows."""
    if len(kinds) < 2:
        return 0
    if len(kinds) > 2 and _is_group_line(kinds[0], kinds[1]) and _is_header(kinds[1:], texts[1:]):
        return 2
    return int(_is_header(kinds, texts))


def joined(lines: Sequence[Sequence[str]]) -> list[str]:
    """The names of the columns, out of one header line or two: "2025 Q1"."""
    if len(lines) == 1:
        return [" ".join(one.split()) for one in lines[0]]
    group, names = "", list[str]()
    for above, below in zip(*lines, strict=True):
        group = above or group
        names.append(" ".join(f"{group if below != group else ''} {below}".split()))
    return names


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
    if len(periods) < 2 or any(first[at] != "s" for at in others) or first[0] not in "se":
        return False
    same = sum(row[at] == first[at] for row in below for at in periods)
    return len(set(names)) == len(names) and same * 2 < len(below) * len(periods)


def _is_mostly_data(column: Kinds) -> bool:
    filled = [one for one in column if one != "e"]
    return bool(filled) and sum(one in DATA or one == "b" for one in filled) * 2 > len(filled)


def blocks(cells: Cells, *, beside: bool = True) -> list[Block]:
    """The blocks, from top to bottom. Unless `beside`, empty columns separate nothing."""
    width = max(map(len, cells), default=0)
    whole = Block(0, len(cells), 0, width)
    found: list[Block] = []
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


def _apart(cells: Cells, block: Block, *, beside: bool, only_trim: bool = False) -> list[Block]:
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
    return [Block(top, bottom, left, right) for left, right in columns]


def _used_columns(cells: Cells, block: Block) -> list[int]:
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
