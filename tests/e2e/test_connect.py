"""`loci connect`: clients' files are changed in one place, as the clients' own documentation has it."""

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from loci.cli.connecting.json_text import read_json
from tests.support.serving import clean_environment, loci

URL, KEY = "https://loci.example.com/mcp", "loci_secret"
BEARER = {"Authorization": f"Bearer {KEY}"}
CLAUDE_CODE, DESKTOP = ".claude.json", ".config/Claude/claude_desktop_config.json"
CURSOR, VSCODE, CODEX = ".cursor/mcp.json", ".config/Code/User/mcp.json", ".codex/config.toml"
GEMINI, WINDSURF, ZED = ".gemini/settings.json", ".codeium/windsurf/mcp_config.json", ".config/zed/settings.json"
FILES = {
    "claude-code": (CLAUDE_CODE, "mcpServers", {"type": "http", "url": URL, "headers": BEARER}),
    "cursor": (CURSOR, "mcpServers", {"url": URL, "headers": BEARER}),
    "vscode": (VSCODE, "servers", {"type": "http", "url": URL, "headers": BEARER}),
    "codex": (CODEX, "mcp_servers", {"url": URL, "http_headers": BEARER}),
    "gemini": (GEMINI, "mcpServers", {"httpUrl": URL, "headers": BEARER}),
    "windsurf": (WINDSURF, "mcpServers", {"serverUrl": URL, "headers": BEARER}),
    "zed": (ZED, "context_servers", {"url": URL, "headers": BEARER}),
}
STARTED = {
    **{name: (file, section) for name, (file, section, _) in FILES.items()},
    "claude-desktop": (DESKTOP, "mcpServers"),
}

OTHER = '"other": {"command": "npx", "args": ["-y", "a server"]}'
TEXTS = {
    "comments": '// mine\n{\n  /* all */ "a": 1, // one\n  "@@": {\n    "other": {"url": "//y"} // keep\n  }\n}\n',
    "trailing commas": '{\n\t"a": [1, 2,],\n\t"@@": {\n\t\t"other": {"command": "x",},\n\t},\n}\n',
    "tabs": '{\n\t"@@": {\n\t\t"other": {\n\t\t\t"command": "x"\n\t\t}\n\t},\n\t"b": "\\u00e9 \\" // no comment"\n}',
    "CRLF": '{\r\n    "@@": {\r\n        "other": {"command": "x"}\r\n    }\r\n}\r\n',
    "BOM": '\ufeff{\n  "@@": {\n    "other": {"command": "x"}\n  }\n}\n',
    "one line": '{"a": 1, "@@": {' + OTHER + '}, "z": null}',
    "one line, trailing": '{"@@": {' + OTHER + ",},}",
    "other languages": '{\n  "größe": "日本",\n  "@@": {\n    "other": {"command": "x"}\n  }\n}\n',
    "nothing below": '{\n  "a": 1, // one\n  "@@": {\n    // none yet\n  }\n}\n',
}
EMPTY = {"empty": "", "white space": " \n", "no object": "{}", "no section": '{\n  "a": 1 // one\n  // end\n}\n'}
TOMLS = {
    "comments": '# mine\nmodel = "o" # m\n\n[mcp_servers.other]\ncommand = "x"\n\n# the next\n[tui]\na = 1\n',
    "no section": 'model = "o"\n',
    "multi-line strings": 'a = """\n[mcp_servers.x]\n"""\n',
    "CRLF": 'model = "o"\r\n\r\n[mcp_servers.other]\r\ncommand = "x"\r\n',
}
BROKEN = {
    CURSOR: ['{"mcpServers": {', '{"a" 1}', "{} {}", '{"mcpServers": []}', "[]", '{"a": tru}', "{'a': 1}"],
    CODEX: ["a = ", "[mcp_servers\n", 'mcp_servers = "x"\n'],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def connect(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    own = {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": "", "CODEX_HOME": ""}
    return loci(home / "data", "connect", *arguments, **own, **more)


def connected(home: Path, *arguments: str, **more: str) -> str:
    ended = connect(home, *arguments, "--yes", **more)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def put(home: Path, file: str, content: str | bytes) -> Path:
    path = home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path) -> dict[str, Any]:
    text = path.read_bytes().decode("utf-8-sig")
    value: Any = tomllib.loads(text) if path.suffix == ".toml" else read_json(text).value
    return value


@pytest.mark.parametrize("client", FILES)
def test_each_client_gets_an_endpoint_in_its_own_words(home: Path, client: str) -> None:
    file, section, entry = FILES[client]
    told = connected(home, client, "--url", "https://loci.example.com", "--key", KEY)
    assert read(home / file) == {section: {"loci": entry}}
    assert stat.S_IMODE((home / file).stat().st_mode) == 0o600
    assert KEY not in told
    assert "is connected" in connected(home, client, "--url", URL, LOCI_KEY=KEY)


@pytest.mark.parametrize("client", STARTED)
def test_what_was_written_starts_a_loci_that_answers(home: Path, client: str) -> None:
    file, section = STARTED[client]
    connected(home, client, "--data", os.path.relpath(home / "own data"))
    entry = read(home / file)[section]["loci"]
    assert entry["args"][-2] == "--data"
    assert Path(entry["args"][-1]).is_absolute()
    assert Path(entry["args"][-1]).resolve() == home / "own data"
    environment = {**clean_environment(home / "data"), "HOME": str(home)}
    environment.pop("LOCI_DATA")

    async def tools() -> list[str]:
        parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=environment, cwd="/")
        async with Client(stdio_client(parameters)) as talking:
            return [tool.name for tool in (await talking.list_tools()).tools]

    if client == "zed":  # one is enough: the others differ in the place only
        assert "search_documents" in anyio.run(tools)


@pytest.mark.parametrize("client", ["vscode", "windsurf"])
@pytest.mark.parametrize("kind", TEXTS)
def test_only_the_entry_changes_and_goes_again(home: Path, client: str, kind: str) -> None:
    file, section, entry = FILES[client]
    text = TEXTS[kind].replace("@@", section)
    path = put(home, file, text)
    before = read(path)
    connected(home, client, "--url", URL, "--key", KEY)
    assert read(path) == {**before, section: {**before[section], "loci": entry}}
    added = path.read_bytes().decode()
    kept = added.replace(",", "")
    assert [one for one in text.split("\n")[:-1] if one.replace(",", "").rstrip(" }\r") not in kept] == []
    assert ("\r\n" in added.replace("\r\n", "\n")) or added.count("\r") in (0, added.count("\n"))
    connected(home, client, "--url", "http://localhost:8765/mcp")
    assert len(read(path)[section]["loci"]) == len(entry) - 1
    connected(home, client, "--remove")
    assert path.read_bytes().decode() == text
    assert [one.read_bytes().decode() for one in path.parent.glob("*.before-loci")] == [text]


@pytest.mark.parametrize("text", EMPTY.values(), ids=EMPTY)
def test_a_file_without_servers_gets_its_first(home: Path, text: str) -> None:
    path = put(home, CURSOR, text)
    connected(home, "cursor")
    done = read(path)
    assert done["mcpServers"]["loci"]["args"][-4:] == ["serve", "--stdio", "--data", str(home / "data")]
    kept = path.read_text().replace(",", "")
    assert [one for one in text.split("\n") if one.strip(" {}") and one not in kept] == []


@pytest.mark.parametrize("text", TOMLS.values(), ids=TOMLS)
def test_codex_gets_a_table_and_loses_it_again(home: Path, text: str) -> None:
    path = put(home, CODEX, text)
    before = read(path)
    connected(home, "codex", "--url", URL, "--key", KEY)
    assert read(path) == {**before, "mcp_servers": {**before.get("mcp_servers", {}), "loci": FILES["codex"][2]}}
    connected(home, "codex")
    assert "command" in read(path)["mcp_servers"]["loci"]
    connected(home, "codex", "--remove")
    assert path.read_bytes().decode() == text


@pytest.mark.parametrize(("file", "text"), [(file, text) for file, texts in BROKEN.items() for text in texts], ids=str)
def test_a_broken_file_is_left_alone(home: Path, file: str, text: str) -> None:
    path = put(home, file, text)
    ended = connect(home, "codex" if file == CODEX else "cursor", "--yes")
    assert (ended.returncode, path.read_text()) == (1, text)
    assert "Nothing was changed" in ended.stderr
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("content", ['{"a": 1}'.encode("utf-16"), b'{"a": "\xff"}'])
def test_a_file_that_is_not_utf8_is_left_alone(home: Path, content: bytes) -> None:
    path = put(home, CURSOR, content)
    ended = connect(home, "cursor", "--yes")
    assert (ended.returncode, path.read_bytes()) == (1, content)
    assert "is not in UTF-8" in ended.stderr


def test_a_read_only_file_is_left_alone(home: Path) -> None:
    path = put(home, CURSOR, "{}")
    path.chmod(0o444)
    ended = connect(home, "cursor", "--yes")
    assert (ended.returncode, path.read_text()) == (1, "{}")
    assert "is read-only" in ended.stderr


def test_a_link_stays_a_link_and_the_permissions_stay(home: Path) -> None:
    kept = put(home, "dotfiles/cursor.json", "{}")
    kept.chmod(0o640)
    (home / ".cursor").mkdir()
    (home / CURSOR).symlink_to(kept)
    connected(home, "cursor")
    assert (home / CURSOR).is_symlink()
    assert "loci" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


def test_without_an_answer_the_change_is_shown_and_nothing_written(home: Path) -> None:
    path = put(home, CURSOR, '{\n  "a": 1\n}\n')
    ended = connect(home, "cursor", "--url", URL, "--key", KEY)
    assert (ended.returncode, path.read_text()) == (1, '{\n  "a": 1\n}\n')
    assert '+    "loci": {' in ended.stdout
    assert KEY not in ended.stdout
    assert "Say --yes" in ended.stderr


OTHERS = (
    '{"apiKey": "theirs-123456", "@@": {"git": {"env": {"TOKEN": "ghp_1234567890ab"}, "args": ["--token=abcdefgh"]}}}'
)


@pytest.mark.parametrize("client", FILES)
def test_no_key_is_shown_neither_an_old_one_nor_one_of_others(home: Path, client: str) -> None:
    file, section, _ = FILES[client]
    if file.endswith(".json"):
        put(home, file, OTHERS.replace("@@", section))
    told = connected(home, client, "--url", URL, "--key", "loci_first_1")
    told += connected(home, client, "--url", URL, "--key", "loci_second_2")
    told += connected(home, client, "--remove")
    assert "***" in told
    for secret in ("first_1", "second_2", "theirs", "1234567890ab", "abcdefgh"):
        assert secret not in told


def test_it_says_where_keys_can_still_be_read(home: Path) -> None:
    path = put(home, CURSOR, "{}")
    path.chmod(0o644)
    first = connected(home, "cursor", "--url", URL, "--key", KEY)
    assert f"Others on this machine can read {path}" in first
    assert "copy has its keys" not in first
    path.chmod(0o600)
    removed = connected(home, "cursor", "--remove")
    assert "copy has its keys" in removed
    assert "Others on" not in removed


@pytest.mark.parametrize("name", ["VS Code", "vs-code", "Claude Code", "claude_code"])
def test_a_client_is_known_however_it_is_written(home: Path, name: str) -> None:
    assert "is connected" in connected(home, name)


def test_copies_of_different_contents_stay(home: Path) -> None:
    path = put(home, CURSOR, "{}")
    connected(home, "cursor")
    second = path.read_text()
    connected(home, "cursor", "--url", URL)
    assert (path.parent / "mcp.json.before-loci").read_text() == "{}"
    assert (path.parent / "mcp.json.before-loci-2").read_text() == second


def test_the_list_says_which_clients_are_here_and_connected(home: Path) -> None:
    put(home, CURSOR, "{}")
    put(home, GEMINI, "{broken")
    connected(home, "codex", "--url", URL)
    connected(home, "zed")
    rows = json.loads(connect(home, "--json").stdout)["clients"]
    states = {row["client"]: row["state"] for row in rows}
    here = {"cursor": "not connected", "gemini": "unreadable", "codex": "by URL", "zed": "connected"}
    assert states == dict.fromkeys(STARTED, "not here") | here
    assert "line 1, column 2" in connect(home).stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["emacs"], "Loci does not know the file of 'emacs'"),
        (["cursor", "--url", "loci.example.com"], "is not a URL"),
        (["cursor", "--name", "a b"], "cannot be a server's name"),
        (["cursor", "--url", URL, "--data", "x"], "has its own data"),
        (["cursor", "--url", URL, "--key", "a\nb"], "characters that no key has"),
        (["claude-desktop", "--url", URL], "under Connectors"),
    ],
)
def test_what_cannot_be_written_is_refused(home: Path, arguments: list[str], problem: str) -> None:
    ended = connect(home, *arguments, "--yes")
    assert ended.returncode == 1
    assert problem in ended.stderr
    assert os.listdir(home) == []  # noqa: PTH208


def test_a_removal_without_a_client_lists_what_could_be_removed(home: Path) -> None:
    put(home, GEMINI, "{}")
    assert "No client whose file can be read has loci." in connect(home, "--remove").stdout
    connected(home, "cursor")
    connected(home, "codex", "--url", URL)
    before = [(home / file).read_bytes() for file in (CURSOR, CODEX, GEMINI)]
    ended = connect(home, "--remove", "--yes")
    assert [line.split()[0] for line in ended.stdout.splitlines()[:2]] == ["cursor", "codex"]
    assert "gemini" not in ended.stdout
    assert ended.stdout.endswith("Nothing was changed. Remove one with: loci connect CLIENT --remove\n")
    assert [(home / file).read_bytes() for file in (CURSOR, CODEX, GEMINI)] == before


@pytest.mark.parametrize(
    "text", ["{}", '{"a": 1}', EMPTY["no section"], '{\n  "a": 1,\n}\n', '{\n  "mcpServers": {}\n}\n']
)
def test_a_section_that_loci_made_goes_with_its_last_server(home: Path, text: str) -> None:
    path = put(home, CURSOR, text)
    connected(home, "cursor")
    connected(home, "cursor", "--url", URL)
    connected(home, "cursor", "--remove")
    assert path.read_text() == text if "mcpServers" not in text else read(path) == {"mcpServers": {}}


def test_a_section_goes_with_the_last_of_two_names(home: Path) -> None:
    path = put(home, CURSOR, '{"a": 1}')
    connected(home, "cursor")
    connected(home, "cursor", "--name", "two")
    connected(home, "cursor", "--remove")
    connected(home, "cursor", "--name", "two", "--remove")
    assert path.read_text() == '{"a": 1}'


def test_a_file_that_loci_made_is_empty_again(home: Path) -> None:
    connected(home, "cursor")
    connected(home, "cursor", "--remove")
    assert (home / CURSOR).read_text() == "{}\n"


@pytest.mark.parametrize(("rest", "left"), [("", {}), (', "a": 1', {"mcpServers": {}, "a": 1})])
def test_without_a_copy_an_empty_section_goes_only_if_it_was_all(home: Path, rest: str, left: dict[str, Any]) -> None:
    path = put(home, CURSOR, f'{{"mcpServers": {{"loci": {{"url": "{URL}"}}}}{rest}}}')
    connected(home, "cursor", "--remove")
    assert read(path) == left


def test_an_own_name_stands_beside_the_other(home: Path) -> None:
    connected(home, "cursor")
    connected(home, "cursor", "--name", "work", "--url", URL)
    assert [*read(home / CURSOR)["mcpServers"]] == ["loci", "work"]
    assert "is not in" in connected(home, "cursor", "--name", "third", "--remove")


def test_a_pipe_or_a_device_in_the_place_of_a_file_is_not_waited_for(home: Path) -> None:
    file = home / CURSOR
    file.parent.mkdir(parents=True, exist_ok=True)
    for is_pipe in (True, False):
        os.mkfifo(file) if is_pipe else file.symlink_to("/dev/zero")
        ended = connect(home, "cursor", "--yes")
        assert (ended.returncode, "is no file" in ended.stderr) == (1, True)
        file.unlink()
