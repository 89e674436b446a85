"""Reading every document's record is the exception: the store is asked again only after somebody wrote."""

from collections.abc import Callable

import pytest

from loci.core.errors import Unavailable
from loci.core.identity import LOCAL
from loci.documents.filtering import LibraryPart, directory

from .conftest import Desk, open_desk


@pytest.fixture
def tagged(desk: Desk) -> Desk:
    """Three uploads, two of them with a tag."""
    for name in ("a", "b"):
        desk.library.add(LOCAL, f"notes/{name}.md", f"# {name}\n\n#harbour {name}\n".encode())
    desk.library.add(LOCAL, "other/c.md", b"# c\n\nNo tag.\n")
    return desk


def scans(desk: Desk, work: Callable[[], object]) -> int:
    """How often the work lists documents' records."""
    before = desk.records.calls.count(("list", "document"))
    work()
    return desk.records.calls.count(("list", "document")) - before


def with_tag(desk: Desk, tag: str = "harbour") -> list[str]:
    return [one.path for one in desk.library.tagged(LOCAL, LibraryPart(tags=(tag,)))]


def folders(tagged: Desk) -> list[str]:
    return directory(one.path for one in tagged.library.cached(LOCAL))


def test_documents_with_a_tag_are_read_from_the_store_once(tagged: Desk) -> None:
    assert with_tag(tagged) == ["notes/a.md", "notes/b.md"]
    assert scans(tagged, lambda: with_tag(tagged)) == 0


def test_folders_are_read_from_the_store_once(tagged: Desk) -> None:
    assert folders(tagged) == ["notes/", "other/"]
    assert scans(tagged, lambda: folders(tagged)) == 0


def test_what_this_process_writes_is_seen_at_once(tagged: Desk) -> None:
    with_tag(tagged)
    tagged.library.add(LOCAL, "new/d.md", b"# d\n\n#harbour\n")
    tagged.library.remove_upload(LOCAL, "notes/a.md")
    assert with_tag(tagged) == ["new/d.md", "notes/b.md"]
    assert folders(tagged) == ["new/", "notes/", "other/"]


def test_a_document_without_text_is_seen_at_once(tagged: Desk) -> None:
    with_tag(tagged)
    tagged.library.add(LOCAL, "notes/d.md", b"---\ntags: [harbour]\n---\n")
    assert with_tag(tagged) == ["notes/a.md", "notes/b.md", "notes/d.md"]


def test_what_another_process_writes_is_seen_at_once(tagged: Desk) -> None:
    with_tag(tagged)
    other = open_desk(tagged.notes.parent)
    other.library.add(LOCAL, "new/d.md", b"# d\n\n#harbour\n")
    other.library.remove_upload(LOCAL, "notes/a.md")
    assert with_tag(tagged) == ["new/d.md", "notes/b.md"]


def test_tags_and_folders_are_there_while_the_index_is_not(tagged: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise Unavailable("The index is away", "Try again")

    monkeypatch.setattr(type(tagged.index), "state", fail)
    for _ in range(2):
        assert (with_tag(tagged), folders(tagged)) == (["notes/a.md", "notes/b.md"], ["notes/", "other/"])


def test_uploads_are_dropped_without_a_look_at_all_documents(tagged: Desk) -> None:
    def drop_all() -> None:
        for path in ("notes/a.md", "notes/b.md", "other/c.md"):
            tagged.library.remove_upload(LOCAL, path)

    assert scans(tagged, drop_all) == 0
    assert tagged.ids() == set()


def test_a_folder_of_uploads_that_is_renamed_keeps_its_former_paths(tagged: Desk) -> None:
    def rename() -> None:
        for name in ("a", "b"):
            text = tagged.library.read(LOCAL, f"notes-{name}").text
            tagged.library.add(LOCAL, f"new/{name}.md", text.encode())
        for name in ("a", "b"):
            tagged.library.remove_upload(LOCAL, f"notes/{name}.md")

    assert scans(tagged, rename) == 0
    assert [tagged.document(f"new-{name}").former for name in ("a", "b")] == [("notes/a.md",), ("notes/b.md",)]


def test_a_dropped_upload_that_another_process_moved_leaves_its_path_to_the_new_one(tagged: Desk) -> None:
    tagged.library.remove_upload(LOCAL, "notes/a.md")
    open_desk(tagged.notes.parent).library.add(LOCAL, "new/b.md", b"# b\n\n#harbour b\n")
    tagged.library.remove_upload(LOCAL, "notes/b.md")
    assert tagged.document("new-b").former == ("notes/b.md",)


def test_a_document_that_was_moved_twice_keeps_both_former_paths(tagged: Desk) -> None:
    text = b"# b\n\n#harbour b\n"
    for before, after in (("notes/b.md", "new/b.md"), ("new/b.md", "newest/b.md")):
        tagged.library.add(LOCAL, after, text)
        tagged.library.remove_upload(LOCAL, before)
    assert tagged.document("newest-b").former == ("new/b.md", "notes/b.md")


def test_a_path_is_passed_on_to_a_document_of_which_only_another_process_knows(desk: Desk) -> None:
    other = open_desk(desk.notes.parent)
    for name in ("a", "b"):
        desk.library.add(LOCAL, f"notes/{name}.md", f"# {name}\n".encode())
    desk.library.remove_upload(LOCAL, "notes/a.md")
    other.library.add(LOCAL, "new/b.md", b"# b\n")
    desk.library.remove_upload(LOCAL, "notes/b.md")
    assert desk.document("new-b").former == ("notes/b.md",)
