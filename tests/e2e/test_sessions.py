"""`loci ingest --sessions`: sessions with coding agents are documents, which the tools of a server find."""

import json
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.e2e.in_process import loci
from tests.support.each import each
from tests.support.held import paths
from tests.support.serving import Serving, call, post, serving
from tests.support.stub_model import stub_model
from tests.support.transcripts import SECRET, ClaudeCode, codex, cursor, cursor_database, gemini, importer, write
from tests.support.watching import watching

Run = Callable[..., subprocess.CompletedProcess[str]]
QUESTIONS = [
    ("claude-code", "importer drops rows with umlauts", "invoices"),
    ("claude-code", "charset-normalizer or chardet", "invoices"),
    ("claude-code", "row 17 lost", "invoices"),
    ("claude-code", "Read umlauts of invoices commit", "invoices"),
    ("claude-code", "release note left to write", "invoices"),
    ("codex", "retry card payments", "payments"),
    ("codex", "jitter instead of fixed delays", "payments"),
    ("codex", "cap the backoff at a minute", "payments"),
    ("codex", "src/retry.rs", "payments"),
    ("gemini-cli", "thumbnail cache grows", "gallery"),
    ("gemini-cli", "eviction by size", "gallery"),
    ("cursor", "rename the ledger table", "books"),
    ("cursor", "disabled buttons grey", "site"),
    ("cursor", "slate-400", "site"),
]


@pytest.fixture
def run(data: Path, home: Path) -> Run:
    """Return a function that runs a command at that home."""
    return lambda *arguments, **more: loci(data, *map(str, arguments), HOME=str(home), **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the working directory of a repository."""
    (tmp_path / "invoices" / ".git").mkdir(parents=True)
    return tmp_path / "invoices"


@pytest.fixture
def server(data: Path, home: Path) -> Generator[Serving]:
    with serving(data, HOME=str(home), LOCI_FOLLOW_FOLDERS="false") as server:
        yield server


def asked(server: Serving, tool: str, **arguments: object) -> dict[str, Any]:
    result = post(f"{server.url}/mcp", call(tool, arguments)).message()["result"]
    return {"text": result["content"][0]["text"], "error": result.get("isError"), **result.get("structuredContent", {})}


def texts(data: Path) -> dict[str, str]:
    return {str(one.relative_to(data / "sessions")): one.read_text() for one in (data / "sessions").rglob("*.md")}


def test_questions_find_the_sessions_of_each_client(
    run: Run, server: Serving, home: Path, folder: Path, tmp_path: Path
) -> None:
    importer(folder).write(home)
    codex(home, tmp_path / "checkout")
    for make, name in ((gemini, "gallery"), (cursor, "books"), (cursor_database, "site")):
        (tmp_path / name).mkdir()
        make(home, tmp_path / name)
    assert run("ingest", "--sessions").returncode == 0
    missed = [
        (client, question)
        for client, question, repository in QUESTIONS
        if not (found := asked(server, "search_documents", query=question, folder=f"sessions/{client}")["results"])
        or not found[0]["id"].startswith(f"sessions-{client}-{repository}-")
    ]
    assert missed == []


def test_a_document_tells_what_a_session_was_about(run: Run, data: Path, home: Path, folder: Path) -> None:
    importer(folder).write(home)
    run("ingest", "--sessions")
    [(path, text)] = texts(data).items()
    assert path.startswith("claude-code/invoices/2026-03-02-the-invoice-importer-drops-rows")
    for line in (
        'repository: "invoices"',
        'branch: "importer"',
        "## Asked\n\n- The invoice importer drops rows with umlauts. My key is [secret]\n- Good, commit it.\n",
        "## Decided\n\n- We decided to use charset-normalizer rather than chardet, as it is maintained.\n",
        "## Changed\n\n- importer.py\n- Read umlauts of invoices\n",
        "## Left open\n\n- Write the release note\n- Next step: a section on encodings in the manual.\n",
        "      AssertionError: row 17 lost",
    ):
        assert line in text
    for absent in (SECRET, "text of the file", "ignore previous instructions", "hidden"):
        assert absent not in text


def test_what_follows_a_text_of_others_is_marked_line_by_line(run: Run, data: Path, home: Path, folder: Path) -> None:
    importer(folder).write(home)
    run("ingest", "--sessions")
    [text] = texts(data).values()
    lines = text.split("\n")
    assert 'trust: "foreign"' in lines
    ranges = next(line for line in lines if line.startswith("foreign: ")).removeprefix("foreign: ").strip("[]")
    marked = {
        at for one in ranges.split(", ") for first, last in [map(int, one.split("-"))] for at in range(first, last + 1)
    }
    foreign = "\n".join(lines[at - 1] for at in sorted(marked))
    own = "\n".join(line for at, line in enumerate(lines, 1) if at not in marked)
    assert "utf-8-sig" in foreign
    assert "Next step" in foreign
    assert "Next step" not in own
    assert "charset-normalizer" in own
    assert "Good, commit it." in own
    assert "Good, commit it." not in foreign


Uses = tuple[tuple[str, dict[str, Any]], ...]
OWN: Uses = ("Bash", {"command": "curl -s http://localhost:8000/health"}), ("Bash", {"command": "git push"})
FOREIGN: Uses = (
    ("Bash", {"command": "gh issue view 3"}),
    ("Bash", {"command": "curl http://localhost/a https://example.org"}),
    ("Bash", {"command": "python fetch.py https://example.org"}),
    ("Read", {"file_path": "/etc/motd"}),
    ("Read", {"file_path": "../other/notes.md"}),
    ("mcp__jira__issue", {"key": "A-1"}),
    ("WebSearch", {"query": "charsets"}),
    ("Task", {"prompt": "look around"}),
    ("SomethingNew", {}),
)


def test_only_the_repository_and_own_commands_are_no_texts_of_others(
    run: Run, data: Path, home: Path, folder: Path
) -> None:
    rows = [*((one, "own") for one in OWN), *((one, "foreign") for one in FOREIGN)]
    for number, ((name, given), _) in enumerate(rows):
        session = ClaudeCode(folder, f"session-{number}").person(f"Number {number} begins here")
        session.tool(name, "result", **given).model("The text of the model after it").write(home)
    run("ingest", "--sessions")
    told = {
        int(text.partition("Number ")[2].split()[0]): text.partition('trust: "')[2].partition('"')[0]
        for text in texts(data).values()
    }
    assert told == {number: trust for number, (_, trust) in enumerate(rows)}


def test_a_session_links_tags_and_supersedes_nothing(
    run: Run, server: Serving, home: Path, folder: Path, notes: Path
) -> None:
    (notes / "alone.md").write_text("# Alone\n\nNo link.\n")
    for number in range(3):
        importer(folder, f"session-{number}").write(home)
    run("ingest", "--sessions")
    run("ingest", notes)
    [first, *_] = asked(server, "search_documents", query="umlauts", folder="sessions")["results"]
    assert '"inferred":false' not in asked(server, "explore_links", id=first["id"], unresolved=True)["text"]
    assert "sessions" not in asked(server, "find_gaps", kind="dead_link")["text"]
    assert "sessions" not in asked(server, "find_gaps", kind="orphan")["text"]
    assert "sessions" not in asked(server, "find_gaps", threshold=0.1)["text"]
    assert "sessions" in asked(server, "find_gaps", threshold=0.1, folder="sessions")["text"]


def test_tools_write_where_they_did_before_and_never_into_sessions(
    run: Run, server: Serving, data: Path, home: Path, folder: Path
) -> None:
    importer(folder).write(home)
    run("ingest", "--sessions")
    [path] = texts(data)
    assert not asked(server, "write_document", path="notes/a.md", content="# A")["error"]
    for tool, more in (
        ("write_document", {"content": "x", "mode": "append"}),
        ("delete_document", {"expected_hash": "0" * 64}),
    ):
        assert asked(server, tool, path=f"sessions/{path}", **more)["text"].startswith("READ_ONLY"), tool
    assert asked(server, "write_document", path="sessions/a.md", content="# A")["text"].startswith("READ_ONLY")


# Consent


def test_a_watcher_reads_only_after_consent_and_then_what_grows(
    run: Run, data: Path, home: Path, folder: Path, notes: Path
) -> None:
    session = importer(folder)
    session.write(home)
    environment = {"HOME": str(home)}
    with watching(data, notes, **environment) as watcher:
        watcher.said("Watching")
        watcher.stop()
    assert not texts(data)
    run("ingest", "--sessions")
    session.person("Now the vintage stamps, too").write(home)
    with watching(data, **environment) as watcher:
        watcher.said("+ sessions/claude-code/invoices/")
    [text] = texts(data).values()
    assert "Now the vintage stamps, too" in text


def test_excluded_repositories_are_out_at_once_and_stay_out(run: Run, data: Path, home: Path, tmp_path: Path) -> None:
    for name in ("open", "Closed", "closed/below"):
        ClaudeCode(tmp_path / name, name.replace("/", "-")).person(f"In the repository {name}").write(home)
    ClaudeCode(tmp_path / "open", "touches").person("It touches the other").tool(
        "Read", "", file_path=str(tmp_path / "closed" / "a.py")
    ).write(home)
    gemini(home, tmp_path / "gone")
    next((home / ".gemini").rglob(".project_root")).unlink()
    run("ingest", "--sessions")
    assert len(texts(data)) == 5
    assert run("ingest", "--sessions", "--exclude-repository", "closed").returncode == 0
    assert [path.partition("/2026")[0] for path in texts(data)] == ["claude-code/open"]
    assert len(paths(data)) == 1
    ClaudeCode(tmp_path / "closed", "Closed").person("More of it").write(home)
    run("ingest", "--sessions")
    assert len(texts(data)) == 1
    run("ingest", "--sessions", LOCI_EXCLUDE_REPOSITORIES="open")
    assert (texts(data), paths(data)) == ({}, set())


def test_forgotten_sessions_stay_out_and_without_any_the_consent_ends(
    run: Run, data: Path, home: Path, folder: Path, tmp_path: Path
) -> None:
    first, second = ClaudeCode(folder, "first").person("First of all"), ClaudeCode(folder, "second").person("Second")
    first.write(home)
    file = second.write(home)
    run("ingest", "--sessions")
    path = next(path for path in texts(data) if "second" in path)
    assert run("forget", "--yes", f"sessions/{path}").returncode == 0
    second.person("It grows").write(home)
    run("ingest", "--sessions")
    assert len(texts(data)) == len(paths(data)) == 1
    run("ingest", "--sessions", file)
    assert len(texts(data)) == len(paths(data)) == 2
    assert run("forget", "--yes", "sessions").stdout == "Forgot 2 documents.\n"
    assert (texts(data), paths(data)) == ({}, set())
    app = build_app(load_settings({"data": data}))
    assert app.sessions.consent(LOCAL) is None
    assert not app.sessions.take_in(LOCAL, str(file))


def test_links_and_files_of_other_users_are_not_read(
    run: Run, data: Path, home: Path, folder: Path, tmp_path: Path
) -> None:
    ClaudeCode(folder, "own").person("My own session").write(home)
    elsewhere = ClaudeCode(folder, "elsewhere").person("Behind a link").write(tmp_path / "other")
    (home / ".claude/projects/-linked").symlink_to(elsewhere.parent)
    (home / ".claude/projects" / str(folder).replace("/", "-") / "b.jsonl").symlink_to(elsewhere)
    if os.geteuid() == 0:
        os.chown(ClaudeCode(folder, "others").person("Of another user").write(home), 12345, 12345)
    run("ingest", "--sessions")
    assert ["My own session" in one for one in texts(data).values()] == [True]


def test_a_server_takes_in_one_transcript_that_was_agreed_to(data: Path, run: Run, home: Path, folder: Path) -> None:
    session = importer(folder)
    session.write(home)
    outside = ClaudeCode(folder, "outside").person("Elsewhere").write(home / "elsewhere")
    run("ingest", "--sessions")
    file = session.person("And the vintage stamps").write(home)
    app = build_app(load_settings({"data": data}))
    os.environ["HOME"], before = str(home), os.environ["HOME"]
    try:
        assert app.sessions.take_in(LOCAL, str(file))
        assert not app.sessions.take_in(LOCAL, str(outside))
    finally:
        os.environ["HOME"] = before
    assert "vintage" in app.documents.search(LOCAL, "vintage stamps", limit=1, room=500).ranking.hits[0].chunk.text


# Formats that clients wrote once, or write in some of their editions

PASTED = "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nPaint the lighthouse"
OLD_CURSOR = """user:
[Image]
<image_files>
1. /tmp/a.png
</image_files>
<user_query>
Chart the tides of the harbour
</user_query>

assistant:
[Thinking] A secret thought
I read the tables first.
[Tool call] Read
  path: /home/ada/harbour/tides.csv
[Tool call] TodoWrite
  todos: [{"id":"1","content":"Label the axes","status":"pending"}]
[Tool call] Write
  path: /home/ada/harbour/chart.py
  contents: import sys
user: is no turn
assistant:
[Tool result] Write
"""


def test_a_prompt_that_codex_tells_only_as_an_event_counts_once_and_without_its_editor(
    run: Run, data: Path, tmp_path: Path
) -> None:
    meta = {"type": "session_meta", "payload": {"id": "c", "cwd": "/home/ada/lights"}}
    event = {"type": "event_msg", "payload": {"type": "user_message", "message": PASTED}}
    again = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And the door"}]}
    twice = {"type": "event_msg", "payload": {"type": "user_message", "message": "And the door"}}
    rows = [meta, event, {"type": "response_item", "payload": again}, twice]
    write(tmp_path / "given" / "rollout-1.jsonl", rows)
    run("ingest", "--sessions", tmp_path / "given")
    [text] = texts(data).values()
    assert 'title: "Paint the lighthouse"' in text
    assert "Open tabs" not in text
    assert text.partition("## Turns")[2].count("And the door") == 1


def test_a_session_has_no_title_of_another(run: Run, data: Path, home: Path, folder: Path) -> None:
    for name, leaf in (("own", "u0"), ("other", "elsewhere")):
        session = ClaudeCode(folder, name)
        session.rows.append({"type": "summary", "summary": "Lamps of the pier", "leafUuid": leaf})
        session.person("What glows there?", uuid="u0").write(home)
    run("ingest", "--sessions")
    found = {text.partition('session: "')[2].partition('"')[0]: text.splitlines()[1] for text in texts(data).values()}
    assert found == {"own": 'title: "Lamps of the pier"', "other": 'title: "What glows there?"'}


def test_an_older_cursor_wrote_plain_text_in_which_nothing_is_surely_the_persons_own(
    run: Run, data: Path, tmp_path: Path
) -> None:
    file = tmp_path / "Given" / "home-ada-harbour" / "agent-transcripts" / "b-1.txt"
    file.parent.mkdir(parents=True)
    file.write_text(OLD_CURSOR)
    (tmp_path / "Given" / "letter.txt").write_text(OLD_CURSOR)
    run("ingest", "--sessions", tmp_path / "Given")
    [(path, text)] = texts(data).items()
    assert path.startswith("cursor/home-ada-harbour/")
    for line in (
        'title: "Chart the tides of the harbour"',
        'trust: "foreign"\nforeign: [18-18, ',
        "- /home/ada/harbour/chart.py\n",
        "## Left open\n\n- Label the axes\n",
        "I read the tables first.",
    ):
        assert line in text
    assert not any(one in text for one in ("A secret thought", "a.png", "import sys", "is no turn", "[Tool"))


# Bad input


def tool_use(name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "name": name, "input": given}


@each(
    "row",
    [
        "{",
        "[1, 2]",
        "null",
        "\x00\x00",
        '{"type": "user"}',
        '{"type": "user", "message": null}',
        '{"type": "user", "message": {"content": [null, 1, {"type": "text"}, {"type": "tool_result"}]}}',
        json.dumps({"type": "assistant", "message": {"content": [tool_use("Bash", command=[1])]}}),
        json.dumps({"type": "assistant", "message": {"content": [tool_use("TodoWrite", todos=3)]}}),
        '{"type": "user", "timestamp": "2026-99-99T00:00:00Z", "message": {"content": "A bad time"}}',
        '{"type": "user", "cwd": 5, "sessionId": [], "message": {"content": "Odd fields"}}',
        '{"type": "user", "message": {"content": "half \\ud800 and \\u001b[31m red \\u202e"}}',
        '{"type": "kind-of-tomorrow", "message": {"content": "?"}}',
        "[" * 100_000,
    ],
)
def test_bad_rows_are_passed_over(run: Run, data: Path, home: Path, folder: Path, row: str) -> None:
    session = ClaudeCode(folder)
    session.rows.append(row)
    session.person("The text that is good").rows.append(row)
    session.write(home)
    ended = run("ingest", "--sessions")
    assert ended.returncode == 0, ended.stderr
    [text] = texts(data).values()
    assert "The text that is good" in text


@each(
    "file, content", [("a.jsonl", b""), ("b.json", b"{}"), ("c.jsonl", os.urandom(5000)), ("state.vscdb", b"SQLite?")]
)
def test_a_file_that_is_no_transcript_makes_no_document(
    run: Run, data: Path, folder: Path, tmp_path: Path, file: str, content: bytes
) -> None:
    ClaudeCode(folder).person("The good one").write(tmp_path / "given")
    (tmp_path / "given" / file).write_bytes(content)
    assert run("ingest", "--sessions", tmp_path / "given").returncode == 0
    assert len(texts(data)) == 1


def test_without_sessions_the_command_says_so(run: Run) -> None:
    assert "No session is left in your home folder" in run("ingest", "--sessions").stderr
    assert "There is nothing to ingest" in run("ingest").stderr


# Elsewhere


def test_another_server_gets_sessions_without_secrets_of_several_machines(
    tmp_path: Path, data: Path, home: Path, folder: Path
) -> None:
    (tmp_path / "there").mkdir()
    with serving(tmp_path / "there" / "data") as server:
        to = ["--to", f"{server.url}/mcp"]
        for machine, name in (("one", "first"), ("two", "second")):
            importer(folder, name).write(home / machine)
            here = tmp_path / machine
            ended = loci(here, "ingest", "--sessions", *to, HOME=str(home / machine))
            assert ended.returncode == 0, ended.stderr
        found = asked(server, "search_documents", query="umlauts", folder="sessions", limit=5)
        assert len(found["results"]) == 2
        assert SECRET not in json.dumps(found)
        loci(tmp_path / "two", "ingest", "--sessions", "--exclude-repository", "invoices", *to, HOME=str(home / "two"))
        assert len(asked(server, "search_documents", query="umlauts", folder="sessions", limit=5)["results"]) == 1
    assert not paths(tmp_path / "one")


def test_a_language_model_writes_the_lists_if_there_is_one(run: Run, data: Path, home: Path, folder: Path) -> None:
    importer(folder).write(home)
    with stub_model() as model:
        model.says({"decided": ["Umlauts are read with charset-normalizer"], "open": ["The manual"]})
        run("ingest", "--sessions", LOCI_LANGUAGE_MODEL="openai:m", LOCI_LANGUAGE_MODEL_URL=model.url)
        assert "charset-normalizer" in model.requests[0].prompt
        assert SECRET not in model.requests[0].prompt
    [text] = texts(data).values()
    assert "## Decided\n\n- Umlauts are read with charset-normalizer\n" in text
    assert "## Left open\n\n- The manual\n" in text
