"""`loci doctor` on files: each possible problem is caused, reported and, if that is safe, repaired."""

from dataclasses import replace
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.doctor.record_checks import check_records
from loci.files.checks import check_files
from loci.files.file import StoredFile
from loci.files.ingest import COLLECTION
from loci.files.lake import KIND, content_key, reading_key
from loci.search.ranking import TagsAndDate
from tests.support.damage import GARBAGE, damage
from tests.support.each import each

TEXT = b"Ann buys the tickets.\n"


@pytest.fixture
def app(tmp_path: Path) -> App:
    return build_app(load_settings({"data": tmp_path, "models": tmp_path / "models"}))


@pytest.fixture
def file(app: App) -> StoredFile:
    app.files.add(LOCAL, "trip.md", b"Bob buys them.\n")
    return app.files.add(LOCAL, "trip.md", TEXT)


def told(app: App, *, fix: bool = False) -> dict[str, tuple[str, str]]:
    """The findings that are not fine, or were mended."""
    found = [check_records(app, fix=fix), *check_files(app, fix=fix)]
    return {one.name: (one.state, one.what) for one in found if one.state != "ok" or one.fixed}


def assert_mended(app: App) -> None:
    assert told(app) == {}
    [file] = app.files.listed(LOCAL)
    assert app.files.read(LOCAL, file.id).content == TEXT
    chunks = app.files.parts.index.chunks(LOCAL, COLLECTION, [f"{file.id}#0"])
    assert "Ann buys the tickets." in chunks[f"{file.id}#0"].text


def test_a_sound_lake_has_no_findings(app: App, file: StoredFile) -> None:
    assert_mended(app)


def test_a_lost_content_is_a_fault_that_only_a_backup_mends(app: App, file: StoredFile) -> None:
    app.blobs.remove(LOCAL, content_key(file.id, file.newest.sha256))
    fault = ("fault", "1 version of files lost their content: trip.md 2")
    assert told(app)["contents"] == told(app, fix=True)["contents"] == fault


def test_blobs_of_no_file_are_deleted(app: App, file: StoredFile) -> None:
    app.blobs.write(LOCAL, content_key(file.id, "0" * 64), b"x")
    app.blobs.write(LOCAL, content_key("ds-00", "0" * 64), b"x")
    assert told(app)["spare files"][0] == "warning"
    assert told(app, fix=True).keys() == {"spare files"}
    assert_mended(app)


@each("content", [None, b"", b"no gzip"])
def test_a_damaged_reading_is_read_again(app: App, file: StoredFile, content: bytes | None) -> None:
    key = reading_key(file.id, file.newest.sha256)
    if content is None:
        app.blobs.remove(LOCAL, key)
    else:
        app.blobs.write(LOCAL, key, content)
    assert told(app)["readings"] == ("fault", "What was read out of 1 file is damaged: trip.md")
    assert told(app, fix=True).keys() == {"readings"}
    assert_mended(app)


def test_passages_that_the_index_lacks_are_made_again(app: App, file: StoredFile) -> None:
    app.files.parts.index.remove(LOCAL, COLLECTION, file.id)
    assert told(app)["file passages"] == ("fault", "The index lacks passages of 1 file: trip.md")
    assert told(app, fix=True).keys() == {"file passages"}
    assert_mended(app)


def test_passages_of_unknown_files_are_removed(app: App, file: StoredFile) -> None:
    index = app.files.parts.index
    [chunk] = index.chunks(LOCAL, COLLECTION, [f"{file.id}#0"]).values()
    for collection, id in ((COLLECTION, "ds-00"), ("files_past", f"{file.id}@9")):
        index.put(LOCAL, collection, id, [replace(chunk, id=f"{id}#0", document=id)], TagsAndDate())
    assert told(app)["file passages"] == ("warning", "It has passages of 2 unknown files")
    assert told(app, fix=True).keys() == {"file passages"}
    assert_mended(app)


def test_a_file_that_waits_is_read(app: App, file: StoredFile) -> None:
    app.files.parts.lake.change(
        LOCAL, file.id, lambda one: replace(one, newest=replace(one.newest, status="running"), current=None)
    )
    assert told(app)["lake"] == ("warning", "1 of 1 file not read yet: trip.md")
    assert told(app, fix=True)["lake"] == ("ok", "1 file")
    assert_mended(app)


def test_a_half_removed_file_goes(app: App, file: StoredFile) -> None:
    app.files.parts.lake.change(LOCAL, file.id, lambda one: replace(one, is_removed=True))
    assert told(app)["lake"] == ("warning", "1 removed file not gone yet")
    assert told(app, fix=True)["lake"] == ("ok", "No files yet")
    assert told(app) == {}
    assert not app.blobs.list(LOCAL, "files/")


def test_a_file_that_cannot_be_read_is_told_with_the_reason(app: App) -> None:
    app.files.add(LOCAL, "empty.md", b"")
    assert told(app)["lake"] == ("warning", "1 of 1 file could not be read: empty.md")


@each("garbage", GARBAGE[:5])
def test_a_damaged_record_is_mended_from_content_and_index(app: App, tmp_path: Path, garbage: str) -> None:
    file = app.files.add(LOCAL, "trip.md", TEXT)
    damage(tmp_path, LOCAL, KIND, file.id, garbage)
    assert told(app)["records"][0] == "fault"
    assert told(app, fix=True).keys() == {"records"}
    assert_mended(app)


def test_a_damaged_record_whose_newest_content_is_unknown_loses_nothing(
    app: App, tmp_path: Path, file: StoredFile
) -> None:
    damage(tmp_path, LOCAL, KIND, file.id)
    assert told(app, fix=True)["records"][0] == "fault"
    assert app.blobs.read(LOCAL, content_key(file.id, file.newest.sha256)) == TEXT
    app.files.add(LOCAL, "trip.md", TEXT)
    assert told(app, fix=True).keys() <= {"spare files", "lake", "records", "file passages"}
    assert_mended(app)
