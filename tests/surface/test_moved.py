"""Documents that a tool moves: the links to them follow, all or none, and undo takes all of it back."""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.authoring.stored_text import BlobText, FileText
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.documents.ingest.uploads import Applied
from tests.support.vault.write import BOM, vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call, failed
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = pytest.mark.anyio
everywhere = pytest.mark.parametrize("app", RUNTIMES, indirect=True)
here = pytest.mark.parametrize("app", ["embedded"], indirect=True)


class Vault:
    """Notes on a runtime."""

    def __init__(self, app: App, folder: Path) -> None:
        self._app = app
        self.folder = folder

    def fill(self, notes: Mapping[str, str | bytes]) -> None:
        for path, text in notes.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        take_in(self._app, self.folder)

    def content(self, path: str) -> bytes:
        library = self._app.documents.parts.library
        return library.content(LOCAL, library.get(LOCAL, f"vault/{path}"))

    def all(self) -> dict[str, bytes]:
        library = self._app.documents.parts.library
        return {
            one.path.removeprefix("vault/"): library.content(LOCAL, one)
            for one in library.documents(LOCAL)
            if one.path.startswith("vault/")
        }


@pytest.fixture
def vault(app: App, tmp_path: Path) -> Vault:
    return Vault(app, tmp_path / "vault")


async def move(connect: Connect, path: str, to: str, **more: object) -> Any:
    return await call(connect, "move_document", path=f"vault/{path}", to=f"vault/{to}", **more)


NOTE = "Text of the note.\n\n## Part\n\nMore. ^block\n"
LINKS = {
    "[[Note]]": "[[Fresh name]]",
    "[[note|the note]]": "[[Fresh name|the note]]",
    "[[Note#Part]]": "[[Fresh name#Part]]",
    "[[Note#Part|alias]]": "[[Fresh name#Part|alias]]",
    "[[Note^block]]": "[[Fresh name^block]]",
    "[[a/Note]]": "[[b/deep/Fresh name]]",
    "[[a/Note.md|x]]": "[[b/deep/Fresh name.md|x]]",
    "[[../a/Note]]": "[[../b/deep/Fresh name]]",
    "![[Note]]": "![[Fresh name]]",
    "![[Note#Part]]": "![[Fresh name#Part]]",
    "| cell | [[Note\\|in a table]] |": "| cell | [[Fresh name\\|in a table]] |",
    "[x](../a/Note.md)": "[x](../b/deep/Fresh%20name.md)",
    "[x](../a/Note.md#part)": "[x](../b/deep/Fresh%20name.md#part)",
    '[x](<../a/Note.md> "title")': '[x](<../b/deep/Fresh%20name.md> "title")',
    "[x](/a/Note.md)": "[x](/b/deep/Fresh%20name.md)",
    "[x](a/Note.md)": "[x](b/deep/Fresh%20name.md)",
    "![x](../a/Note.md)": "![x](../b/deep/Fresh%20name.md)",
    "[ref]: ../a/Note.md": "[ref]: ../b/deep/Fresh%20name.md",
    "[[The good old one]]": "[[The good old one]]",
    "`[[Note]]` and `[x](../a/Note.md)`": "`[[Note]]` and `[x](../a/Note.md)`",
    "<!-- [[Note]] and\n[x](../a/Note.md) -->": "<!-- [[Note]] and\n[x](../a/Note.md) -->",
    "```\n[[Note]]\n```": "```\n[[Note]]\n```",
    "    [[Note]] in code": "    [[Note]] in code",
    "[[Other]] and [y](other.md)": "[[Other]] and [y](other.md)",
    "https://example.org/a/Note.md and [z](https://example.org/Note)": "https://example.org/a/Note.md and [z](https://example.org/Note)",
}
HEAD = '---\nup: "[[Note]]"\nfollows: Note\nrelated: [Other, Note]\ntags: [a]\n---\n'
NEW_HEAD = '---\nup: "[[Fresh name]]"\nfollows: Fresh name\nrelated: [Other, Fresh name]\ntags: [a]\n---\n'


@everywhere
@pytest.mark.parametrize(("bom", "line_end"), [(b"", "\n"), (BOM, "\r\n")])
async def test_every_kind_of_link_follows_and_undo_brings_back_every_byte(
    connect: Connect, vault: Vault, bom: bytes, line_end: str
) -> None:
    def written(head: str, links: list[str]) -> bytes:
        return bom + (head + "\n\n".join(["Begin.", *links]) + "\n").replace("\n", line_end).encode()

    before = written(HEAD, [*LINKS])
    vault.fill(
        {
            "a/Note.md": "---\naliases: [The good old one]\n---\n" + NOTE,
            "c/links.md": before,
            "c/other.md": "Nothing.\n",
            "d/none.md": "No link.\n",
        }
    )
    said = await move(connect, "a/Note.md", "b/deep/Fresh name.md")
    assert (said["id"], said["path"]) == ("vault-b-deep-fresh-name", "vault/b/deep/Fresh name.md")
    assert (said["changed"], said["unfinished"]) == (["vault/c/links.md"], None)
    after = vault.content("c/links.md").decode().removeprefix("\ufeff").replace(line_end, "\n")
    assert after == NEW_HEAD + "\n\n".join(["Begin.", *LINKS.values()]) + "\n"
    assert vault.content("c/links.md") == written(NEW_HEAD, [*LINKS.values()])
    assert "a/Note.md" not in vault.all()
    assert vault.content("b/deep/Fresh name.md").decode().endswith(NOTE)
    links = await call(connect, "explore_links", id="vault-c-links", direction="outgoing")
    assert "vault-b-deep-fresh-name" in str(links)
    undone = await call(connect, "undo_write", path="vault/b/deep/Fresh name.md")
    assert undone["undone"].startswith("move_document at ")
    assert (undone["path"], undone["id"]) == ("vault/a/Note.md", "vault-a-note")
    assert vault.content("c/links.md") == before
    assert set(vault.all()) == {"a/Note.md", "c/links.md", "c/other.md", "d/none.md"}
    assert "NO_HISTORY" in await failed(connect, "undo_write", path="vault/a/Note.md")


@everywhere
async def test_its_own_links_lead_where_they_led(connect: Connect, vault: Vault) -> None:
    vault.fill(
        {
            "a/Note.md": "[x](near.md) [y](../c/far.md#h) [[near]] [[Note]] [self](Note.md)\n",
            "top.md": "[x](beside.md) [y](c/far.md) [[c/far]] [[beside]]\n",
            "beside.md": "[x](top.md) [[top]]\n",
            "a/near.md": "Near.\n",
            "c/far.md": "Far.\n",
        }
    )
    await move(connect, "a/Note.md", "b/deep/Moved.md")
    text = vault.content("b/deep/Moved.md").decode()
    assert text == "[x](../../a/near.md) [y](../../c/far.md#h) [[near]] [[Moved]] [self](Moved.md)\n"
    await move(connect, "top.md", "a/top.md")
    assert vault.content("a/top.md").decode() == "[x](../beside.md) [y](../c/far.md) [[c/far]] [[beside]]\n"
    assert vault.content("beside.md").decode() == "[x](a/top.md) [[top]]\n"


@everywhere
async def test_a_link_that_another_note_would_take_over_is_written_with_its_path(
    connect: Connect, vault: Vault
) -> None:
    before = {
        "a/Old.md": "The moved one.\n",
        "x/New.md": "The other one.\n",
        "New top.md": "At the top.\n",
        "b/links.md": "[[New]] leads to x. [[Old]] leads to a.\n",
        "b/top.md": "[[New top]]\n",
        "e/links.md": "[[Old]] and [[New]]\n",
    }
    vault.fill(before)
    said = await move(connect, "a/Old.md", "b/New.md")
    assert vault.content("b/links.md") == b"[[x/New]] leads to x. [[b/New]] leads to a.\n"
    assert vault.content("e/links.md") == b"[[b/New]] and [[x/New]]\n"
    assert set(said["changed"]) == {"vault/b/links.md", "vault/e/links.md"}
    await move(connect, "b/New.md", "b/New top.md")
    assert vault.content("b/top.md") == b"[[/New top]]\n"
    for path in ("b/New top.md", "b/New.md"):
        await call(connect, "undo_write", path=f"vault/{path}")
    assert {path: text.decode() for path, text in vault.all().items()} == before


@everywhere
async def test_notes_of_a_vault_are_renamed_with_their_links(connect: Connect, vault: Vault) -> None:
    notes = {one.path: one for one in vault_notes() if one.path.startswith(("ru/", "zh/"))}
    vault.fill({path: one.content for path, one in notes.items()})
    for language in ("ru", "zh"):
        note = next(one for path, one in notes.items() if path.startswith(f"{language}/") and one.aliases)
        linking = {path for path, one in notes.items() if f"[[{note.stem}]]".encode() in one.content}
        assert linking
        said = await move(connect, note.path, f"{language}/Überschrift (neu) 100%.md")
        assert {one.removeprefix("vault/") for one in said["changed"]} == linking - {note.path}
        for path in linking - {note.path}:
            assert vault.content(path) == notes[path].content.replace(
                f"[[{note.stem}]]".encode(), "[[Überschrift (neu) 100%]]".encode()
            )
        await call(connect, "undo_write", path=said["path"])
        assert vault.all() == {path: one.content for path, one in notes.items()}


@everywhere
async def test_what_is_in_the_way_stays_and_nothing_moves(connect: Connect, vault: Vault) -> None:
    notes = {"a.md": "A\n", "b.md": "B [[a]]\n"}
    vault.fill(notes)
    wrong = {
        "vault/b.md": "ALREADY_EXISTS",
        "vault-b": "ALREADY_EXISTS",
        "vault/a.md": "ALREADY_EXISTS",
        "../a.md": "BAD_PATH",
        "vault/../c.md": "BAD_PATH",
        "vault/c\n.md": "BAD_PATH",
        "/etc/c.md": "OUTSIDE_ROOT",
        f"vault/{'x' * 300}.md": f"NAME_TOO_LONG: The name {'x' * 60}… has 303 bytes, and may have 255. Shorten it",
        f"vault/{'é' * 127}.md": f"NAME_TOO_LONG: The name {'é' * 60}… has 257 bytes, and may have 255",
        f"vault/{'😀' * 64}/c.md": "NAME_TOO_LONG",
    }
    for to, code in wrong.items():
        said = await failed(connect, "move_document", path="vault/a.md", to=to)
        assert said.startswith(code), (to, said)
    for name, code in {"vault/gone.md": "NO_SUCH_DOCUMENT", "vault-aa": "NODE_NOT_FOUND"}.items():
        assert (await failed(connect, "move_document", path=name, to="vault/c.md")).startswith(code)
    said = await failed(connect, "move_document", path="vault/a.md", to="vault/c.md", expected_hash="0" * 64)
    assert said.startswith("CONFLICT")
    said = await failed(connect, "move_document", path="vault/a.md", to="vault/c#1.md")
    assert said.startswith("BAD_PATH")
    assert {path: text.decode() for path, text in vault.all().items()} == notes
    read = (await call(connect, "read_node_content", id="vault-a"))["hash"]
    longest = f"{'é' * 126}.md"
    assert (await move(connect, "a.md", longest, expected_hash=read))["hash"] == read


@here
async def test_links_of_the_file_system_are_not_followed(connect: Connect, vault: Vault, tmp_path: Path) -> None:
    vault.fill({"a.md": "A\n"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (vault.folder / "out").symlink_to(outside)
    (vault.folder / "link.md").symlink_to(vault.folder / "a.md")
    (vault.folder / "nowhere.md").symlink_to(vault.folder / "later.md")
    for path, to, code in (
        ("vault/a.md", "vault/out/a.md", "OUTSIDE_ROOT"),
        ("vault/a.md", str(outside / "a.md"), "OUTSIDE_ROOT"),
        ("vault/link.md", "vault/b.md", "IS_A_LINK"),
        ("vault/a.md", "vault/nowhere.md", "IS_A_LINK"),
        ("vault/a.md", "vault/.hidden/a.md", "NOT_A_DOCUMENT"),
        ("vault/a.md", "vault/a.py", "BAD_PATH"),
    ):
        said = await failed(connect, "move_document", path=path, to=to)
        assert said.startswith(code), said
    assert (vault.folder / "a.md").read_text() == "A\n"
    assert list(outside.iterdir()) == []


@here
async def test_a_file_keeps_its_permissions_and_its_time(connect: Connect, vault: Vault) -> None:
    vault.fill({"a.md": "A\n", "c.md": "See [[a]].\n"})
    file, other = vault.folder / "a.md", vault.folder / "c.md"
    file.chmod(0o640)
    os.utime(other, (1, 1))
    time = file.stat().st_mtime_ns
    await move(connect, "a.md", "sub/b.md")
    moved = (vault.folder / "sub" / "b.md").stat()
    assert (moved.st_mode & 0o777, moved.st_mtime_ns) == (0o640, time)
    assert not file.exists()
    assert (other.read_text(), other.stat().st_mtime) == ("See [[b]].\n", 1)
    await call(connect, "undo_write", path="vault/sub/b.md")
    assert (other.read_text(), other.stat().st_mtime) == ("See [[a]].\n", 1)


@everywhere
async def test_undo_keeps_what_was_written_into_other_notes_since(connect: Connect, vault: Vault) -> None:
    vault.fill({"a.md": "A\n", "links.md": "See [[a]].\n", "gone.md": "[[a]]\n"})
    await move(connect, "a.md", "b.md")
    await call(connect, "write_document", path="vault/links.md", mode="append", content="And [[b]] again.")
    read = (await call(connect, "read_node_content", id="vault-gone"))["hash"]
    await call(connect, "delete_document", path="vault/gone.md", expected_hash=read)
    await call(connect, "undo_write", path="vault/a.md")
    assert vault.content("links.md") == b"See [[a]].\n\nAnd [[a]] again.\n"
    assert set(vault.all()) == {"a.md", "links.md"}


@everywhere
async def test_undo_is_refused_if_the_note_changed_or_its_old_path_is_taken(connect: Connect, vault: Vault) -> None:
    vault.fill({"a.md": "A\n", "links.md": "See [[a]].\n"})
    await move(connect, "a.md", "b.md")
    await call(connect, "write_document", path="vault/a.md", content="New\n")
    said = await failed(connect, "undo_write", path="vault/b.md")
    assert said.startswith("ALREADY_EXISTS")
    await call(connect, "undo_write", path="vault/a.md")
    written = await call(connect, "write_document", path="vault/b.md", mode="append", content="More.")
    said = await failed(connect, "undo_write", path="vault/a.md")
    assert said.startswith("CONFLICT")
    assert written["hash"] in said
    await call(connect, "undo_write", path="vault/a.md", expected_hash=written["hash"])
    assert vault.all() == {"a.md": b"A\n\nMore.\n", "links.md": b"See [[a]].\n"}


@everywhere
@pytest.mark.parametrize("fails_at", ["b.md", "links-1.md", "a.md"])
async def test_if_one_text_cannot_be_written_nothing_is_moved(
    app: App, connect: Connect, vault: Vault, fails_at: str
) -> None:
    notes = {"a.md": "A [[a]]\n", **{f"links-{number}.md": "See [[a]].\n" for number in range(3)}}
    vault.fill(notes)
    kind = FileText if app.settings.mode == "embedded" else BlobText
    name = "remove" if fails_at == "a.md" else "write"
    real = getattr(kind, name)

    def fails(text: Any, *args: Any, **more: Any) -> None:
        if text.path == f"vault/{fails_at}":
            raise Refused("It cannot be written", "Correct its permissions", code="FILE_UNWRITABLE")
        real(text, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, name, fails)
        said = await failed(connect, "move_document", path="vault/a.md", to="vault/b.md")
        assert said.startswith("FILE_UNWRITABLE")
        assert {path: text.decode() for path, text in vault.all().items()} == notes
    assert app.authoring.repair(LOCAL) == 0
    assert "NO_HISTORY" in await failed(connect, "undo_write", path="vault/a.md")
    await move(connect, "a.md", "b.md")
    assert vault.content("links-1.md") == b"See [[b]].\n"


@here
async def test_a_note_that_an_editor_changes_meanwhile_keeps_that_and_gets_its_new_links(
    connect: Connect, vault: Vault
) -> None:
    vault.fill({"a.md": "A\n", "links.md": "See [[a]].\n"})
    real, seen = FileText.write, list[str]()

    def slow(text: FileText, content: bytes, before: bytes | None, *more: Any) -> None:
        if text.path == "vault/links.md" and not seen:
            seen.append(text.path)
            (vault.folder / "links.md").write_text("Edited: [[a]].\n")
        real(text, content, before, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileText, "write", slow)
        await move(connect, "a.md", "b.md")
    assert (vault.folder / "links.md").read_text() == "Edited: [[b]].\n"
    await call(connect, "undo_write", path="vault/b.md")
    assert (vault.folder / "links.md").read_text() == "Edited: [[a]].\n"


def fed(app: App) -> dict[str, str]:
    """What a client that sends the folder is told to be there."""
    return {one.path: one.sha256 for one in app.documents.sync.uploaded(LOCAL, "vault", None)[0]}


@everywhere
async def test_the_same_upload_does_not_bring_back_what_was_moved(app: App, connect: Connect) -> None:
    sent = [("vault/a.md", b"A\n"), ("vault/links.md", b"[[a]]\n")]
    done = [Applied(path) for path, _ in sent]
    assert list(app.documents.sync.apply(LOCAL, sent, [], lambda: False)) == done
    told = fed(app)
    await move(connect, "a.md", "b.md")
    assert list(app.documents.sync.apply(LOCAL, sent, [], lambda: False)) == done
    library = app.documents.parts.library
    texts = {one.path: library.content(LOCAL, one) for one in library.documents(LOCAL)}
    assert texts == {"vault/b.md": b"A\n", "vault/links.md": b"[[b]]\n"}
    assert fed(app) == told
    await call(connect, "undo_write", path="vault/b.md")
    assert fed(app) == told


@everywhere
async def test_a_note_that_too_many_link_to_is_not_moved(
    connect: Connect, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci.authoring.moving.MOST_LINKING", 2)
    notes = {"a.md": "A\n", **{f"links-{number}.md": "See [[a]].\n" for number in range(3)}}
    vault.fill(notes)
    said = await failed(connect, "move_document", path="vault/a.md", to="vault/b.md")
    assert said.startswith("TOO_MANY_LINKS: 3 documents link to ")
    assert {path: text.decode() for path, text in vault.all().items()} == notes
    assert sha256(vault.content("a.md")).hexdigest() == (await call(connect, "read_node_content", id="vault-a"))["hash"]
