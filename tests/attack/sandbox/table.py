"""What the attacks came to, as a table of a page."""

import platform
from collections import Counter
from pathlib import Path

COUNTED = "counted"
"""The property of a test that has tried attacks elsewhere: what to `count`."""
TRIED = "tried"
"""That of a test of many attacks, for each: its name, how it ended (`outcomes.Ended`), and what was told of it."""
BEGINNING, END = "<!-- attacks -->\n", "<!-- /attacks -->"
CODE = {"deno": "TypeScript", "python": "Python"}
WALLS = {
    "strongest": "strongest",
    "unprivileged": "unprivileged",
    "namespaces": "namespaces",
    "function": "bare Lambda function",
}
Row = tuple[str, str]
"""The code, and what it was granted besides."""

_tried: Counter[tuple[Row, str]] = Counter()
_held: Counter[tuple[Row, str]] = Counter()


def count(code: str, besides: str, wall: str, held: bool) -> None:
    """Count an attack behind a wall."""
    cell = ((CODE[code], besides), wall)
    _tried[cell] += 1
    _held[cell] += held


def write(page: Path) -> None:
    """Put the table between the marks of the page."""
    if not _tried:
        return
    walls = [wall for wall in WALLS if any(wall == tried for _, tried in _tried)]
    lines = [
        f"| code | granted besides | {' | '.join(WALLS[wall] for wall in walls)} |",
        f"|---|---|{'--:|' * len(walls)}",
    ]
    for row in sorted({row for row, _ in _tried}):
        cells = [f"{_held[row, wall]} of {_tried[row, wall]}" if (row, wall) in _tried else "" for wall in walls]
        lines.append(f"| {' | '.join([*row, *cells])} |")
    lines += ["", f"Linux {platform.release().partition('-')[0]}, {platform.machine()}."]
    before, _, rest = page.read_text("utf-8").partition(BEGINNING)
    page.write_text(before + BEGINNING + "\n".join(lines) + "\n" + END + rest.partition(END)[2], "utf-8")
