"""Patterns of `.gitignore` files mean what git says, which is asked where it is installed."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from loci.core.settings import load_settings
from loci.documents.ingest.folder_scan import FolderScan

PATHS = (
    *("a.md", "b.md", "sub/a.md", "sub/deep/a.md", "sub/deep/c d.md", "build/x.md", "sub/build/y.md", "Ünï.md"),
    *("logs/1.md", "logs/keep/2.md", "x[1].md", "#h.md", "!e.md", "foo/bar/z.md", "foo/q/bar/z.md", "sub/foo/bar/z.md"),
)
PATTERNS = (
    *("a.md", "/a.md", "sub/a.md", "*.md", "!a.md", "build/", "/build", "sub/**", "**/deep", "foo/**/bar", "logs/*"),
    *("!logs/keep/", "[ab].md", "[!a].md", "?.md", "x\\[1\\].md", "\\#h.md", "\\!e.md", "# a comment", "", "c\\ d.md"),
    *("**/a.md", "sub/deep/", "*d*.md", "[b-e].md", "Ü*", "foo/*/z.md", "/*", "!/sub/", "**", "logs/ ", "keep"),
)
CASES = [
    *[(one,) for one in PATTERNS],
    ("logs/*", "!logs/keep/"),
    ("/*", "!/sub/"),
    ("*.md", "!a.md"),
    ("build/", "!build/x.md"),
    ("sub/**", "!sub/deep/"),
]


def laid_out(folder: Path, patterns: tuple[str, ...]) -> Path:
    for path in PATHS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("text")
    (folder / ".gitignore").write_text("\n".join(patterns))
    return folder


def found(folder: Path) -> set[str]:
    return {Path(one).relative_to(folder).as_posix() for one in FolderScan(True).contents(str(folder)).files}


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to ask")
def test_git_says_the_same(tmp_path: Path) -> None:
    chance = random.Random(1)
    cases = CASES + [tuple(chance.sample(PATTERNS, 3)) for _ in range(60)]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    laid_out(tmp_path, ())
    (tmp_path / "sub" / ".gitignore").write_text("!a.md\ndeep/c*\n")
    for patterns in cases:
        (tmp_path / ".gitignore").write_text("\n".join(patterns))
        listed = ["git", "-C", str(tmp_path), "-c", "core.quotePath=off", "ls-files", "-o", "--exclude-standard", "-z"]
        told = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
        assert found(tmp_path) == {one for one in told if one.endswith(".md")}, patterns


def test_the_file_of_a_folder_above_counts_if_it_is_in_the_same_repository(tmp_path: Path) -> None:
    laid_out(tmp_path, ("sub/deep/", "/a.md"))
    assert "deep/a.md" in found(tmp_path / "sub")
    (tmp_path / ".git").mkdir()
    assert found(tmp_path / "sub") == {"a.md", "build/y.md", "foo/bar/z.md"}


def test_hostile_patterns_take_no_time(tmp_path: Path) -> None:
    for name in ("a" * 250, "/".join(["a" * 100] * 9)):
        (tmp_path / name).mkdir(parents=True)
    laid_out(
        tmp_path, ("*a" * 8_000, f"{'*a' * 100}*b", f"{'**/*a*a*a/' * 50}b", *[f"{'*a' * 40}*{n}" for n in range(99)])
    )
    assert found(tmp_path) == set(PATHS)
    laid_out(tmp_path, ("*a" * 8_000, f"{'**/' * 5_000}none", "[" * 16_000, *["**/*x*y*z/**/none"] * 900))
    assert found(tmp_path) == set(PATHS)


def test_the_setting_is_off_by_default(tmp_path: Path) -> None:
    assert not load_settings({"data": tmp_path}).use_gitignore
