"""The paths that code may read."""

from pathlib import Path

import pytest

from loci.code.typescript import Readable, readable
from tests.support.each import each


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("open/below", "openly", "data", "comma,here"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "open" / "out").symlink_to(tmp_path / "openly")
    (tmp_path / "way_in").symlink_to(tmp_path / "open" / "below")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return tmp_path


@each(
    ("asked", "allowed"),
    [
        ("open", "open"),
        ("open/below", "open/below"),
        ("open/../open/below/.", "open/below"),
        ("way_in", "open/below"),
        ("", "open"),
        ("openly", None),
        ("open/out", None),
        ("open/../openly", None),
        ("open/none", None),
        ("loop", None),
        ("data", None),
    ],
)
def test_what_the_operator_allows_and_the_caller_asks_for(root: Path, asked: str, allowed: str | None) -> None:
    path = str(root / asked)
    found = readable([path], [root / "open"], root / "data")
    assert found == (Readable((str(root / allowed),), ()) if allowed else Readable((), (path,)))


@each("roots", ["data", "data/below", ""])
def test_what_is_private_is_never_allowed(root: Path, roots: str) -> None:
    (root / "data" / "below").mkdir(exist_ok=True)
    path = str(root / "data" / "below")
    assert readable([path], [root / roots], root / "data") == Readable((), (path,))


@each("path", ["/proc/self", "/sys", "/dev", "/"])
def test_what_is_no_file_is_never_allowed(path: str) -> None:
    assert readable([path], [Path("/")], None).allowed == ()


def test_a_path_with_a_comma_would_be_two(root: Path) -> None:
    path = str(root / "comma,here")
    assert readable([path], [root / "comma,here"], None) == Readable((), (path,))


def test_without_an_operators_word_nothing_is_allowed(root: Path) -> None:
    assert readable([str(root)], [], None) == Readable((), (str(root),))
