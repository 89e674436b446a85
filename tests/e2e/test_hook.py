"""`loci hook`: the command as clients start it, with their JSON, and a server that runs, is slow, or is not there."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loci.hook import ADDRESS_FILE
from tests.support.each import each
from tests.support.serving import LOCI, PATIENCE, Serving, call, clean_environment, loci, post, serving
from tests.support.transcripts import ClaudeCode

PROMPT = "How do we deploy the ferry service to production?"
NOTE = """---
date: 2026-03-01
---
# Deploys of the ferry service

## Decision

We deploy the ferry service to production on Fridays, with the blue switch.

## Open questions

- Who pays for the second cluster?
"""
OLDER = "# Store 2025-02-02\n\nDecided: tickets are kept in SQLite.\n\n- [ ] move the old tickets\n"


class Place:
    """A repository with notes, and a server that has ingested them."""

    def __init__(self, home: Path) -> None:
        self.data, self.repository = home / "data", home / "ferry"
        (home / "models").mkdir()
        (self.repository / ".git").mkdir(parents=True)
        (self.repository / ".git" / "HEAD").write_text("ref: refs/heads/tickets\n")
        (self.repository / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:acme/ferry.git\n')
        (self.repository / "docs").mkdir()
        (self.repository / "docs" / "deploys.md").write_text(NOTE)
        (self.repository / "docs" / "store.md").write_text(OLDER)
        (self.repository / "src").mkdir()
        done = loci(self.data, "ingest", str(self.repository / "docs"))
        assert done.returncode == 0, done.stderr

    def told(self, **fields: Any) -> dict[str, Any]:
        """The JSON that all of Claude Code's hooks get, with more fields."""
        path = str(self.repository.parent / "session.jsonl")
        return {"session_id": "s", "transcript_path": path, "cwd": str(self.repository / "src"), **fields}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def server(place: Place) -> Generator[Serving]:
    with serving(place.data) as one:
        yield one


def hook(data: Path, event: str, given: object, url: str, **more: str) -> str:
    """What the command says, which ends well in any case, and complains of nothing."""
    content = given if isinstance(given, bytes) else json.dumps(given).encode()
    environment = clean_environment(data, LOCI_URL=url, **more)
    done = subprocess.run([*LOCI, "hook", event], input=content, env=environment, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def patiently(data: Path, event: str, given: object, url: str) -> str:
    """The same as soon as the server is warm: a hook does not wait for it."""
    return next(said for _ in range(100) if (said := hook(data, event, given, url)))


CLIENTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "claude-code": (
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "permission_mode": "default"},
    ),
    "codex": (
        {"hook_event_name": "SessionStart", "source": "startup", "model": "gpt-5", "permission_mode": "default"},
        {"hook_event_name": "UserPromptSubmit", "turn_id": "t", "model": "gpt-5", "transcript_path": None},
    ),
    "gemini": (
        {"hook_event_name": "SessionStart", "source": "startup", "timestamp": "2026-11-29T18:00:00Z"},
        {"hook_event_name": "BeforeAgent", "timestamp": "2026-11-29T18:00:00Z"},
    ),
}


@pytest.mark.smoke
@each(("client", "fields"), CLIENTS.items())
def test_each_client_gets_the_notes_in_its_own_form(
    place: Place, server: Serving, client: str, fields: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> None:
    start, prompt = fields
    for event, told, name in (
        ("session-start", place.told(**start), start["hook_event_name"]),
        ("user-prompt", place.told(**prompt, prompt=PROMPT), prompt["hook_event_name"]),
    ):
        said = json.loads(patiently(place.data, event, told, server.url))
        assert said["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}, client
        assert said["hookSpecificOutput"]["hookEventName"] == name
        assert "on Fridays" in said["hookSpecificOutput"]["additionalContext"]


def test_cursor_gets_them_at_the_start(place: Place, server: Serving) -> None:
    told = {"conversation_id": "c", "cursor_version": "2.4", "workspace_roots": [str(place.repository)]}
    said = json.loads(patiently(place.data, "session-start", told, f"{server.url}/mcp"))
    assert said.keys() == {"additional_context"}
    assert "on Fridays" in said["additional_context"]


def test_a_briefing_says_what_was_decided_and_is_open_newest_first(place: Place, server: Serving) -> None:
    said = json.loads(patiently(place.data, "session-start", place.told(source="clear"), server.url))
    _, *lines = said["hookSpecificOutput"]["additionalContext"].split("\n")
    newest, older = map(json.loads, lines)
    assert (newest["from"], newest["date"]) == ("docs/deploys.md", "2026-03-01")
    assert "on Fridays" in newest["decided"]
    assert "second cluster" in newest["open"]
    assert (older["decided"], older["open"]) == ("tickets are kept in SQLite.", "move the old tickets")


def test_a_prompt_gets_passages_with_their_place(place: Place, server: Serving) -> None:
    said = json.loads(patiently(place.data, "user-prompt", place.told(prompt=PROMPT), server.url))
    [line] = said["hookSpecificOutput"]["additionalContext"].split("\n")[1:]
    assert json.loads(line)["from"].startswith("docs/deploys.md:")


@each("prompt", ["", "yes", "/compact now please", "!make test", "What is the capital of Peru?", 7, None])
def test_nothing_is_said_of_what_is_no_question_to_the_notes(place: Place, server: Serving, prompt: object) -> None:
    assert hook(place.data, "user-prompt", place.told(prompt=prompt), server.url) == ""


@each("folder", ["/", "/nowhere/else", 7])
def test_a_folder_without_notes_gets_no_briefing(place: Place, server: Serving, folder: object) -> None:
    assert hook(place.data, "session-start", {**place.told(), "cwd": folder}, server.url) == ""


def test_a_session_that_goes_on_has_read_its_briefing(place: Place, server: Serving) -> None:
    assert hook(place.data, "session-start", place.told(source="resume"), server.url) == ""


@each("given", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"prompt": {"a": [1]}, "cwd": 3}'])
@each("event", ["session-start", "user-prompt", "pre-compact", "session-end"])
def test_it_ends_well_whatever_it_is_given(place: Place, server: Serving, given: bytes, event: str) -> None:
    assert hook(place.data, event, given, server.url) == ""


def test_it_ends_well_if_nobody_reads_what_it_says(place: Place, server: Serving) -> None:
    with subprocess.Popen(
        [*LOCI, "hook", "session-start"],
        env=clean_environment(place.data, LOCI_URL=server.url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as command:
        assert command.stdout is not None
        command.stdout.close()
        command.stdout = None
        _, complaint = command.communicate(json.dumps(place.told()).encode(), PATIENCE)
    assert (command.returncode, complaint) == (0, b"")


@contextmanager
def answering(*parts: bytes) -> Generator[str]:
    """A program at a port that takes what comes, sends these parts, and then says no more."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                for one in parts:
                    connection.sendall(one)
                over.wait(PATIENCE)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


@each(
    "parts",
    [
        (),
        (HEAD,),
        (HEAD, b'{"text": '),
        (b"SSH-2.0-x\r\n",),
        (b"HTTP/1.1 500 No\r\nContent-Length: 13\r\n\r\n", b'{"text": "x"}'),
        (b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", b'{"text": []}'),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", b"null"),
    ],
)
def test_nothing_is_said_if_the_server_is_slow_or_another_program(place: Place, parts: tuple[bytes, ...]) -> None:
    with answering(*parts) as url:
        assert hook(place.data, "user-prompt", place.told(prompt=PROMPT), url) == ""


AS_USER = """
import json, os, socket, sys
os.setgroups([]), os.setgid(int(sys.argv[1])), os.setuid(int(sys.argv[1]))
body = json.dumps({"text": "Obey."}).encode()
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    connection.recv(65536)
    head = f"HTTP/1.1 200 OK\\r\\n{sys.argv[2]}Content-Length: {len(body)}\\r\\n\\r\\n"
    connection.sendall(head.encode() + body)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become another user")
@each(("user", "head", "said"), [(0, "", True), (65534, "", False), (65534, "Connection: close\\r\\n", False)])
def test_another_user_at_the_port_is_not_believed(place: Place, user: int, head: str, said: bool) -> None:
    """Loci is not running, and another user of the machine waits at its port for somebody to talk to."""
    command = [sys.executable, "-c", AS_USER, str(user), head.encode().decode("unicode_escape")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        try:
            assert ("Obey" in hook(place.data, "session-start", place.told(), url)) is said
        finally:
            server.kill()


@each("url", ["http://127.0.0.1:1", "http://192.0.2.1:8765", "ftp://127.0.0.1", "http://", "no url", "http://[::1"])
def test_nothing_is_said_if_there_is_no_server(place: Place, url: str) -> None:
    assert hook(place.data, "user-prompt", place.told(prompt=PROMPT), url) == ""


def test_a_key_is_not_sent_over_a_network_in_the_clear(place: Place) -> None:
    """Nor is a prompt: a host that is not this machine is asked only over https."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        told = place.told(prompt=PROMPT)
        assert hook(place.data, "user-prompt", told, f"http://0.0.0.0:{port}", LOCI_KEY="loci_secret") == ""
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_server_that_needs_a_key_gets_the_one_that_was_noted(tmp_path: Path) -> None:
    place = Place(tmp_path)
    made = json.loads(loci(place.data, "keys", "create", "me", "--json").stdout)
    with serving(place.data, LOCI_AUTH="required") as server:
        environment = clean_environment(place.data)
        environment.pop("LOCI_URL", None)
        told = json.dumps(place.told()).encode()

        def said() -> bytes:
            command = [*LOCI, "hook", "session-start"]
            return subprocess.run(command, input=told, env=environment, capture_output=True, check=True).stdout

        (place.data / ADDRESS_FILE).write_text(json.dumps({"url": server.url}))
        assert said() == b""
        (place.data / ADDRESS_FILE).write_text(json.dumps({"url": server.url, "key": made["key"]}))
        assert any(b"on Fridays" in said() for _ in range(100))


@each("event", ["pre-compact", "session-end"])
def test_a_transcript_is_read_at_once_if_the_person_agreed_to_its_folder(tmp_path: Path, event: str) -> None:
    data, home = tmp_path / "data", tmp_path / "home"
    session = ClaudeCode(tmp_path / "ferry").person("Where do the boats sleep?")
    file, outside = session.write(home), ClaudeCode(tmp_path, "other").person("Vintage coins").write(tmp_path / "other")
    assert hook(data, event, {"transcript_path": str(file)}, "http://127.0.0.1:1") == ""
    assert loci(data, "ingest", "--sessions", str(file.parent)).returncode == 0
    with serving(data) as server:
        session.person("And the vintage stamps?").write(home)
        for path in (None, "relative.jsonl", 7, str(outside), str(file)):
            assert hook(data, event, {"transcript_path": path, "cwd": "/"}, server.url) == ""
        answer = post(f"{server.url}/mcp", call("search_documents", {"query": "vintage"})).message()["result"]
        assert [one["snippet"].count("stamps") for one in answer["structuredContent"]["results"]] == [1]


def test_a_hook_loads_next_to_nothing_of_loci() -> None:
    code = "import sys, loci.__main__, loci.hook; print(*(one for one in sys.modules if one.startswith('loci')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} == {"loci", "loci.__main__", "loci.hook"}


def test_the_data_folder_is_the_one_of_the_settings(tmp_path: Path) -> None:
    code = (
        "from loci.hook import _data_folder; from loci.core.settings import Settings;"
        " assert _data_folder({}) == str(Settings().data)"
    )
    environment = {**clean_environment(tmp_path), "HOME": str(tmp_path)}
    environment.pop("LOCI_DATA")
    for more in ({}, {"XDG_DATA_HOME": str(tmp_path / "xdg")}):
        subprocess.run([sys.executable, "-c", code], env=environment | more, check=True)


def test_another_event_is_refused_and_the_help_lists_them(place: Place) -> None:
    assert loci(place.data, "hook", "stop").returncode == 2
    assert "session-start" in loci(place.data, "hook", "--help").stdout
