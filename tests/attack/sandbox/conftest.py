"""What the attacks came to, as a table in the file that ATTACK_TABLE names."""

import os
import platform
import re
from collections import Counter
from pathlib import Path

import pytest

BEGINNING, END = "<!-- attacks -->\n", "<!-- /attacks -->"
ATTACK = re.compile(r"attack/sandbox/(\w+)/\w+\.py::(\w+)\[(strongest|unprivileged|namespaces)-")
CODE = {"deno": "TypeScript", "python": "Python"}
ALONE = "test_the_wall_alone_holds"

_tried: Counter[tuple[str, str, str]] = Counter()
_blocked: Counter[tuple[str, str, str]] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count each attack behind each wall."""
    found = ATTACK.search(report.nodeid)
    if report.when != "call" or found is None:
        return
    what = "all that Deno asks for" if found[2] == ALONE else "nothing"
    row = (CODE.get(found[1], found[1]), found[3], what)
    _tried[row] += 1
    _blocked[row] += report.passed


def pytest_sessionfinish() -> None:
    """Write the table, where somebody asked for it."""
    named = os.environ.get("ATTACK_TABLE")
    if named and _tried:
        page = Path(named)
        before, _, rest = page.read_text("utf-8").partition(BEGINNING)
        page.write_text(before + BEGINNING + _table() + END + rest.partition(END)[2], "utf-8")


def _table() -> str:
    lines = ["| code | wall | granted besides | attacks | held |", "|---|---|---|--:|--:|"]
    lines += [f"| {' | '.join(row)} | {count} | {_blocked[row]} |" for row, count in sorted(_tried.items())]
    return "\n".join([*lines, "", f"Linux {platform.release().partition('-')[0]}, {platform.machine()}.", ""])
