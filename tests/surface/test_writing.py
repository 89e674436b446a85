"""The tools that write, as clients call them, in files of this machine and in what is kept on AWS."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.errors import Refused
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.documents.ingest.local_files import blob_key
from loci.mcp.server import build_server
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, structured, texts, written
from tests.surface.runtimes import RUNTIMES

pytestmark = pytest.mark.anyio
everywhere = pytest.mark.parametrize("app", RUNTIMES, indirect=True)
here = pytest.mark.parametrize("app", ["embedded"], indirect=True)

NOTES = {
    "briefs/2026-01-10-login.md": "---\ntags: [auth]\n---\n# Login\n\nSign in.\n",
    "plan.md": "# Plan\r\n\r\nSoon.\r\n\r\n## Later\r\n\r\nRest.\r\n",
}
BRIEF, PLAN = "notes-briefs-2026-01-10-login", "notes-plan"


class Notes:
    """What was taken in, wherever it lies."""

    def __init__(self, app: App, folder: Path) -> None:
        self._app = app
        self.folder = folder

    @property
    def is_here(self) -> bool:
        return self._app.settings.mode == "embedded"

    def place(self, path: str) -> str:
        """What an answer calls it."""
        return str(self.folder / path) if self.is_here else f"notes/{path}"

    def read(self, path: str) -> bytes:
        if self.is_here:
            return (self.folder / path).read_bytes()
        id = self._app.documents.parts.catalog.find(LOCAL, f"notes/{path}").id
        return self._app.blobs.read(LOCAL, blob_key(id))

    def write(self, path: str, content: bytes) -> None:
        """As somebody else does, without Loci's tools."""
        if self.is_here:
            (self.folder / path).write_bytes(content)
        else:
            self._app.documents.parts.library.add(LOCAL, f"notes/{path}", content)

    def exists(self, path: str) -> bool:
        if self.is_here:
            return (self.folder / path).exists()
        return self._app.documents.parts.catalog.find(LOCAL, f"notes/{path}").document is not None


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Notes:
    folder = tmp_path / "notes"
    notes = Notes(app, folder)
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        notes.write(path, text.encode())
    if notes.is_here:
        app.documents.parts.ingest.run(LOCAL, [str(folder)])
    return notes


async def tagged(connect: Connect, *tags: str) -> list[str]:
    found = await call(connect, "query_by_tags", tags=list(tags), match="all")
    return [one["id"] for one in found["results"]]


def hash_of(content: bytes) -> str:
    return sha256(content).hexdigest()


@everywhere
async def test_injected_tags_are_said_as_in_the_reference_and_found_at_once(connect: Connect, notes: Notes) -> None:
    async with connect("documents") as client:
        answer = await client.call_tool("inject_tags", {"file_path": PLAN, "tags": ["Road Map", "plan", "plan"]})
    assert texts(answer) == [f"Successfully injected 2 tags into {notes.place('plan.md')}"]
    assert structured(answer)["added"] == ["road-map", "plan"]
    assert structured(answer)["hash"] == hash_of(notes.read("plan.md"))
    assert notes.read("plan.md") == NOTES["plan.md"].encode() + b"\r\n<!-- tags: road-map, plan -->\r\n"
    assert await tagged(connect, "road-map", "plan") == [PLAN]


@everywhere
async def test_tags_are_merged_and_twice_is_once(connect: Connect, notes: Notes) -> None:
    path = notes.place("briefs/2026-01-10-login.md")
    first = await call(connect, "inject_tags", file_path=path, tags=["auth", "web"])
    assert first["result"] == f"Successfully merged 1 tags into {path}"
    once = notes.read("briefs/2026-01-10-login.md")
    assert once == b"---\ntags: [auth, web]\n---\n# Login\n\nSign in.\n"
    again = await call(connect, "inject_tags", file_path="notes/briefs/2026-01-10-login.md", tags=["auth", "web"])
    assert again["result"] == f"Successfully merged 0 tags into {path}"
    assert notes.read("briefs/2026-01-10-login.md") == once


@everywhere
async def test_a_dry_run_writes_nothing(connect: Connect, notes: Notes) -> None:
    said = await call(connect, "inject_tags", file_path=PLAN, tags=["new"], dry_run=True)
    assert said["result"] == f"Would inject 1 tags into {notes.place('plan.md')}"
    assert notes.read("plan.md") == NOTES["plan.md"].encode()
    assert await tagged(connect, "new") == []
    done = await call(connect, "inject_tags", file_path=PLAN, tags=["new"])
    assert done["hash"] == said["hash"]


@everywhere
async def test_a_debrief_is_written_and_found_with_its_links(connect: Connect, notes: Notes) -> None:
    made = await call(
        connect,
        "write_document",
        path="notes/debriefs/2026-02-03-login.md",
        content="---\ntags: [retro]\n---\n# What we learned\n\nCookies; see [[plan]] and [[not yet]].\n",
    )
    assert (made["id"], made["changed"], made["problems"]) == ("notes-debriefs-2026-02-03-login", True, [])
    assert made["hash"] == hash_of(notes.read("debriefs/2026-02-03-login.md"))
    assert [(one["target"], one["type"], one["title"]) for one in made["links"]] == [
        (BRIEF, "follows", "Login"),
        (PLAN, "references", "Plan"),
        (None, "references", "not yet"),
    ]
    assert await tagged(connect, "retro") == [made["id"]]
    read = await call(connect, "read_node_content", id=made["id"])
    assert read["hash"] == made["hash"]


@everywhere
@pytest.mark.usefixtures("notes")
async def test_broken_front_matter_is_told(connect: Connect) -> None:
    made = await call(connect, "write_document", path="notes/a.md", content="---\ntags: [\n---\n# A\n")
    assert "front matter is broken" in made["problems"][0]


@everywhere
async def test_what_is_there_is_not_made_again(connect: Connect, notes: Notes) -> None:
    assert "ALREADY_THERE" in await failed(connect, "write_document", path="notes/plan.md", content="Mine.")
    assert notes.read("plan.md") == NOTES["plan.md"].encode()
    first = await call(connect, "write_document", path="notes/a.md", content="A")
    again = await call(connect, "write_document", path="notes/a.md", content="A")
    assert (first["changed"], again["changed"], again["hash"]) == (True, False, first["hash"])


@everywhere
async def test_text_is_appended_and_sections_replaced(connect: Connect, notes: Notes) -> None:
    more = await call(connect, "write_document", path=PLAN, content="Much later.", mode="append")
    await call(
        connect,
        "write_document",
        path=PLAN,
        content="Sleep.\n",
        mode="replace",
        heading="later",
        expected_hash=more["hash"],
    )
    assert notes.read("plan.md") == b"# Plan\r\n\r\nSoon.\r\n\r\n## Later\r\n\r\nSleep.\r\n"
    found = await call(connect, "search_documents", query="sleep")
    assert [one["id"] for one in found["results"]] == [PLAN]


@everywhere
@pytest.mark.usefixtures("notes")
async def test_text_is_replaced_only_by_who_has_read_it(connect: Connect) -> None:
    assert "HASH_NEEDED" in await failed(connect, "write_document", path=PLAN, content="x", mode="replace")
    wrong = "0" * 64
    assert "CONFLICT" in await failed(
        connect, "write_document", path=PLAN, content="x", mode="append", expected_hash=wrong
    )


@everywhere
async def test_the_second_of_two_writers_learns_what_the_first_changed(connect: Connect, notes: Notes) -> None:
    read = (await call(connect, "read_node_content", id=PLAN))["hash"]
    mine: dict[str, Any] = {"path": PLAN, "mode": "replace", "heading": "Later", "expected_hash": read}
    first = await call(connect, "write_document", content="The first one.", **mine)
    lost = await failed(connect, "write_document", content="The second one.", **mine)
    assert lost.startswith("CONFLICT")
    assert "\n-Rest.\n+The first one.\n" in lost
    assert first["hash"] in lost
    assert b"The first one." in notes.read("plan.md")


@everywhere
async def test_what_changed_without_loci_counts_too(connect: Connect, notes: Notes) -> None:
    read = (await call(connect, "read_node_content", id=PLAN))["hash"]
    notes.write("plan.md", b"# Plan\n\nNever.\n")
    lost = await failed(
        connect, "write_document", path=PLAN, content="# Plan\n\nSoon!", mode="replace", expected_hash=read
    )
    assert "-Never.\n+Soon!" in lost
    assert notes.read("plan.md") == b"# Plan\n\nNever.\n"


@everywhere
async def test_writes_are_taken_back_one_by_one(connect: Connect, notes: Notes) -> None:
    made = await call(connect, "write_document", path="notes/a.md", content="# A\n\nOne.\n")
    await call(connect, "write_document", path=made["id"], content="Two.", mode="append")
    await call(connect, "inject_tags", file_path=made["id"], tags=["three"])
    first = await call(connect, "undo_write", path=made["id"])
    assert (first["undone"].split()[0], first["undoable"], first["tags"]) == ("inject_tags", 2, [])
    assert await tagged(connect, "three") == []
    second = await call(connect, "undo_write", path="notes/a.md")
    assert (second["hash"], notes.read("a.md")) == (made["hash"], b"# A\n\nOne.\n")
    last = await call(connect, "undo_write", path=made["id"])
    assert (last["id"], last["hash"], last["undoable"]) == (None, None, 0)
    assert not notes.exists("a.md")
    assert "NODE_NOT_FOUND" in await failed(connect, "read_node_content", id=made["id"])
    assert "NO_HISTORY" in await failed(connect, "undo_write", path="notes/a.md")


@here
async def test_what_others_wrote_since_is_not_undone_unknowingly(connect: Connect, notes: Notes) -> None:
    await call(connect, "inject_tags", file_path=PLAN, tags=["new"])
    notes.write("plan.md", b"# Plan\n\nNever.\n")
    lost = await failed(connect, "undo_write", path=PLAN)
    assert lost.startswith("CONFLICT")
    assert "-Never.\n" in lost
    await call(connect, "undo_write", path=PLAN, expected_hash=hash_of(b"# Plan\n\nNever.\n"))
    assert notes.read("plan.md") == NOTES["plan.md"].encode()


@everywhere
async def test_twenty_writes_are_kept(connect: Connect, app: App, notes: Notes) -> None:
    for number in range(22):
        await call(connect, "inject_tags", file_path=PLAN, tags=[f"t{number}"])
    assert len(app.blobs.list(LOCAL, "history/")) == 20
    assert (await call(connect, "undo_write", path=PLAN))["undoable"] == 19
    app.documents.parts.library.remove(LOCAL, app.documents.parts.library.matching(LOCAL, PLAN))
    assert app.blobs.list(LOCAL, "history/") == []
    assert notes.is_here == (notes.folder / "plan.md").exists()


@everywhere
@pytest.mark.usefixtures("notes")
async def test_what_is_not_there_is_not_tagged(connect: Connect) -> None:
    assert "NO_SUCH_DOCUMENT" in await failed(connect, "inject_tags", file_path="notes/gone.md", tags=["a"])
    assert PLAN in await failed(connect, "inject_tags", file_path="notes-plam", tags=["a"])
    assert "NO_SUCH_DOCUMENT" in await failed(
        connect, "write_document", path="notes/gone.md", content="x", mode="append"
    )


@here
@pytest.mark.usefixtures("notes")
async def test_what_is_needed_is_told(connect: Connect) -> None:
    assert "tags" in await failed(connect, "inject_tags", file_path=PLAN)
    assert "file_path" in await failed(connect, "inject_tags", tags=["a"])
    assert "BAD_TAG" in await failed(connect, "inject_tags", file_path=PLAN, tags=["#"])
    assert "expected_hash" in await failed(
        connect, "write_document", path=PLAN, content="x", mode="append", expected_hash="abc"
    )
    assert "'Later'" in await failed(connect, "write_document", path=PLAN, content="x", mode="append", heading="Sooner")
    assert "BAD_ARGUMENTS" in await failed(connect, "write_document", path="notes/new.md", content=" \n")
    assert "BAD_ARGUMENTS" in await failed(connect, "write_document", path="notes/new.md", content="x", heading="A")


@here
async def test_nothing_is_written_outside_the_roots(connect: Connect, notes: Notes, tmp_path: Path) -> None:
    outside = written(tmp_path / "outside", {"a.md": "mine\n"}) / "a.md"
    (notes.folder / "out").symlink_to(tmp_path / "outside")
    (notes.folder / "out.md").symlink_to(outside)
    (notes.folder / "nowhere.md").symlink_to(tmp_path / "outside" / "new.md")
    (notes.folder / "code.py").write_text("x = 1\n")
    refused = {
        str(outside): "OUTSIDE_ROOT",
        str(notes.folder / "out.md"): "OUTSIDE_ROOT",
        "notes/out.md": "OUTSIDE_ROOT",
        "notes/out/a.md": "OUTSIDE_ROOT",
        "notes/nowhere.md": "OUTSIDE_ROOT",
        "elsewhere/a.md": "OUTSIDE_ROOT",
        f"{notes.folder}/../outside/a.md": "BAD_PATH",
        "notes/../outside/a.md": "BAD_PATH",
        "notes/a\n.md": "BAD_PATH",
        "~nobody/a.md": "OUTSIDE_ROOT",
        str(notes.folder / "code.py"): "NOT_A_DOCUMENT",
        "notes/.git/a.md": "NOT_A_DOCUMENT",
        f"notes/{'x' * 300}.md": "NAME_TOO_LONG",
        "notes/node_modules/a.md": "NOT_A_DOCUMENT",
        str(notes.folder): "OUTSIDE_ROOT",
    }
    for name, code in refused.items():
        tags = await failed(connect, "inject_tags", file_path=name, tags=["bad"])
        assert tags.startswith(code), tags
        text = await failed(connect, "write_document", path=name, content="bad")
        assert text.startswith(code), text
    assert outside.read_text() == "mine\n"
    assert sorted(one.name for one in outside.parent.iterdir()) == ["a.md"]


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_an_editor_that_is_faster_is_not_overwritten(app: App, notes: Notes) -> None:
    seen: list[bytes | None] = []

    def change(_path: str, before: bytes | None) -> bytes:
        if not seen:  # between the look and the write
            notes.write("plan.md", b"# Plan\n\nEdited.\n")
        seen.append(before)
        return (before or b"") + b"\nMore.\n"

    app.authoring.change(LOCAL, PLAN, change, expect=None, by="test")
    assert notes.read("plan.md") == b"# Plan\n\nEdited.\n\nMore.\n"
    assert app.authoring.undo(LOCAL, PLAN, expect=None).older == 0
    assert notes.read("plan.md") == b"# Plan\n\nEdited.\n"


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_what_another_owner_has_is_out_of_reach(app: App, notes: Notes) -> None:
    ann = Owner("acme", "ann")

    def change(_path: str, _before: bytes | None) -> bytes:
        return b"Mine.\n"

    with pytest.raises(Refused, match="is not in a folder"):
        app.authoring.change(ann, str(notes.folder / "plan.md"), change, expect=None, by="test")
    mine = app.authoring.change(ann, "notes/plan.md", change, expect=None, by="test")
    assert mine.document is not None
    assert mine.document.root is None
    assert notes.read("plan.md") == NOTES["plan.md"].encode()


@here
async def test_permissions_stay_and_nothing_is_left_beside_the_file(connect: Connect, notes: Notes) -> None:
    file = notes.folder / "plan.md"
    file.chmod(0o640)
    await call(connect, "inject_tags", file_path=str(file), tags=["new"])
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in notes.folder.iterdir()) == ["briefs", "plan.md"]


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_folders_of_a_setting_may_be_written_to(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    app = build_app(load_settings({"data": tmp_path, "models": tmp_path / "models", "write_roots": [str(folder)]}))
    async with Client(build_server(app, "documents"), mode="2026-07-28") as client:
        answer = await client.call_tool("write_document", {"path": "journal/2026/a.md", "content": "# A"})
        assert structured(answer)["id"] == "journal-2026-a"
        answer = await client.call_tool("write_document", {"path": str(folder / "b.md"), "content": "# B"})
        assert structured(answer)["id"] == "journal-b"
    assert (folder / "2026" / "a.md").read_text() == "# A\n"


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_folders_of_a_setting_are_out_of_reach_of_other_owners(app: App, tmp_path: Path) -> None:
    folder = written(tmp_path / "journal", {"a.md": "mine\n"})
    app = build_app(load_settings({"data": tmp_path, "models": tmp_path / "models", "write_roots": [str(folder)]}))
    edits, ann = app.authoring, Owner("acme", "ann")
    with pytest.raises(Refused, match="is not in a folder"):
        edits.change(ann, str(folder / "a.md"), lambda _path, _old: b"Hers.\n", expect=None, by="test")
    kept = edits.change(ann, "journal/a.md", lambda _path, _old: b"Hers.\n", expect=None, by="test")
    assert (kept.target.root, (folder / "a.md").read_text()) == (None, "mine\n")


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_without_any_folder_documents_are_kept_by_loci(app: App, connect: Connect) -> None:
    made = await call(connect, "write_document", path="debriefs/a.md", content="# A\n\nKept.")
    assert app.blobs.read(LOCAL, blob_key(made["id"])) == b"# A\n\nKept.\n"
    await call(connect, "inject_tags", file_path=made["id"], tags=["x"])
    assert await tagged(connect, "x") == [made["id"]]
