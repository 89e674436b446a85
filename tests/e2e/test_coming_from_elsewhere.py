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


# Transcripts


def at(minute: int) -> str:
    return f"2026-02-14T10:{minute:02}:00.000Z"


SESSION: list[dict[str, Any]] = [
    {"type": "summary", "summary": "Ferry times", "leafUuid": "1"},
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat: made by a command"}},
    {"type": "user", "timestamp": at(1), "message": {"role": "user", "content": "How long does the ferry take?"}},
    {
        "type": "assistant",
        "timestamp": at(2),
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "a secret thought"},
                {"type": "text", "text": "I read the table.\n\n# Plan"},
                {"type": "tool_use", "name": "Read", "input": {"path": "table.csv"}},
            ],
        },
    },
    {
        "type": "user",
        "timestamp": at(3),
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "a long result"}]},
    },
    {"type": "assistant", "timestamp": at(4), "message": {"content": [{"type": "text", "text": "Three hours."}]}},
    {"type": "assistant", "isSidechain": True, "timestamp": at(5), "message": {"content": "beside"}},
    {"type": "file-history-snapshot", "snapshot": {}},
]
SAID: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is the harbour?"},
    {"role": "assistant", "content": [{"type": "text", "text": "In Lindau."}]},
]
CHANNEL: list[dict[str, Any]] = [
    {
        "type": "message",
        "user": "U1",
        "text": "Who has the oars?",
        "ts": "1771063200.0",
        "user_profile": {"real_name": "Ann"},
    },
    {"type": "message", "bot_id": "B1", "text": "A build passed", "ts": "1771063210.0"},
    {"type": "message", "user": "U2", "text": "I do.", "ts": "1771063260.0"},
]


def lines(rows: list[dict[str, Any]]) -> str:
    return "\n".join(map(json.dumps, rows)) + "\n"


def test_a_folder_of_sessions_of_claude_code_becomes_conversations(data: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "0a.jsonl").write_text(lines(SESSION))
    (tmp_path / "project" / "memory.jsonl").write_text(GRAPH)
    assert moved(data, "import", tmp_path, "--from", "claude")["taken"] == {"documents": 1}
    [(path, text)] = texts(data).items()
    assert path == "claude/2026-02-14 Ferry times.md"
    said = "## Human\n\nHow long does the ferry take?\n\n## Claude\n\nI read the table.\n\n# Plan\n\nThree hours.\n"
    assert text.endswith(f"# Ferry times\n\n{said}")
    [document] = opened(data).documents.newest(LOCAL)
    assert (document.title, document.tags, document.date) == ("Ferry times", ("conversation",), "2026-02-14")


TRANSCRIPTS = {
    "a session": ("0a.jsonl", lines(SESSION), "2026-02-14 Ferry times", "## Claude\n\nI read the table."),
    "roles": ("chat.jsonl", lines(SAID), "Where is the harbour", "harbour?\n\n## Assistant\n\nIn Lindau.\n"),
    "roles in a list": ("chat.json", json.dumps(SAID), "Where is the harbour", "## Assistant\n\nIn Lindau.\n"),
    "Slack": ("boats.json", json.dumps(CHANNEL), "2026-02-14 boats", "## U2 (2026-02-14 10:01)\n\nI do.\n"),
}


@each("kind", TRANSCRIPTS)
def test_a_transcript_is_known_by_its_shape(data: Path, tmp_path: Path, kind: str) -> None:
    name, content, title, said = TRANSCRIPTS[kind]
    (tmp_path / name).write_text(content)
    moved(data, "import", tmp_path / name, "--into", kind)
    assert said in texts(data)[f"{kind}/{title}.md"]


@each("content", ["", "[]", "{}", '[{"role": 5}]', '{"level": "info", "message": "started"}\n', '[{"user": "x"}]'])
def test_json_without_a_conversation_is_refused(data: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "log.jsonl").write_text(content)
    ended = loci(data, "import", str(tmp_path / "log.jsonl"), "--from", "chats")
    assert (ended.returncode, "has no conversation" in ended.stderr) == (1, True)
    assert texts(data) == {}
