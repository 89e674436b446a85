"""Writes down how each attack of a run of pytest ended: a plugin of it, where ATTACK_OUTCOMES names a file."""

import json
import os
import re
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, cast

import pytest

from tests.attack.sandbox import table
from tests.attack.sandbox.escaped import Escaped

Ended = Literal["held", "open", "broken"]
FILE = "ATTACK_OUTCOMES"
NAMED = re.compile(r"sandbox/(\w+)/\w+\.py::(\w+)(?:\[(function)?-?(.*)\])?$")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Broken: it got at nothing, and yet the test failed."""

    code: str
    name: str
    ended: Ended
    told: str
    is_for_each_wall: bool
    """Whether it is one that is tried behind every other wall, too."""


_outcomes: dict[str, Outcome] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not report.skipped and (call.when == "call" or call.excinfo is not None):
        found = NAMED.search(item.nodeid)
        assert found is not None, item.nodeid
        error = call.excinfo
        rows = [cast("tuple[str, Ended, str]", row) for name, row in item.user_properties if name == table.TRIED]
        if not rows or (error is not None and all(ended == "held" for _, ended, _ in rows)):
            ended: Ended = "held" if error is None else "open" if error.errisinstance(Escaped) else "broken"
            told = "" if error is None else str(report.longrepr) if ended == "broken" else str(error.value)
            rows.append((found[4] or found[2], ended, told))
        for name, ended, told in rows:
            key = f"{item.nodeid} {name}"
            _outcomes[key] = Outcome(found[1], name, ended, told[-3000:], found[3] is not None)
    return report


def pytest_sessionfinish() -> None:
    Path(os.environ[FILE]).write_text(json.dumps([asdict(one) for one in _outcomes.values()]), "utf-8")


def read(file: Path) -> list[Outcome]:
    """What a run has written."""
    return [Outcome(**one) for one in json.loads(file.read_text("utf-8"))]
