"""`loci import` of what other programs keep: each note becomes a document, and links lead where they led."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loci.core.identity import LOCAL
from tests.e2e.conftest import Homes
from tests.e2e.in_process import loci
from tests.e2e.test_moving import moved, opened
from tests.support.each import each


def texts(data: Path) -> dict[str, str]:
    documents = opened(data).documents
    return {one.path: documents.archive.text(LOCAL, one.id).decode() for one in documents.newest(LOCAL)}


def linked(data: Path, id: str) -> set[str]:
    """The documents to which a document links."""
    links = opened(data).documents.links(LOCAL, id, direction="outgoing")
    return {one.other.id for one in links if one.other and not one.is_inferred}


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


# The reference memory server


GRAPH = """\
{"type":"entity","name":"Ann","entityType":"person","observations":["Likes rail","Lives in Århus"]}
{"type":"entity","name":"ann","entityType":"person","observations":[]}
{"type":"entity","name":"Rail/Club: north?","entityType":"organization","observations":["Founded 1901"]}
{"type":"relation","from":"Ann","to":"Rail/Club: north?","relationType":"member of"}
{"type":"relation","from":"Ann","to":"Bo","relationType":"knows"}
"""


def test_each_entity_of_a_memory_server_is_a_document(data: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(GRAPH)
    assert moved(data, "import", tmp_path / "memory.jsonl")["taken"] == {"documents": 4}
    found = texts(data)
    assert set(found) == {f"memory-server/{one}.md" for one in ("Ann", "ann 2", "Rail Club north", "Bo")}
    assert "- Likes rail\n- Lives in Århus\n" in found["memory-server/Ann.md"]
    assert linked(data, "memory-server-ann") == {"memory-server-rail-club-north", "memory-server-bo"}
    [ann] = [one for one in opened(data).documents.newest(LOCAL) if one.path == "memory-server/Ann.md"]
    assert (ann.title, ann.tags) == ("Ann", ("person",))


def test_a_line_that_is_no_entity_is_refused_before_anything_is_written(data: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(GRAPH + '{"type":"entity"}\n')
    ended = loci(data, "import", str(tmp_path / "memory.jsonl"))
    assert (ended.returncode, "Line 6 is neither" in ended.stderr) == (1, True)
    assert texts(data) == {}


# basic-memory


COFFEE = """\
---
title: Coffee Brewing
type: note
permalink: notes/coffee-brewing
tags: [coffee]
---
# Coffee Brewing

- [method] Pour over takes four minutes #slow (by hand)
- requires [[Grinding]]
- [[Tea]]
"""


@pytest.fixture
def basic_memory(tmp_path: Path) -> Path:
    grinding = "---\ntitle: Grinding\npermalink: notes/grinding\n---\n# Grinding\n"
    return written(tmp_path / "bm", **{"notes/coffee brewing.md": COFFEE, "notes/how to grind.md": grinding})


def test_notes_of_basic_memory_keep_their_bytes_tags_and_relations(data: Path, basic_memory: Path) -> None:
    assert moved(data, "import", basic_memory)["taken"] == {"documents": 2}
    assert texts(data)["basic-memory/notes/coffee brewing.md"] == COFFEE
    assert linked(data, "basic-memory-notes-coffee-brewing") == {"basic-memory-notes-how-to-grind"}
    tags = {one.id: one.tags for one in opened(data).documents.newest(LOCAL)}
    assert tags["basic-memory-notes-coffee-brewing"] == ("coffee", "slow")


def test_the_folder_can_be_chosen_and_a_second_import_changes_nothing(data: Path, basic_memory: Path) -> None:
    asked = ("import", basic_memory, "--from", "basic-memory", "--into", "kitchen")
    moved(data, *asked)
    assert moved(data, *asked)["same"] == {"documents": 2}
    assert "kitchen/notes/coffee brewing.md" in texts(data)


def test_a_note_that_changed_since_is_told_and_not_overwritten(data: Path, basic_memory: Path) -> None:
    moved(data, "import", basic_memory)
    (basic_memory / "notes" / "how to grind.md").write_text("---\npermalink: x\n---\n# Other\n")
    ended = loci(data, "import", str(basic_memory))
    assert (ended.returncode, "how to grind.md is here with another text" in ended.stdout) == (1, True)
    assert "# Grinding" in texts(data)["basic-memory/notes/how to grind.md"]


def test_a_note_that_can_be_no_document_is_named_and_the_exit_code_says_so(data: Path, basic_memory: Path) -> None:
    (basic_memory / "notes" / "two\nlines.md").write_text("# Two\n")
    for settled in ((), ("--keep", "here")):
        ended = loci(data, "import", str(basic_memory), "--json", *settled)
        told = json.loads(ended.stdout)
        assert (ended.returncode, [one["name"] for one in told["failed"]]) == (1, ["notes/two\nlines.md"])
    assert len(texts(data)) == 2


# Obsidian


def vault(tmp_path: Path, settings: dict[str, Any], **files: str) -> Path:
    folder = written(tmp_path / "vault", **files)
    return written(folder, **{".obsidian/app.json": json.dumps(settings), ".trash/old.md": "# Old\n"})


def test_a_vault_comes_without_what_it_excludes(data: Path, tmp_path: Path) -> None:
    settings = {"userIgnoreFilters": ["Templates/", "drafts", "/\\.secret\\.md$/", "/^old.*-x/"]}
    files = {"Home.md": "# Home\n\n[[Plan]]\n", "work/Plan.md": "# Plan\n", "Templates/Day.md": "# Day\n"}
    files |= {"drafts/x.md": "# X\n", "drafts-kept/y.md": "# Y\n", "work/a.secret.md": "# S\n", "old/a-x.md": "# O\n"}
    moved(data, "import", vault(tmp_path, settings, **files))
    assert set(texts(data)) == {"obsidian/Home.md", "obsidian/work/Plan.md", "obsidian/drafts-kept/y.md"}
    assert linked(data, "obsidian-home") == {"obsidian-work-plan"}


@each(
    ("form", "link"),
    [("absolute", "work/deep/My%20Plan.md"), ("relative", "../deep/My%20Plan.md"), ("shortest", "My%20Plan.md")],
)
def test_markdown_links_lead_where_obsidian_leads_them(new_home: Homes, form: str, link: str) -> None:
    home = new_home()
    data = home / "data"
    settings = {"useMarkdownLinks": True, "newLinkFormat": form}
    note = f"# Home\n\n[plan]({link})\n\n```\n[plan]({link})\n```\n"
    files = {"work/day/Home.md": note, "work/deep/My Plan.md": "# Plan\n", "other/Note.md": "# Other\n"}
    moved(data, "import", vault(home, settings, **files))
    assert linked(data, "obsidian-work-day-home") == {"obsidian-work-deep-my-plan"}
    assert f"```\n[plan]({link})\n```" in texts(data)["obsidian/work/day/Home.md"]


@each("expression", ["/(/", "/(a+)+$/", "/\\d/", "/a.b/"])
def test_a_filter_that_cannot_be_read_is_refused(data: Path, tmp_path: Path, expression: str) -> None:
    ended = loci(data, "import", str(vault(tmp_path, {"userIgnoreFilters": [expression]}, **{"a.md": "# A\n"})))
    assert (ended.returncode, "cannot read" in ended.stderr) == (1, True)
    assert texts(data) == {}


def test_a_link_out_of_the_vault_is_not_followed(data: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n")
    folder = vault(tmp_path, {}, **{"a.md": "# A\n"})
    (folder / "b.md").symlink_to(secret)
    (folder / "c").symlink_to(tmp_path)
    moved(data, "import", folder)
    assert set(texts(data)) == {"obsidian/a.md"}


# Conversations with Claude


def conversations(*, text: str = "How long does the ferry take?") -> list[dict[str, Any]]:
    human = {"uuid": "1", "sender": "human", "text": text, "content": [{"type": "text", "text": text}]}
    attached = {"attachments": [{"file_name": "table.csv", "extracted_content": "a,b"}]}
    tool: dict[str, Any] = {"type": "tool_use", "name": "search", "input": {}}
    answer = {"type": "text", "text": "Three hours."}
    claude: dict[str, Any] = {"uuid": "2", "sender": "assistant", "text": "", "content": [tool, answer]}
    facts = {"name": "Ferry: when?", "created_at": "2026-02-14T10:04:22Z", "updated_at": "2026-02-15T10:04:22Z"}
    empty: dict[str, Any] = {"uuid": "e", "name": "", "chat_messages": []}
    return [{"uuid": "abc", **facts, "chat_messages": [{**human, **attached}, claude]}, empty]


def test_each_conversation_with_claude_is_a_document(data: Path, tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps(conversations()))
    assert moved(data, "import", tmp_path)["taken"] == {"documents": 1}
    [(path, text)] = texts(data).items()
    assert path == "claude/2026-02-14 Ferry when.md"
    assert "## Human\n\nHow long does the ferry take?\n\nAttached table.csv:\n\na,b\n" in text
    assert "## Claude\n\nThree hours.\n" in text
    [document] = opened(data).documents.newest(LOCAL)
    assert (document.title, document.tags, document.date) == ("Ferry: when?", ("conversation",), "2026-02-14")


@each("odd", [None, {"attachments": ["x"]}, {"content": 5}])
def test_an_export_of_another_shape_is_refused(data: Path, tmp_path: Path, odd: dict[str, Any] | None) -> None:
    other = {"uuid": "odd", "chat_messages": [{"sender": "human", "text": "hi", **(odd or {})}]}
    export = {"chat_messages": 1} if odd is None else [*conversations(), other]
    (tmp_path / "conversations.json").write_text(json.dumps(export))
    ended = loci(data, "import", str(tmp_path / "conversations.json"))
    assert (ended.returncode, "not written as exports" in ended.stderr) == (1, True)
    assert texts(data) == {}


def test_what_nobody_knows_is_refused(data: Path, notes: Path) -> None:
    ended = loci(data, "import", str(notes))
    assert (ended.returncode, "loci ingest" in ended.stderr) == (1, True)
    assert loci(data, "import", str(notes), "--from", "evernote").returncode == 1


def test_a_pipe_or_a_device_as_settings_of_a_vault_is_not_waited_for(data: Path, tmp_path: Path) -> None:
    vault = written(tmp_path / "vault", **{"a.md": "# A\n", ".obsidian/x.json": "{}"})
    settings = vault / ".obsidian" / "app.json"
    os.mkfifo(settings)
    assert moved(data, "import", vault)["taken"] == {"documents": 1}
    settings.unlink()
    settings.symlink_to("/dev/zero")
    assert moved(data, "import", vault)["same"] == {"documents": 1}
