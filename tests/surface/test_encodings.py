"""Notes in UTF-16, as Windows writes them, and files with the name of a note that are no text."""

from contextlib import suppress
from pathlib import Path

import pytest

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, WITHOUT_SEARCH, take_in

pytestmark = pytest.mark.anyio
here = pytest.mark.parametrize("app", ["embedded"], indirect=True)
"""The files are on this machine."""
both = pytest.mark.parametrize("app", RUNTIMES, indirect=True)
without_search = pytest.mark.parametrize("app", WITHOUT_SEARCH, indirect=True)
UTF16 = [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
NOTE = (
    "---\r\ntitle: Brücken\r\ntags: [bau]\r\n---\r\n# Alte\r\n\r\nDie 🌉 aus Stein.\r\n\r\n# Neue\r\n\r\nAus Stahl.\r\n"
)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x06\0\0\0\x1f\xf3\xffa"


def bring(app: App, folder: Path, name: str, content: bytes, *, is_alone: bool = False) -> None:
    """Write the note into the folder and have that ingested: read here, or brought to the upload address."""
    file = written(folder, {name: ""} if is_alone else {"kept.md": "Kept.", name: ""}) / name
    file.write_bytes(content)
    with suppress(Refused):  # of an upload; an ingest of a folder goes on
        take_in(app, file.parent)


@both
@pytest.mark.parametrize(("codec", "mark"), UTF16)
async def test_utf_16_with_a_mark_is_found_and_read(
    app: App, connect: Connect, tmp_path: Path, codec: str, mark: bytes
) -> None:
    bring(app, tmp_path / "notes", "b.md", mark + NOTE.encode(codec))
    [found] = (await call(connect, "search_documents", query="Stahl"))["results"]
    assert (found["preview"], found["heading"], found["snippet"]) == ("Brücken", "Brücken > Neue", "Aus Stahl.")
    read = await call(connect, "read_node_content", id=found["id"])
    assert (read["result"], read["note"]) == (f"\ufeff{NOTE}", None)
    assert (await call(connect, "query_by_tags", tags=["bau"]))["results"][0]["id"] == found["id"]


@both
@pytest.mark.parametrize(("codec", "mark"), UTF16)
async def test_utf_16_stays_utf_16_when_tools_write(
    app: App, connect: Connect, tmp_path: Path, codec: str, mark: bytes
) -> None:
    bring(app, tmp_path / "notes", "b.md", mark + NOTE.encode(codec))
    edit = {"mode": "edit", "old": "🌉 aus Stein", "new": "Brücke aus Granit"}
    await call(connect, "write_document", path="notes/b.md", **edit)
    await call(connect, "inject_tags", file_path="notes/b.md", tags=["fluss"])
    await call(connect, "write_document", path="notes/b.md", mode="append", heading="Neue", content="Und Glas: “🏙”.")
    read = await call(connect, "read_node_content", id="notes/b.md")
    same = await call(
        connect, "write_document", path="notes/b.md", mode="replace", content=read["result"], expected_hash=read["hash"]
    )
    assert not same["changed"]
    wanted = NOTE.replace("🌉 aus Stein", "Brücke aus Granit").replace("[bau]", "[bau, fluss]")
    wanted = wanted.removesuffix("\r\n") + "\r\n\r\nUnd Glas: “🏙”.\r\n"
    document = app.documents.parts.library.get(LOCAL, "notes/b.md")
    assert app.documents.parts.library.content(LOCAL, document) == mark + wanted.encode(codec)


UNREADABLE = {
    "picture.md": (PNG, "NOT_TEXT", "a PNG picture"),
    "paper.md": (b"%PDF-1.7\n1 0 obj\n<< >>\n", "NOT_TEXT", "a PDF"),
    "bytes.md": (bytes(range(256)) * 20, "NOT_TEXT", "bytes that are no text"),
    "wide.md": (NOTE.encode("utf-16-le"), "NOT_TEXT", "UTF-16 without a byte order mark"),
    "wider.md": (NOTE.encode("utf-32"), "NOT_TEXT", "UTF-32"),
    "large.md": (b"word " * (MAX_DOCUMENT_BYTES // 5 + 1), "FILE_TOO_LARGE", "10 MB"),
}
TOOLS: dict[str, dict[str, object]] = {
    "read_node_content": {"id": "{}"},
    "explore_links": {"id": "{}"},
    "graph_neighbors": {"id": "{}"},
    "inject_tags": {"file_path": "{}", "tags": ["a"]},
    "write_document": {"path": "{}", "content": "Text."},
    "move_document": {"path": "{}", "to": "{}.new.md"},
    "delete_document": {"path": "{}", "expected_hash": "0" * 64},
}


@without_search
@each("name", UNREADABLE)
@each("is_alone", [False, True])
async def test_a_file_that_is_no_text_is_refused_by_every_tool_with_the_reason(
    app: App, connect: Connect, tmp_path: Path, name: str, is_alone: bool
) -> None:
    content, code, reason = UNREADABLE[name]
    folder = tmp_path / f"{name.removesuffix('.md')}-{'alone' if is_alone else 'among-others'}"
    path = f"{folder.name}/{name}"
    bring(app, folder, name, content, is_alone=is_alone)
    for tool, arguments in TOOLS.items():
        named = {key: value.format(path) if isinstance(value, str) else value for key, value in arguments.items()}
        said = await failed(connect, tool, **named)
        assert said.startswith(f"{code}: "), (tool, said)
        assert path in said, (tool, said)
        assert reason in said, (tool, said)
    assert (folder / name).read_bytes() == content


@here
@each("name", UNREADABLE)
async def test_the_ingest_of_a_folder_names_the_file_and_the_reason(app: App, tmp_path: Path, name: str) -> None:
    content, _, reason = UNREADABLE[name]
    folder = written(tmp_path / name, {"kept.md": "Kept."})
    (folder / name).write_bytes(content)
    [failure] = app.documents.ingest(LOCAL, [str(folder)]).failed
    assert failure.path == f"{name}/{name}"
    assert reason in failure.reason


@both
@each("name", UNREADABLE)
async def test_an_upload_that_is_no_text_is_refused_with_the_reason(app: App, connect: Connect, name: str) -> None:
    content, code, reason = UNREADABLE[name]
    with pytest.raises(Refused) as refused:
        app.documents.parts.library.add(LOCAL, f"notes/{name}", content)
    assert refused.value.code == code
    assert refused.value.what.startswith(f"notes/{name} is ")
    assert reason in refused.value.what
    assert "The library is empty" in " ".join(str(one) for one in [await call(connect, "search_documents", query="a")])


@without_search
async def test_the_reason_is_gone_when_the_file_is_a_text(app: App, connect: Connect, tmp_path: Path) -> None:
    bring(app, tmp_path / "notes", "a.md", PNG)
    assert (await failed(connect, "read_node_content", id="notes/a.md")).startswith("NOT_TEXT: ")
    bring(app, tmp_path / "notes", "a.md", b"A strawberry.")
    read = await call(connect, "read_node_content", id="notes/a.md")
    assert read["result"] == "A strawberry."
    await call(connect, "delete_document", path="notes/a.md", expected_hash=read["hash"])
    assert (await failed(connect, "read_node_content", id="notes/a.md")).startswith("NODE_NOT_FOUND: ")


@without_search
async def test_the_reason_is_gone_when_the_file_is(app: App, connect: Connect, tmp_path: Path) -> None:
    bring(app, tmp_path / "notes", "a.md", PNG)
    (tmp_path / "notes" / "a.md").unlink()
    app.documents.parts.library.remove_upload(LOCAL, "notes/a.md")  # as the notice of its deletion does
    take_in(app, tmp_path / "notes")
    assert (await failed(connect, "read_node_content", id="notes/a.md")).startswith("NODE_NOT_FOUND: ")
    await call(connect, "write_document", path="notes/a.md", content="A strawberry.")


@here
async def test_a_note_that_became_a_picture_keeps_its_passages_and_says_why_it_cannot_be_read(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    folder = written(tmp_path / "notes", {"a.md": "A strawberry.", "b.md": "Another."})
    take_in(app, folder)
    (folder / "a.md").write_bytes(PNG)
    [failure] = app.documents.ingest(LOCAL, [str(folder)]).failed
    assert "a PNG picture" in failure.reason
    assert (await failed(connect, "read_node_content", id="notes-a")).startswith("NOT_TEXT: ")


@here
async def test_a_file_that_is_there_and_was_not_ingested_is_named(app: App, connect: Connect, tmp_path: Path) -> None:
    folder = written(tmp_path / "notes", {"a.md": "A."})
    take_in(app, folder)
    (folder / "later.md").write_text("Later.")
    said = await failed(connect, "read_node_content", id="notes/later.md")
    assert "notes/later.md is there, and not ingested" in said
    assert "loci ingest" in said
