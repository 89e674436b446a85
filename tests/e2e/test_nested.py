"""A folder that was ingested by itself and is inside another: it loses nothing while it is away."""

from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.e2e.in_process import loci
from tests.support.polling import until
from tests.support.watching import watching


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder, and no models."""
    (tmp_path / "models").mkdir()
    return tmp_path / "data"


@pytest.fixture
def outer(data: Path, tmp_path: Path) -> Path:
    """A folder whose sub-folder `inner` was ingested by itself, and is away now."""
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
    return {one.path for one in app.documents.parts.library.documents(LOCAL)}


def test_ingesting_the_outer_folder_keeps_the_inner_one_and_says_so(data: Path, outer: Path) -> None:
    ended = loci(data, "ingest", str(outer))
    line = (
        f"{outer}/inner is empty now. Loci keeps its 1 document until the files are back (to remove them: loci forget "
    )
    assert ended.returncode == 0
    assert line in ended.stdout
    assert paths(data) == {"outer/a.md", "inner/b.md"}


@pytest.mark.parametrize("named", [True, False], ids=["by its name", "as an ingested folder"])
def test_watching_the_outer_folder_keeps_the_inner_one_and_continues_when_it_is_back(
    data: Path, outer: Path, tmp_path: Path, named: bool
) -> None:
    with watching(data, *([outer] if named else [])) as watcher:
        assert len([line for line in watcher.lines if "Loci keeps its" in line]) == 1
        assert paths(data) == {"outer/a.md", "inner/b.md"}
        (tmp_path / "elsewhere" / "c.md").write_text("blueberry")
        (tmp_path / "elsewhere" / "b.md").unlink()
        (tmp_path / "elsewhere").rename(outer / "inner")
        until(lambda: paths(data) == {"outer/a.md", "inner/c.md"})
