"""`loci import` of what other programs keep: each note becomes a document, and links lead where they led."""

import json
from pathlib import Path
from typing import Any

from loci.core.identity import LOCAL
from tests.e2e.in_process import loci
from tests.e2e.test_moving import moved, opened
from tests.support.each import each


def texts(data: Path) -> dict[str, str]:
    documents = opened(data).documents
    return {one.path: documents.archive.text(LOCAL, one).decode() for one in documents.newest(LOCAL)}


def linked(data: Path, id: str) -> set[str]:
    """The documents to which a document links."""
    links = opened(data).graph.links(LOCAL, id, direction="outgoing")
    return {one.other.id for one in links if one.other and one.similarity is None}


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


def test_the_folder_can_be_chosen_and_a_second_import_changes_nothing(data: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(GRAPH)
    asked = ("import", tmp_path / "memory.jsonl", "--from", "memory-server", "--into", "garden")
    moved(data, *asked)
    assert moved(data, *asked)["same"] == {"documents": 4}
    assert "garden/Ann.md" in texts(data)


def test_a_note_that_changed_since_is_told_and_not_overwritten(data: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(GRAPH)
    moved(data, "import", tmp_path / "memory.jsonl")
    (tmp_path / "memory.jsonl").write_text(GRAPH.replace("Likes rail", "Likes ferries"))
    ended = loci(data, "import", str(tmp_path / "memory.jsonl"))
    assert (ended.returncode, "Ann.md is here with another text" in ended.stdout) == (1, True)
    assert "Likes rail" in texts(data)["memory-server/Ann.md"]


def test_what_can_be_no_document_is_named_and_the_exit_code_says_so(data: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(GRAPH)
    ended = loci(data, "import", str(tmp_path / "memory.jsonl"), "--into", "../out", "--json")
    told = json.loads(ended.stdout)
    assert (ended.returncode, len(told["failed"]), told["taken"]) == (1, 4, {})
    assert "is not a path of a document" in told["failed"][0]["why"]
    assert texts(data) == {}


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
    for gone in ("evernote", "obsidian", "basic-memory"):
        assert "loci ingest" in loci(data, "import", str(notes), "--from", gone).stderr
