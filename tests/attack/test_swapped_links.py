"""Somebody swaps a folder or a note for a link out of the root, again and again, while Loci lists and reads."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from loci.authoring.stored_text import FileText
from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.documents.document import Root
from loci.documents.ingest.folder_scan import PLAIN_SCAN
from loci.documents.ingest.local_files import read_file
from tests.support.each import each
from tests.support.polling import until

T = TypeVar("T")
INSIDE, OUTSIDE = b"what is inside\n", b"the secret of somebody else\n"
SWAPS = """
import os, sys
place, aside, link = sys.argv[1:]
while True:
    os.rename(place, aside); os.rename(link, place)
    os.rename(place, link); os.rename(aside, place)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a note in a folder, and a folder outside with a note of the same name."""
    for folder, text in ((tmp_path / "notes" / "sub" / "deep", INSIDE), (tmp_path / "elsewhere" / "deep", OUTSIDE)):
        folder.mkdir(parents=True)
        (folder / "a.md").write_bytes(text)
    (tmp_path / "elsewhere" / "deep" / "outside-only.md").write_bytes(OUTSIDE)
    return tmp_path / "notes"


def places(root: Path) -> dict[str, tuple[Path, Path]]:
    """What can be swapped, and the link for it."""
    elsewhere = root.parent / "elsewhere"
    inner = root / "sub" / "deep"
    return {
        "root": (root, elsewhere.parent / "fake"),
        "folder": (root / "sub", elsewhere),
        "inner folder": (inner, elsewhere / "deep"),
        "note": (inner / "a.md", elsewhere / "deep" / "a.md"),
    }


def replace_with_link(place: Path, target: Path) -> None:
    place.rename(place.with_name("aside"))
    place.symlink_to(target)


def put_back(place: Path) -> None:
    aside = place.with_name("aside")
    if aside.exists():
        place.unlink()
        aside.rename(place)


@each("has_dir_fd", [True, False])
@each("swapped", ["root", "folder", "inner folder", "note"])
def test_a_link_that_appears_just_before_any_open_leads_nowhere(
    root: Path, swapped: str, has_dir_fd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, target = places(root)[swapped]
    if swapped == "root":
        (target / "sub" / "deep").mkdir(parents=True, exist_ok=True)
        (target / "sub" / "deep" / "a.md").write_bytes(OUTSIDE)
    real = os.open
    read: list[bytes] = []
    for moment in range(20):
        calls = 0

        def swapping(*args: object, at: int = moment, **named: object) -> int:
            nonlocal calls
            if calls == at:
                replace_with_link(place, target)
            calls += 1
            return real(*args, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "open", swapping)
        monkeypatch.setattr(os, "supports_dir_fd", {swapping} if has_dir_fd else set[object]())
        with suppress(LociError):
            read.append(read_file(str(root), "sub/deep/a.md"))
        monkeypatch.setattr(os, "open", real)
        put_back(place)
    assert set(read) == {INSIDE}


@contextmanager
def swapping(place: Path, target: Path) -> Generator[None]:
    """Another process swaps the place for a link and back, as fast as it can."""
    link = place.parent.parent / f"link-{place.name}"
    link.symlink_to(target)
    command = [sys.executable, "-c", SWAPS, str(place), str(place.with_name(".aside")), str(link)]
    other = subprocess.Popen(command)
    try:
        yield
    finally:
        other.kill()
        other.wait()


def seen(look: Callable[[], T], is_inside: Callable[[T], bool], least: int) -> list[T]:
    """What so many looks saw that met the place; others met the link, or nothing."""
    seen: list[T] = []
    met = missed = 0

    def is_enough() -> bool:
        nonlocal met, missed
        for _ in range(least):
            before = met
            with suppress(LociError, FileNotFoundError):
                seen.append(look())
                met += is_inside(seen[-1])
            missed += met == before
        return met >= least and missed >= least // 10

    until(is_enough, 60)
    return seen


@pytest.mark.parametrize("swapped", ["folder", "inner folder", "note"])
def test_while_links_come_and_go_only_what_is_inside_is_read(root: Path, swapped: str) -> None:
    text = FileText(Root("id", "notes", str(root)), "notes/sub/deep/a.md")
    with swapping(*places(root)[swapped]):
        pairs = seen(lambda: (read_file(str(root), "sub/deep/a.md"), text.read()), lambda pair: INSIDE in pair, 500)
    assert OUTSIDE not in {one for pair in pairs for one in pair}


@pytest.mark.parametrize("swapped", ["folder", "inner folder"])
def test_while_links_come_and_go_no_name_from_outside_is_listed(root: Path, swapped: str) -> None:
    inside = f"{root}/sub/deep/a.md"
    with swapping(*places(root)[swapped]):
        found = seen(lambda: PLAIN_SCAN.contents(str(root)).files, lambda files: inside in files, 100)
    files = {file for one in found for file in one}
    assert not [file for file in files if file.endswith("outside-only.md")]


def test_while_links_come_and_go_nothing_from_outside_is_ingested_read_or_found(root: Path, tmp_path: Path) -> None:
    (root / "kept.md").write_text("kept\n")
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}))
    app.documents.ingest(LOCAL, [str(root)])

    def look() -> str:
        app.documents.ingest(LOCAL, [str(root)])
        return app.documents.read(LOCAL, "notes-sub-deep-a", remember=False).text

    with swapping(*places(root)["folder"]):
        texts = seen(look, lambda text: text == INSIDE.decode(), 20)
    assert OUTSIDE.decode() not in texts
    assert not app.documents.search(LOCAL, "secret", limit=5, room=100).ranking.hits
