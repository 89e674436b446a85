"""Edits that name the exact text to replace, in notes as people have them."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.support.vault.write import BOM, Note, vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call, failed
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]

PLAN = b"# Plan\n\nWe leave on Monday, by ferry.\n\n- [ ] tickets\n- [ ] tent\n\n## Later\n\nRest.\n"
ALL = vault_notes()


class Vault:
    """A few notes on a runtime."""

    def __init__(self, app: App, folder: Path) -> None:
        self._app = app
        self._folder = folder
        folder.mkdir()

    def add(self, path: str, content: bytes) -> str:
        """The id of the note."""
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        take_in(self._app, self._folder)
        return self._app.documents.parts.catalog.find(LOCAL, f"vault/{path}").id

    def content(self, path: str) -> bytes:
        library = self._app.documents.parts.library
        return library.content(LOCAL, library.get(LOCAL, f"vault/{path}"))


@pytest.fixture
def vault(app: App, tmp_path: Path) -> Vault:
    return Vault(app, tmp_path / "vault")


async def edit(connect: Connect, id: str, old: str, new: str, **more: object) -> Any:
    return await call(connect, "write_document", path=id, mode="edit", old=old, new=new, **more)


async def refused(connect: Connect, id: str, old: str, new: str = "x", **more: object) -> str:
    return await failed(connect, "write_document", path=id, mode="edit", old=old, new=new, **more)


def kinds() -> list[Note]:
    """A note with LF, one with CRLF, one with a byte order mark, one with both, one that is a single long line."""
    with_both = [note for note in ALL if note.content.startswith(BOM) and b"\r\n" in note.content]
    return [
        next(note for note in ALL if note.content[:4] == b"---\n"),
        next(note for note in ALL if b"\r\n" in note.content),
        next(note for note in ALL if note.content.startswith(BOM)),
        *with_both[:1],
        next(note for note in ALL if note.path.startswith("ja/") and b"\r\n" in note.content),
        next(note for note in ALL if note.content.count(b"\n") == 0 and len(note.content) > 8000),
    ]


@each("note", (pytest.param(note, id=note.path) for note in kinds()))
async def test_only_the_named_text_changes_and_undo_brings_every_byte_back(
    connect: Connect, vault: Vault, note: Note
) -> None:
    id = vault.add(note.path, note.content)
    text = note.content.decode()
    at = next(at for at in range(len(text) // 2, 0, -1) if text.count(text[at : at + 60]) == 1)
    old = text[at : at + 60]
    said = await edit(connect, id, old, f"{old}\nThe zeppelin lands.\n")
    after = vault.content(note.path)
    line_end = "\r\n" if b"\r\n" in note.content else "\n"
    end = len(text[: at + 60].encode())
    added = f"{line_end}The zeppelin lands.{line_end}".encode()
    assert after == note.content[:end] + added + note.content[end:]
    assert (said["changed"], said["hash"]) == (True, sha256(after).hexdigest())
    found = await call(connect, "search_documents", query="zeppelin")
    assert [one["id"] for one in found["results"]] == [id]
    await call(connect, "undo_write", path=id)
    assert vault.content(note.path) == note.content
    assert (await call(connect, "search_documents", query="zeppelin"))["results"] == []


async def test_a_text_of_several_lines_is_found_whatever_its_line_ends(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", PLAN.replace(b"\n", b"\r\n"))
    await edit(connect, id, "- [ ] tickets\n- [ ] tent", "- [x] tickets\r\n- [ ] tent\r\n- [ ] maps")
    wanted = PLAN.replace(b"- [ ] tickets\n- [ ] tent", b"- [x] tickets\n- [ ] tent\n- [ ] maps")
    assert vault.content("plan.md") == wanted.replace(b"\n", b"\r\n")


async def test_bytes_that_are_the_same_in_both_texts_stay_even_if_they_are_not_utf_8(
    connect: Connect, vault: Vault
) -> None:
    id = vault.add("latin.md", b"# Caf\xe9\r\n\nOpen\rfrom nine, caf\xe9 to go.\n")
    await edit(connect, id, "Open\nfrom nine, caf\ufffd", "Open\nfrom ten, caf\ufffd")
    assert vault.content("latin.md") == b"# Caf\xe9\r\n\nOpen\rfrom ten, caf\xe9 to go.\n"


async def test_properties_and_tags_can_be_edited_and_are_read_again(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", b"---\ntags: [trip]\nstatus: draft\n---\n" + PLAN + b"\n<!-- tags: boat -->\n")
    await edit(connect, id, "status: draft", "status: done\naliases: [Voyage]")
    said = await edit(connect, id, "<!-- tags: boat -->", "<!-- tags: boat, sea -->")
    assert said["tags"] == ["trip", "boat", "sea"]
    [first, *_] = (await call(connect, "search_documents", query="voyage"))["results"]
    assert first["id"] == id
    said = await edit(connect, id, "tags: [trip]", "tags: [trip")
    assert "front matter is broken" in said["problems"][0]


async def test_a_text_that_is_not_there_is_refused_with_the_nearest_line(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", PLAN)
    said = await refused(connect, id, "We leave on monday by  ferry.")
    assert said.startswith("NO_SUCH_TEXT: vault/plan.md does not have this text")
    assert "line 3: “We leave on Monday, by ferry.”" in said
    said = await refused(connect, id, "- [ ] tickets\n- [ ] tents")
    assert "The nearest to “- [ ] tents” is line 6: “- [ ] tent”" in said
    assert "nearest" not in await refused(connect, id, "Zeppelin")
    assert vault.content("plan.md") == PLAN


async def test_the_nearest_part_of_a_long_line_is_shown(connect: Connect, vault: Vault) -> None:
    note = kinds()[-1]
    id = vault.add(note.path, note.content)
    text = note.content.decode()
    said = await refused(connect, id, text[4000:4080].upper())
    assert "is line 1: “" in said
    assert text[4010:4040] in said
    assert len(said) < 800


async def test_a_text_that_occurs_twice_is_refused_with_its_lines(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", PLAN)
    said = await refused(connect, id, "- [ ] t")
    assert said.startswith("AMBIGUOUS_TEXT: vault/plan.md has this text 2 times, at lines 5, 6.")
    assert "Give more of the text around it" in said
    many = vault.add("many.md", b"aaa\n" * 50)
    assert "at lines 1, 2, 3" in await refused(connect, many, "aa")
    assert "50 times" in await refused(connect, many, "aaa\n")
    assert vault.content("plan.md") == PLAN


async def test_an_edit_over_what_an_editor_wrote_meanwhile_is_refused(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", PLAN)
    read = (await call(connect, "read_node_content", id=id))["hash"]
    vault.add("plan.md", PLAN.replace(b"Monday", b"Tuesday"))
    said = await refused(connect, id, "Rest.", "Sleep.", expected_hash=read)
    assert said.startswith("CONFLICT")
    assert "-Rest.\n+Sleep." in said
    said = await refused(connect, id, "Monday", "Sunday", expected_hash=read)
    assert said.startswith("CONFLICT")
    assert "does not have this text" in said
    assert b"Tuesday" in vault.content("plan.md")
    await edit(connect, id, "Rest.", "Sleep.")
    assert vault.content("plan.md") == PLAN.replace(b"Monday", b"Tuesday").replace(b"Rest.", b"Sleep.")


async def test_an_edit_that_would_hide_headings_is_refused(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", PLAN)
    assert "BAD_TEXT" in await refused(connect, id, "We leave", "```\nWe leave")
    vault.add("rule.md", b"Title\n---\n\nText.\n\nNext\n---\n")
    await edit(connect, "vault/rule.md", "Title\n---", "Title\n===")
    await edit(connect, "vault/rule.md", "Text.", "")
    assert vault.content("rule.md") == b"Title\n===\n\n\n\nNext\n---\n"


async def test_a_text_that_stays_the_same_writes_nothing(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", PLAN)
    said = await edit(connect, id, "Rest.", "Rest.")
    assert (said["changed"], said["hash"]) == (False, sha256(PLAN).hexdigest())
    assert "NO_HISTORY" in await failed(connect, "undo_write", path=id)


async def test_arguments_that_do_not_go_together_are_refused(connect: Connect, vault: Vault) -> None:
    id = vault.add("plan.md", PLAN)
    wrong: list[dict[str, object]] = [
        {"mode": "edit", "old": "Rest."},
        {"mode": "edit", "new": "Rest."},
        {"mode": "edit", "old": "", "new": "Rest."},
        {"mode": "edit", "old": "Rest.", "new": "Sleep.", "heading": "Later"},
        {"mode": "edit", "old": "Rest.", "new": "Sleep.", "content": "More."},
        {"mode": "append", "old": "Rest.", "new": "Sleep."},
        {"mode": "append", "content": "More.", "new": "Sleep."},
        {"mode": "append"},
    ]
    for arguments in wrong:
        said = await failed(connect, "write_document", path=id, **arguments)
        assert said.startswith("BAD_ARGUMENTS"), arguments
    assert "NO_SUCH_DOCUMENT" in await refused(connect, "vault/gone.md", "a")
    for path in ("../plan.md", "vault/../plan.md"):
        assert "BAD_PATH" in await refused(connect, path, "Rest.")
    assert vault.content("plan.md") == PLAN
