"""What the attacks came to, as a table in the file that ATTACK_TABLE names."""

import os
import re
from pathlib import Path

import pytest

from tests.attack.sandbox import table
from tests.attack.sandbox.function.expected import expected

ATTACK = re.compile(r"attack/sandbox/(\w+)/\w+\.py::(\w+)\[(strongest|unprivileged|namespaces)[-\]]")
ALONE = "test_the_wall_alone_holds"
NO_ATTACKS = ("test_what_is_allowed_can_be_read", "test_everything_is_granted_in_here")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count each attack behind each wall."""
    found = ATTACK.search(report.nodeid)
    if report.when == "call" and found is not None and found[2] not in NO_ATTACKS:
        besides = "all that Deno asks for" if found[2] == ALONE else "nothing"
        table.count(found[1], besides, found[3], held=report.passed)


def pytest_sessionfinish() -> None:
    """Write the table, where somebody asked for it."""
    if named := os.environ.get("ATTACK_TABLE"):
        table.write(Path(named), {code: expected(code).attacks for code in table.CODE})
