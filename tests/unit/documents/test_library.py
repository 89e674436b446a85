"""The library: documents are listed, read, added and removed."""

import hashlib

import pytest

from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core.errors import NotFound, Refused, Unavailable
from loci.core.identity import LOCAL, Owner
from loci.documents import library
from loci.documents.document import lock_name
from loci.documents.filtering import directory
from loci.documents.ingest.folder_ingest import IngestedFolders
from tests.support.each import each

from .conftest import Desk

ANN = Owner("acme", "ann")


def test_a_document_is_read_as_its_file_is_now(desk: Desk) -> None:
    desk.write("a.md", "one")
    desk.run()
    desk.write("a.md", "two")
    assert desk.library.read(LOCAL, "notes-a").text == "two"


def test_what_was_read_has_the_hash_of_its_bytes(desk: Desk) -> None:
    desk.write("a.md", b"\xef\xbb\xbfone\r\n")
    desk.run()
    read = desk.library.read(LOCAL, "notes-a")
    assert read.sha256 == read.document.sha256 == hashlib.sha256(b"\xef\xbb\xbfone\r\n").hexdigest()


def test_a_file_that_is_gone_is_told(desk: Desk) -> None:
    file = desk.write("a.md", "one")
    desk.run()
    file.unlink()
    with pytest.raises(NotFound, match=r"a\.md does not exist any more"):
        desk.library.read(LOCAL, "notes-a")


def test_an_unknown_id_is_answered_with_the_nearest(desk: Desk) -> None:
    for name in ("auth-guide.md", "auth-notes.md", "zebra.md"):
        desk.write(name, "text")
    desk.run()
    with pytest.raises(NotFound, match=r"Node not found\. Did you mean notes-auth-guide, ") as error:
        desk.library.get(LOCAL, "auth-guid")
    assert error.value.code == "NODE_NOT_FOUND"


@each("id", ["", "../../etc/passwd", "a" * 100_000, "nul\0", "\ud800"])
def test_what_can_be_no_id_is_not_found(desk: Desk, id: str) -> None:
    with pytest.raises(NotFound):
        desk.library.get(LOCAL, id)


def test_folders_are_listed_with_those_above_them(desk: Desk) -> None:
    desk.write("a/b/x.md", "text")
    desk.write("y.md", "text")
    desk.run()
    assert directory(one.path for one in desk.library.cached(LOCAL)) == ["notes/", "notes/a/", "notes/a/b/"]


def test_a_text_that_is_no_file_is_kept(desk: Desk) -> None:
    added = desk.library.add(ANN, "briefs/auth.md", b"# Login\n\nstrawberry")
    assert (added.id, added.title) == ("briefs-auth", "Login")
    assert desk.library.read(ANN, "briefs-auth").text == "# Login\n\nstrawberry"


def test_a_text_that_comes_again_replaces_itself(desk: Desk) -> None:
    desk.library.add(ANN, "a.md", b"one")
    desk.library.add(ANN, "a.md", b"two")
    assert [desk.library.read(ANN, one.id).text for one in desk.library.documents(ANN)] == ["two"]


def test_texts_whose_paths_make_one_id_are_both_kept(desk: Desk) -> None:
    ids = {desk.library.add(ANN, path, path.encode()).id for path in ("a b.md", "a-b.md")}
    assert len(ids) == 2


@each("path", ["../a.md", "a/../../b.md", "", "/", "a\0.md", "a.exe"])
def test_a_path_that_is_none_is_refused(desk: Desk, path: str) -> None:
    with pytest.raises(Refused):
        desk.library.add(ANN, path, b"text")


def test_nobody_sees_what_is_another_owners(desk: Desk) -> None:
    desk.library.add(ANN, "a.md", b"text")
    with pytest.raises(NotFound, match="loci ingest"):
        desk.library.get(LOCAL, "a")


@each("name", ["notes-a-x", "notes/a/x.md", "notes/a", "notes/a/"])
def test_a_document_is_named_by_id_path_or_folder(desk: Desk, name: str) -> None:
    desk.write("a/x.md", "text")
    desk.write("ab/y.md", "text")
    desk.run()
    assert [one.id for one in desk.library.matching(LOCAL, name)] == ["notes-a-x"]


def test_a_document_is_named_by_where_its_file_was(desk: Desk) -> None:
    file = desk.write("a/x.md", "text")
    desk.run()
    file.unlink()
    assert [one.id for one in desk.library.matching(LOCAL, str(file))] == ["notes-a-x"]


def test_what_names_nothing_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound):
        desk.library.matching(LOCAL, "nothing\0")


def test_a_forgotten_document_is_found_no_more_and_its_file_stays(desk: Desk) -> None:
    file = desk.write("a.md", "strawberry")
    desk.run()
    desk.library.remove(LOCAL, desk.library.documents(LOCAL))
    assert (desk.found("strawberry"), desk.ids(), file.exists()) == (set(), set(), True)


def test_a_forgotten_text_is_kept_nowhere(desk: Desk) -> None:
    desk.library.add(ANN, "a.md", b"text")
    desk.library.remove(ANN, desk.library.documents(ANN))
    assert [file for file in (desk.data / "blobs").rglob("*") if file.is_file()] == []


def test_a_root_goes_with_its_last_document_unless_its_folder_was_ingested_and_not_forgotten(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    [document] = desk.library.documents(LOCAL)
    desk.library.remove(LOCAL, [document])
    assert [one.folder for one in desk.catalog.roots(LOCAL).values()] == [str(desk.notes)]
    desk.run()
    IngestedFolders(desk.catalog).forget(LOCAL, [document])
    desk.library.remove(LOCAL, [document])
    assert desk.catalog.roots(LOCAL) == {}


def test_a_document_that_somebody_writes_is_not_removed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LOCK_WAIT_SECONDS", 0.0)
    kept, free = desk.library.add(ANN, "a.md", b"text"), desk.library.add(ANN, "b.md", b"text")
    with FolderWriteLocks(desk.data / "turns").take(ANN, lock_name("a.md"), 0):
        for remove in (lambda: desk.library.remove_upload(ANN, "a.md"), lambda: desk.library.remove(ANN, [free, kept])):
            with pytest.raises(Unavailable, match=r"Somebody else writes a\.md") as error:
                remove()
            assert error.value.code == "BUSY"
    assert desk.library.read(ANN, kept.id).text == "text"
