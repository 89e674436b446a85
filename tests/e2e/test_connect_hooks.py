"""`loci connect --hooks`: hooks beside those that are there, and away again without a trace."""

import json
import shlex
import stat
from pathlib import Path
from typing import Any

from loci.cli.json_edits import read_json
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.hook import ADDRESS_FILE, EVENTS
from tests.e2e.conftest import Homes
from tests.support.client_files import GEMINI, KEY, connect, connected, put
from tests.support.each import each

CODEX, CURSOR = ".codex/hooks.json", ".cursor/hooks.json"
THEIRS = {
    "codex": ("SessionStart", "UserPromptSubmit", "PreCompact"),
    "gemini": ("SessionStart", "BeforeAgent", "PreCompress", "SessionEnd"),
    "cursor": ("sessionStart", "preCompact", "sessionEnd"),
}
FILES = {"codex": CODEX, "gemini": GEMINI, "cursor": CURSOR}
OTHER = '{"type": "command", "command": "other hook session-start"}'
GROUP = f'{{"matcher": "startup", "hooks": [{OTHER}]}}'
TEXTS = {
    "one line": '{"version": 1, "hooks": {"SessionStart": [@], "sessionStart": [@]}, "x": "é"}',
    "lines": '{\n  "version": 1,\n  "hooks": {\n    "SessionStart": [\n      @\n    ],\n    "Stop": [@, @]\n  }\n}\n',
    "remarks": '{\n\t// mine\n\t"version": 1,\n\t"hooks": {\n\t\t"BeforeAgent": [\n\t\t\t@, // this\n\t\t],\n\t},\n}',
    "Windows": '{\r\n  "version": 1,\r\n  "hooks": {\r\n    "sessionEnd": [\r\n      @\r\n    ]\r\n  }\r\n}\r\n',
    "a mark": '\ufeff{"version": 1, "hooks": {"Stop": []}}\n',
    "no hooks": '{\n  "version": 1,\n  "mcpServers": {"a": {"command": "b"}},\n  "hooks": {}\n}\n',
}


def commands(held: Any, event: str) -> list[str]:
    """The command lines of an event that are Loci's."""
    groups = held["hooks"].get(event, [])
    every = [one for group in groups for one in group.get("hooks", [group])]
    return [one["command"] for one in every if "loci" in one["command"]]


@each(("client", "events"), THEIRS.items())
def test_each_client_gets_one_hook_for_each_event_that_it_has(
    new_home: Homes, client: str, events: tuple[str, ...]
) -> None:
    home = new_home()
    for _ in range(2):
        connected(home, client, "--hooks")
    held = read_json((home / FILES[client]).read_text("utf-8"))
    assert isinstance(held, dict)
    assert isinstance(held["hooks"], dict)
    assert {*held["hooks"]} == {*events}
    for event in events:
        [command] = commands(held, event)
        words = shlex.split(command)
        assert words[-2] == "hook"
        assert words[-1] in EVENTS
    assert held.get("version") == (1 if client == "cursor" else None)
    assert not (home / FILES[client]).with_name(f"{Path(FILES[client]).name}.before-loci").exists()


@each("client", FILES)
@each("text", TEXTS)
def test_what_others_wrote_stays_byte_for_byte(new_home: Homes, client: str, text: str) -> None:
    home, before = new_home(), TEXTS[text].replace("@", GROUP if client != "cursor" else OTHER)
    path = put(home, FILES[client], before)
    connected(home, client, "--hooks")
    held = read_json(path.read_bytes().decode("utf-8-sig"))
    assert all(len(commands(held, event)) == 1 for event in THEIRS[client])
    connected(home, client, "--hooks", "--data", str(home / "elsewhere"))
    held = read_json(path.read_bytes().decode("utf-8-sig"))
    assert all("elsewhere" in commands(held, event)[0] for event in THEIRS[client])
    connected(home, client, "--hooks", "--remove")
    assert path.read_bytes() == before.encode()


def test_all_clients_on_this_machine_get_them_at_once(home: Path) -> None:
    assert "None of codex" in connect(home, "--hooks", "--yes").stderr
    for folder in (".codex", ".gemini"):
        (home / folder).mkdir()
    connected(home, "--hooks")
    assert [(home / one).is_file() for one in (CODEX, GEMINI, CURSOR)] == [True, True, False]
    connected(home, "--hooks", "--remove")
    assert [json.loads((home / one).read_text()) for one in (CODEX, GEMINI)] == [{"hooks": {}}, {"hooks": {}}]


def test_the_server_and_its_key_are_noted_for_this_user_only(home: Path) -> None:
    connected(home, "cursor", "--hooks", LOCI_PORT="9999")
    note = home / "data" / ADDRESS_FILE
    assert json.loads(note.read_text()) == {"url": "http://127.0.0.1:9999"}
    (home / ".codex").mkdir()
    told = connected(home, "--hooks", "--url", "https://loci.example.com/mcp", "--key", KEY)
    assert json.loads(note.read_text()) == {"url": "https://loci.example.com/", "key": KEY}
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert KEY not in told + (home / CODEX).read_text() + (home / CURSOR).read_text()
    connected(home, "codex", "--hooks", "--remove")
    assert note.exists()
    connected(home, "cursor", "--hooks", "--remove")
    assert not note.exists()


@each(
    ("text", "code"),
    [('{"hooks": []}', 1), ('{"hooks": {"sessionStart": {}}}', 1), ('{"hooks": 7', 1), ('{"hooks": {"a": 1}}', 0)],
)
def test_a_file_that_cannot_be_changed_safely_stays(new_home: Homes, text: str, code: int) -> None:
    home = new_home()
    path = put(home, CURSOR, text)
    assert connect(home, "cursor", "--hooks", "--yes").returncode == code
    assert code == 0 or path.read_text() == text


def test_nothing_is_written_unasked(home: Path) -> None:
    ended = connect(home, "cursor", "--hooks")
    assert (ended.returncode, (home / CURSOR).exists(), (home / "data").exists()) == (1, False, False)
    assert "sessionStart" in ended.stdout
    assert "loci@loci" in connect(home, "claude-code", "--hooks", "--yes").stderr


@each(("option", "agreed"), [((), False), (("--no-sessions",), False), (("--sessions",), True)])
def test_sessions_are_read_only_if_the_person_agrees(
    new_home: Homes, tmp_path: Path, option: tuple[str, ...], agreed: bool
) -> None:
    data = tmp_path / f"data{len(option)}{agreed}"
    connected(new_home(), "codex", "--hooks", "--data", str(data), *option)
    app = build_app(load_settings({"data": data}))
    assert (app.sessions.consent(LOCAL) is not None) == agreed
    connected(new_home(), "codex", "--hooks", "--remove", "--data", str(data), *option)
