"""Finds the tables on a sheet: blocks of cells that empty rows and columns keep apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
