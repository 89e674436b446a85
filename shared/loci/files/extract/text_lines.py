"""Finds lines of text in a map that says of each pixel how surely it is text."""

from dataclasses import dataclass
from typing import Any

SURE_PIXEL, SURE_LINE = 0.3, 0.5
"""How sure a pixel, and the mean of a line, has to be."""
LEAST_SIDE = 3
"""Pixels of the smallest line in the map."""
WIDENED = 1.6
"""The map shows the inner part of each line. It is widened by this multiple of its area, divided by its perimeter."""
MOST_RUNS = 100_000
"""The most pieces of rows. A map with more of them shows no text."""
MOST_LINES = 2_000
LONG = 5
"""How many times as wide as high a line is that shows how the page is turned."""


@dataclass(frozen=True)
class TextLine:
    """A line of text in a picture, in pixels of the map."""

    left: float
    right: float
    top: float
    """The top where the line crosses `middle`."""
    bottom: float
    middle: float
    slope: float
    """How far the line falls with each pixel to the right: a scanned page may be turned a little."""


def text_lines(sure: Any) -> list[TextLine]:
    """The lines of text, from top to bottom."""
    import numpy as np  # a file without pictures of text does without

    rows, starts, ends = _runs(sure > SURE_PIXEL)
    if not 0 < len(rows) <= MOST_RUNS:
        return []
    sums = np.concatenate((np.zeros((len(sure), 1)), np.cumsum(sure, axis=1, dtype=float)), axis=1)
    runs = np.stack((rows, starts, ends), axis=1)
    weights = sums[rows, ends] - sums[rows, starts]
    groups = _groups(rows, starts, ends, len(sure))
    kept = [one for one in groups if _is_sure(runs[one], weights[one])][:MOST_LINES]
    slope = _slope_of_page([runs[one] for one in kept])
    return sorted((_line(runs[one], slope) for one in kept), key=lambda one: one.top)


def _runs(mask: Any) -> tuple[Any, Any, Any]:
    """The row, the first column and the column after the last one of each run of pixels that are set."""
    import numpy as np

    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    return rows, starts, np.nonzero(edges == -1)[1]


def _groups(rows: Any, starts: Any, ends: Any, height: int) -> list[Any]:
    """The numbers of the runs that touch each other, for each group of them."""
    import numpy as np

    parents = list(range(len(rows)))
    lefts, rights = starts.tolist(), ends.tolist()

    def root(one: int) -> int:
        while parents[one] != one:
            parents[one] = parents[parents[one]]
            one = parents[one]
        return one

    firsts = np.searchsorted(rows, np.arange(height + 1)).tolist()
    for row in range(1, height):
        above, here, end = firsts[row - 1], firsts[row], firsts[row + 1]
        last = here
        while above < last and here < end:
            if lefts[above] <= rights[here] and lefts[here] <= rights[above]:
                parents[root(above)] = root(here)
            if rights[above] < rights[here]:
                above += 1
            else:
                here += 1
    roots = np.array([root(one) for one in range(len(parents))])
    order = np.argsort(roots, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(roots[order])) + 1)


def _is_sure(runs: Any, weights: Any) -> bool:
    rows, starts, ends = runs.T
    is_large = ends.max() - starts.min() >= LEAST_SIDE and rows.max() - rows.min() + 1 >= LEAST_SIDE
    return bool(is_large and weights.sum() >= SURE_LINE * (ends - starts).sum())


def _slope_of_page(lines: list[Any]) -> float:
    """The median slope of the long lines, by their length."""
    slopes: list[tuple[float, int]] = []
    for runs in lines:
        rows, starts, ends = runs.T
        width, lengths = int(ends.max() - starts.min()), ends - starts
        pixels, columns = lengths.sum(), (starts + ends - 1) / 2
        columns = columns - (columns * lengths).sum() / pixels
        spread = ((columns**2 + (lengths**2 - 1) / 12) * lengths).sum()
        slope = float((columns * (rows - rows.mean()) * lengths).sum() / spread) if spread else 0.0
        if width > LONG * (rows.max() - rows.min() + 1 - abs(slope) * width):
            slopes.append((slope, width))
    room = sum(width for _, width in slopes) / 2
    for slope, width in sorted(slopes):
        room -= width
        if room <= 0:
            return slope
    return 0.0


def _line(runs: Any, slope: float) -> TextLine:
    rows, starts, ends = runs.T
    left, right = float(starts.min()), float(ends.max())
    middle = (left + right) / 2
    heights = rows - slope * (starts - middle), rows - slope * (ends - 1 - middle)
    top, bottom = min(float(one.min()) for one in heights), max(float(one.max()) for one in heights) + 1
    width, height = right - left, bottom - top
    more = width * height * WIDENED / (2 * (width + height))
    return TextLine(left - more, right + more, top - more, bottom + more, middle, slope)
