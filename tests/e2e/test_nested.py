"""A folder that was taken in by itself and lies in another one: nothing of it is lost while it is away."""

from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.support.polling import until
from tests.support.serving import loci
from tests.support.watching import watching


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder, and no models."""
    (tmp_path / "models").mkdir()
    return tmp_path / "data"


@pytest.fixture
def outer(data: Path, tmp_path: Path) -> Path:
    """A folder whose folder `inner` was taken in by itself, and is away now."""
    outer = tmp_path / "outer"
    (outer / "inner").mkdir(parents=True)
    (outer / "a.md").write_text("strawberry")
    (outer / "inner" / "b.md").write_text("raspberry")
    for folder in (outer / "inner", outer):
        assert loci(data, "ingest", str(folder)).returncode == 0
    (outer / "inner").rename(tmp_path / "elsewhere")
    return outer


def paths(data: Path) -> set[str]:
    app = build_app(load_settings({"data": data, "models": data.parent / "models"}))
    return {one.path for one in app.documents.library.documents(LOCAL)}


def test_taking_in_the_outer_one_keeps_it_and_says_so(data: Path, outer: Path) -> None:
    ended = loci(data, "ingest", str(outer))
    line = f"{outer}/inner holds no document now: 1 known from it is kept until it is back (or: loci forget "
    assert ended.returncode == 0
    assert line in ended.stdout
    assert paths(data) == {"outer/a.md", "inner/b.md"}


@pytest.mark.parametrize("named", [True, False], ids=["by its name", "as all that are known"])
def test_watching_the_outer_one_keeps_it_says_so_once_and_goes_on_when_it_is_back(
    data: Path, outer: Path, tmp_path: Path, named: bool
) -> None:
    with watching(data, *([outer] if named else [])) as watcher:
        assert len([line for line in watcher.lines if "until it is back" in line]) == 1
        assert paths(data) == {"outer/a.md", "inner/b.md"}
        (tmp_path / "elsewhere" / "c.md").write_text("blueberry")
        (tmp_path / "elsewhere" / "b.md").unlink()
        (tmp_path / "elsewhere").rename(outer / "inner")
        until(lambda: paths(data) == {"outer/a.md", "inner/c.md"})
