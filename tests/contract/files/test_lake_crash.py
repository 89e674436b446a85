"""A process that dies at any write leaves a lake that the next start brings in order, and loses nothing."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.files.api import Files
from loci.files.file import StoredFile
from loci.files.ingest import COLLECTION
from loci.files.lake import FOLDER, content_key, reading_key
from loci.files.versions import PAST
from tests.support.dying import DiedError, Life, dying_files
from tests.support.each import each

OLD, NEW = b"# Trip\n\nThe train costs 40 euros.\n", b"# Trip\n\nThe plane costs 90 euros.\n"
MOST_WRITES = 40


@pytest.fixture
def app(tmp_path: Path) -> App:
    return build_app(load_settings({"data": tmp_path, "models": tmp_path / "models"}))


def texts(files: Files, owner: Owner, collection: str) -> list[str]:
    return sorted(one.text.strip() for one in files.parts.index.passages(owner, collection))


def assert_in_order(app: App, owner: Owner) -> None:
    """Records, blobs and passages agree with each other."""
    lake = app.files.parts.lake
    kept: set[str] = set()
    past = 0
    for file in lake.files(owner):
        assert file.newest.status == "okay"
        assert file.current == file.newest
        for version in app.files.versions(owner, file.id):
            kept |= {content_key(file.id, version.sha256), reading_key(file.id, version.sha256)}
            past += version.chunks if version != file.current else 0
    assert set(app.blobs.list(owner, FOLDER)) == kept
    current = {one.id: one.newest.chunks for one in lake.files(owner)}
    assert app.files.parts.index.documents(owner, COLLECTION) == current
    assert len(texts(app.files, owner, PAST)) == past
    assert not list(lake.being_removed(owner))


@each("after", [False, True])
def test_a_new_version_is_there_or_not_at_all_wherever_the_process_died(app: App, after: bool) -> None:
    outcomes: list[str] = []
    for number in range(1, MOST_WRITES):
        owner = Owner("acme", f"add {number} {after}")
        app.files.add(owner, "trip.md", OLD)
        try:
            dying_files(app, Life(number, after)).add(owner, "trip.md", NEW)
        except DiedError:
            pass
        else:
            break
        app.files.upkeep.finish(owner)
        [file] = app.files.listed(owner)
        found = texts(app.files, owner, COLLECTION)
        if file.newest.number == 1:
            assert found == ["The train costs 40 euros."]
            app.files.add(owner, "trip.md", NEW)  # the client tries again
        else:
            assert (found, texts(app.files, owner, PAST)) == (
                ["The plane costs 90 euros."],
                ["The train costs 40 euros."],
            )
        outcomes.append(f"version {file.newest.number}")
        assert_in_order(app, owner)
    assert 5 < len(outcomes) < MOST_WRITES - 1
    assert set(outcomes) == {"version 1", "version 2"}


@each("after", [False, True])
def test_a_removed_file_is_there_whole_or_gone_wherever_the_process_died(app: App, after: bool) -> None:
    gone = 0
    for number in range(1, MOST_WRITES):
        owner = Owner("acme", f"remove {number} {after}")
        app.files.add(owner, "trip.md", OLD)
        file = app.files.add(owner, "trip.md", NEW)
        try:
            dying_files(app, Life(number, after)).remove(owner, [file.id])
        except DiedError:
            pass
        else:
            break
        seen = app.files.listed(owner)
        if number % 2:
            app.files.upkeep.finish(owner)
        else:
            app.files.add(owner, "trip.md", OLD)
        assert_in_order(app, owner)
        gone += not seen
    assert gone > 5


def test_at_most_so_many_older_versions_are_kept(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path, "models": tmp_path / "models", "file_versions": 2}))
    owner = Owner("acme", "ann")
    for price in (10, 20, 30, 40, 10):
        file = app.files.add(owner, "trip.md", f"It costs {price} euros.\n".encode())
    assert [one.number for one in app.files.versions(owner, file.id)] == [3, 4, 5]
    assert texts(app.files, owner, PAST) == ["It costs 30 euros.", "It costs 40 euros."]
    assert_in_order(app, owner)


def test_a_version_that_is_forgotten_leaves_the_same_content_to_one_that_is_kept(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path, "models": tmp_path / "models", "file_versions": 2}))
    owner = Owner("acme", "ann")
    for price in (10, 20, 10, 40):
        file = app.files.add(owner, "trip.md", f"It costs {price} euros.\n".encode())
    assert [one.number for one in app.files.versions(owner, file.id)] == [2, 3, 4]
    assert_in_order(app, owner)


def test_versions_that_come_at_once_have_their_contents_or_are_not_told(app: App) -> None:
    owner = Owner("acme", "crowd")

    def add(number: int) -> StoredFile:
        return app.files.add(owner, "trip.md", f"Ann pays {number} euros.\n".encode())

    with ThreadPoolExecutor(20) as threads:
        added = [*threads.map(add, range(20))]
    assert max(one.newest.number for one in added) == 20
    assert_in_order(app, owner)


TWO = """
import sys
import subprocess
import sys
from pathlib import Path
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings

data, name = Path(sys.argv[1]), sys.argv[2]
app, owner = build_app(load_settings({"data": data, "models": data / "models"})), Owner("acme", "ann")
print("ready", flush=True)
sys.stdin.readline()
for number in range(8):
    app.files.add(owner, "trip.md", f"{name} pays {number} euros.".encode())
"""


def test_two_processes_that_add_the_same_file_leave_it_in_order(app: App, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TWO, str(tmp_path)]
    both = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("Ann", "Bob")
    ]
    for one in both:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in both:
        one.communicate("\n")
    assert [one.returncode for one in both] == [0, 0]
    owner = Owner("acme", "ann")
    app.files.upkeep.finish(owner)
    [file] = app.files.listed(owner)
    [text] = texts(app.files, owner, COLLECTION)
    assert text.encode() == app.files.read(owner, file.id).content
    assert text.endswith("pays 7 euros.")
    assert_in_order(app, owner)
