"""`loci export FILE` that was interrupted on the machine itself: the same command goes on, and tells the truth."""

import json
import os
import resource
import shutil
import signal
import stat
import time
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.json import JsonObject
from loci.core.settings import load_settings
from loci.documents.writing.authoring import EditDraft
from loci.transfer.archive_reader import reading
from loci.transfer.archive_writer import writing
from loci.transfer.moving import Mover
from loci.transfer.unfinished import Unfinished, unfinished
from tests.support.serving import PATIENCE, Process, clean_environment, loci, started

NAME = "all.zip"
LEFT = (f".{NAME}.part", f".{NAME}.part.jsonl")
TOLD_AT = 64


def opened(data: Path) -> App:
    return build_app(load_settings({"mode": "embedded", "data": data, "models": data.parent / "models"}))


def written(app: App, path: str, text: str) -> None:
    app.documents.changes.write(LOCAL, path, EditDraft("create", text), expected_hash=None)


@pytest.fixture(scope="module")
def app(data: Path) -> Generator[App]:
    """What these documents and files are in."""
    here = opened(data)
    yield here
    here.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with some hundred documents and a file with two versions."""
    folder = tmp_path_factory.mktemp("many")
    (folder / "notes").mkdir()
    for number in range(120):
        (folder / "notes" / f"n{number:03}.md").write_text(f"# Note {number}\n\nThe ferry {number} sails.\n")
    app = opened(folder / "data")
    for name in ("changed", "deleted", "same"):
        written(app, f"early/{name}.md", f"# {name}\n\nas it was first\n")
    app.documents.ingest(LOCAL, [str(folder / "notes")])
    for version in (b"one ", b"two "):
        app.files.add(LOCAL, "ünder.txt", version * 1000)
    app.close()
    return folder / "data"


@contextmanager
def waiting_export(data: Path, archive: Path) -> Generator[tuple[Process, int]]:
    """A real export in the middle of its way: it waits until somebody reads what it tells."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    for piece in (b" " * (1 << 16), b" "):
        with suppress(BlockingIOError):
            while True:
                os.write(write, piece)
    os.set_blocking(write, True)
    process = started(["export", str(archive)], clean_environment(data), write)
    os.close(write)
    journal, until = archive.with_name(LEFT[1]), time.monotonic() + PATIENCE
    try:
        while not journal.exists() or journal.read_bytes().count(b"\n") <= TOLD_AT:
            assert time.monotonic() < until
            time.sleep(0.005)
        yield process, read
    finally:
        process.kill()
        process.communicate()
        os.close(read)


@pytest.fixture(scope="module")
def killed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what an export has left that was killed, while a second one wanted the same file."""
    folder = tmp_path_factory.mktemp("killed")
    with waiting_export(data, folder / NAME) as (process, _):
        second = loci(data, "export", str(folder / NAME))
        process.kill()
    assert "Another loci export writes" in second.stderr
    return folder


@pytest.fixture
def archive(killed: Path, tmp_path: Path) -> Path:
    """The archive to be, beside what was left."""
    for name in LEFT:
        shutil.copy(killed / name, tmp_path / name)
    return tmp_path / NAME


def export(app: App, archive: Path, of: JsonObject | None = None, full: int | None = None) -> Unfinished:
    """Export as the command does it. From the first thing on, no file gets larger than `full`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    parts, names = app.transfer.parts, app.transfer.names(with_results=False)
    try:
        with unfinished(archive, of) as part, writing(part, parts, lambda: "2026-01-01T00:00:00Z") as writer:
            resource.setrlimit(resource.RLIMIT_FSIZE, (full or soft, hard))
            Mover(app.transfer.of(LOCAL, names), parts).into_archive(writer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return part


def as_left(app: App) -> JsonObject:
    """What the journal of the command says."""
    return {
        "data": str(app.settings.data.resolve()),
        "owner": LOCAL.key,
        "parts": [*app.transfer.names(with_results=False)],
    }


def inside(archive: Path) -> dict[str, Any]:
    """All that is in it, but for when it was made and the order of its files."""
    with zipfile.ZipFile(archive) as read:
        found: dict[str, Any] = {one: read.read(one) for one in read.namelist()}
    found["entries.jsonl"] = sorted(found["entries.jsonl"].splitlines())
    found["manifest.json"] = json.loads(found["manifest.json"])["counts"]
    return found


def run_again(data: Path, archive: Path, *options: str) -> str:
    """Run the command. What it tells at first."""
    ended = loci(data, "export", str(archive), *options)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr.splitlines()[0]


def check_whole(app: App, archive: Path) -> None:
    """Nothing is left beside it, it passes every check, and it is as that of an export in one go."""
    assert [one.name for one in archive.parent.iterdir()] == [NAME]
    with reading(archive, app.transfer.parts) as read:
        assert read.counts["files"] == 2
    at_once = archive.with_name("at-once.zip")
    export(app, at_once)
    assert inside(archive) == inside(at_once)
    assert archive.stat().st_size == pytest.approx(at_once.stat().st_size, abs=200), "nothing old is in it"


def test_what_a_killed_export_has_written_stays(data: Path, app: App, killed: Path, archive: Path) -> None:
    part, journal = (killed / name for name in LEFT)
    assert {stat.S_IMODE(one.stat().st_mode) for one in (part, journal)} == {0o600}
    assert not (killed / NAME).exists()
    assert run_again(data, archive) == f"Goes on: {TOLD_AT} files of the archive were there already."
    assert archive.read_bytes().startswith(part.read_bytes())
    check_whole(app, archive)


def test_a_full_disk_interrupts_what_goes_on(app: App, archive: Path) -> None:
    part, journal = (archive.with_name(name) for name in LEFT)
    full = max(part.stat().st_size, journal.stat().st_size) + 2000
    with pytest.raises(Refused) as error:
        export(app, archive, as_left(app), full)
    assert "(File too large)" in str(error.value)
    assert "Run the same command again to go on" in str(error.value)
    assert journal.read_bytes().count(b"\n") > TOLD_AT + 2
    assert export(app, archive, as_left(app)).found > TOLD_AT + 2
    check_whole(app, archive)


def flipped(part: Path, _: Path) -> None:
    raw = bytearray(part.read_bytes())
    raw[len(raw) // 2] ^= 1
    part.write_bytes(raw)


def without_list(_: Path, journal: Path) -> None:
    journal.unlink()


def misread(_: Path, journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:9], b"[7,7]\n", *lines[10:]]))


def foreign(part: Path, _: Path) -> None:
    part.write_bytes(b"PK" * 10_000)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (flipped, "is damaged"),
        (foreign, "is damaged"),
        (misread, "is damaged"),
        (without_list, "has no list of what is in it"),
    ],
)
def test_what_is_not_as_it_was_left_is_not_used(
    app: App, archive: Path, harm: Callable[[Path, Path], None], why: str
) -> None:
    harm(*(archive.with_name(name) for name in LEFT))
    began = export(app, archive, as_left(app))
    assert (began.fault, began.found) == (f"{LEFT[0]} {why}", 0)
    check_whole(app, archive)


def test_a_torn_end_is_cut_off(app: App, archive: Path) -> None:
    part, journal = (archive.with_name(name) for name in LEFT)
    part.write_bytes(part.read_bytes()[:-5])
    with journal.open("ab") as lines:
        lines.write(b'["documents/no')
    assert export(app, archive, as_left(app)).found == TOLD_AT - 1
    check_whole(app, archive)


def test_an_export_with_other_options_begins_again(data: Path, app: App, archive: Path) -> None:
    assert run_again(data, archive, "--results") == f"Begins again: {LEFT[0]} is of another export."
    check_whole(app, archive)


def test_ctrl_c_says_how_it_goes_on(data: Path, tmp_path: Path) -> None:
    archive = tmp_path / NAME
    with waiting_export(data, archive) as (process, told):
        process.send_signal(signal.SIGINT)
        said = b""
        while piece := os.read(told, 1 << 16):
            said += piece
        assert process.wait(PATIENCE) == 130
    last = said.decode().strip().splitlines()[-1]
    assert last == f"Interrupted. Run the same command again to go on, or delete {tmp_path / LEFT[0]} and {LEFT[1]}."
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(LEFT)


def test_what_changed_meanwhile_is_in_it_as_it_is_now(data: Path, app: App, archive: Path) -> None:
    for name in ("changed", "deleted"):
        known = app.documents.archive.find(LOCAL, f"early/{name}.md")
        assert known is not None
        app.documents.changes.delete(LOCAL, known.path, expected_hash=known.sha256)
    written(app, "early/changed.md", "# changed\n\nas it is now\n")
    written(app, "notes/a-new-one.md", "# new\n")
    assert run_again(data, archive) == f"Goes on: {TOLD_AT} files of the archive were there already."
    check_whole(app, archive)
    found = inside(archive)
    assert found["documents/early/changed.md"] == b"# changed\n\nas it is now\n"
    assert "documents/notes/a-new-one.md" in found
    assert "documents/early/deleted.md" not in found
