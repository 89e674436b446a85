"""The folders that most tests of commands use."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

Homes = Callable[[], Path]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data folder without models."""
    (tmp_path / "models").mkdir()
    return tmp_path / "data"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return a folder with two notes."""
    folder = tmp_path / "notes"
    (folder / "briefs").mkdir(parents=True)
    (folder / "briefs" / "auth.md").write_text("# Login\n\nSafari drops the cookie.\n")
    (folder / "plan.md").write_text("# Plan\n\nShip it.\n")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an empty home."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def new_home(tmp_path: Path) -> Homes:
    """Makes an empty home for each row of a table."""
    numbers = count()

    def made() -> Path:
        (tmp_path / f"home {(number := next(numbers))}").mkdir()
        return tmp_path / f"home {number}"

    return made
