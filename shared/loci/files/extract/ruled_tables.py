"""Finds tables by the lines that are drawn around their cells."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from loci.files.extract.layout import Box, Line

SNAP = 3.0
"""Points: lines that are so near to each other are one."""
MOST_CELLS = 20_000
UNRULED_ROWS = 3
"""The lines in most columns of a cell from which on each line is a row of its own."""
FEWEST_RULES = 3
FULLEST_FORM = 0.3
"""The share of cells with text below which a grid is a form or a drawing, and is read as running text."""


@dataclass
class RuledTable:
    """The cells between crossing lines."""

    box: Box
    rows: list[list[str]]
    inside: list[int]
    """The lines of text that are in it, by their numbers."""
    columns: list[tuple[float, float]]
    """The left and the right edge of each column."""


def ruled_tables(lines: Sequence[Line], across: Sequence[Box], down: Sequence[Box]) -> list[RuledTable]:
    """All tables with at least two rows and two columns."""
    if not across or not down:
        return []
    rules_across = _merged([(one[1], one[0], one[2]) for one in across])
    rules_down = _merged([(one[0], one[1], one[3]) for one in down])
    tables = [_table(lines, *group) for group in _groups(rules_across, rules_down)]
    return [one for one in tables if one is not None]


def _merged(rules: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Rules on one line that touch each other, as one."""
    places: list[list[tuple[float, float, float]]] = []
    for rule in sorted(rules):
        if places and rule[0] - places[-1][-1][0] <= SNAP and rule[0] - places[-1][0][0] <= 2 * SNAP:
            places[-1].append(rule)
        else:
            places.append([rule])
    merged: list[tuple[float, float, float]] = []
    for place in places:
        at = sum(one[0] for one in place) / len(place)
        joined: list[list[float]] = []
        for _, start, end in sorted(place, key=lambda one: one[1]):
            if joined and start <= joined[-1][1] + SNAP:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end])
        merged += [(at, start, end) for start, end in joined]
    return merged


Rules = list[tuple[float, float, float]]


def _groups(across: Rules, down: Rules) -> list[tuple[Rules, Rules]]:
    """Rules that cross or touch each other belong together."""
    above = list(range(len(across) + len(down)))

    def root(one: int) -> int:
        while above[one] != one:
            above[one] = above[above[one]]
            one = above[one]
        return one

    for number, (y, left, right) in enumerate(across):
        for other, (x, top, bottom) in enumerate(down, len(across)):
            if left - SNAP <= x <= right + SNAP and top - SNAP <= y <= bottom + SNAP:
                above[root(number)] = root(other)
    groups: dict[int, tuple[Rules, Rules]] = {}
    for number in range(len(above)):
        group = groups.setdefault(root(number), ([], []))
        if number < len(across):
            group[0].append(across[number])
        else:
            group[1].append(down[number - len(across)])
    found = [(one, two) for one, two in groups.values() if one and two and len(one) + len(two) >= FEWEST_RULES]
    return sorted(found, key=lambda group: min(one[0] for one in group[0]))


def _table(lines: Sequence[Line], across: Rules, down: Rules) -> RuledTable | None:
    # The sides of a table are often open: there its other rules end.
    ys = _places([*across, *((end, 0, 0) for one in (min, max) for end in [one(_ends(down))])])
    xs = _places([*down, *((end, 0, 0) for one in (min, max) for end in [one(_ends(across))])])
    if len(ys) < 3 or len(xs) < 3 or len(ys) * len(xs) > MOST_CELLS:
        return None
    box = (xs[0], ys[0], xs[-1], ys[-1])
    inside = [number for number, one in enumerate(lines) if one.upright and _is_inside(one.box, box)]
    upright = _Lookup(down)
    owners = _owners(ys, xs, _Lookup(across), upright)
    bands: list[dict[int, list[Line]]] = [{} for _ in ys[1:]]
    for number in inside:
        middle = (lines[number].box[1] + lines[number].box[3]) / 2
        for part in line_parts(lines[number], [x for x in xs[1:-1] if upright.has(x, middle)]):
            row, column = owners[_slot(ys, middle), _slot(xs, (part.box[0] + part.box[2]) / 2)]
            bands[row].setdefault(column, []).append(part)
    columns = range(len(xs) - 1)
    rows = [[_text(some.get(at, [])) for at in columns] for band in bands for some in _rows(band)]
    rows = [row for row in rows if any(row)]
    used = [at for at in columns if any(row[at] for row in rows)]
    if len(rows) < 2 or len(used) < 2:
        return None
    rows = [[row[at] for at in used] for row in rows]
    if sum(map(bool, (cell for row in rows for cell in row))) < FULLEST_FORM * len(rows) * len(used):
        return None
    return RuledTable(box, rows, inside, [(xs[at], xs[at + 1]) for at in used])


def _ends(rules: Rules) -> list[float]:
    return [end for _, first, last in rules for end in (first, last)]


def _rows(band: dict[int, list[Line]]) -> list[dict[int, list[Line]]]:
    """The rows between two rules: one, unless most columns have a line at each of the same heights."""
    counts = sorted(len(parts) for parts in band.values())
    usual = counts[len(counts) // 2] if counts else 0
    if usual < UNRULED_ROWS:
        return [band]
    rows: list[dict[int, list[Line]]] = []
    bottom = 0.0
    parts = [(part, column) for column, some in band.items() for part in some]
    for part, column in sorted(parts, key=lambda one: one[0].box[1] + one[0].box[3]):
        if not rows or (part.box[1] + part.box[3]) / 2 > bottom:
            rows.append({})
            bottom = part.box[3]
        rows[-1].setdefault(column, []).append(part)
    return rows if len(rows) <= 1.4 * usual else [band]


def line_parts(line: Line, cuts: Sequence[float]) -> list[Line]:
    """The line cut at the rules that run through it."""
    left, top, right, bottom = line.box
    cuts = [x for x in cuts if left + SNAP < x < right - SNAP]
    if not cuts or not line.starts:
        return [line]
    parts: list[Line] = []
    groups: dict[int, list[int]] = {}
    for at, x in enumerate(line.starts):
        groups.setdefault(sum(x >= cut - 1 for cut in cuts), []).append(at)
    edges = [left, *cuts, right]
    for group, places in groups.items():
        text = line.text[places[0] : places[-1] + 1].strip()
        if text:
            parts.append(Line(text, (max(left, edges[group]), top, min(right, edges[group + 1]), bottom), line.size))
    return parts


class _Lookup:
    """Says quickly if there is a rule at a point: grids have thousands of cells."""

    def __init__(self, rules: Rules) -> None:
        self._rules = sorted(rules)
        self._at = [one[0] for one in self._rules]

    def has(self, place: float, at: float) -> bool:
        """True if a rule at this place runs past this point."""
        first, last = bisect_left(self._at, place - 2 * SNAP), bisect_right(self._at, place + 2 * SNAP)
        return any(one[1] - SNAP <= at <= one[2] + SNAP for one in self._rules[first:last])


def _owners(ys: list[float], xs: list[float], across: _Lookup, down: _Lookup) -> dict[tuple[int, int], tuple[int, int]]:
    """The first place of the cell of each place in the grid: places without a rule between them are one cell."""
    owners: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(len(ys) - 1):
        for column in range(len(xs) - 1):
            owners[row, column] = (row, column)
            if column and not down.has(xs[column], (ys[row] + ys[row + 1]) / 2):
                owners[row, column] = owners[row, column - 1]
            elif row and not across.has(ys[row], (xs[column] + xs[column + 1]) / 2):
                owners[row, column] = owners[row - 1, column]
    return owners


def _places(rules: Rules) -> list[float]:
    places: list[float] = []
    for at in sorted(one[0] for one in rules):
        if not places or at - places[-1] > SNAP:
            places.append(at)
    return places


def _slot(places: Sequence[float], at: float) -> int:
    return max(0, min(bisect_right(places, at) - 1, len(places) - 2))


def _is_inside(box: Box, around: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return around[0] - 1 <= x <= around[2] + 1 and around[1] - 1 <= y <= around[3] + 1


def _text(parts: Sequence[Line]) -> str:
    ordered = sorted(parts, key=lambda one: (round(one.box[1] / max(1.0, one.size / 2)), one.box[0]))
    return " ".join(" ".join(one.text.split()) for one in ordered)
