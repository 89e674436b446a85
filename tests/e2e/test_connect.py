"""`loci connect`: clients' files are changed in one place, as the clients' own documentation has it."""

import json
import os
import stat
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.e2e.conftest import Homes
from tests.support.client_files import (
    CURSOR,
    FILES,
    GEMINI,
    KEY,
    STARTED,
    URL,
    connect,
    connected,
    put,
    read,
)
from tests.support.each import each
from tests.support.serving import clean_environment


@each("client", FILES)
def test_each_client_gets_an_endpoint_in_its_own_words(new_home: Homes, client: str) -> None:
    home = new_home()
    file, section, entry = FILES[client]
    told = connected(home, client, "--url", "https://loci.example.com", "--key", KEY)
    assert read(home / file) == {section: {"loci": entry}}
    assert stat.S_IMODE((home / file).stat().st_mode) == 0o600
    assert KEY not in told
    assert "is connected" in connected(home, client, "--url", URL, LOCI_KEY=KEY)


@pytest.mark.smoke
@each("client", STARTED)
def test_what_was_written_starts_a_loci_that_answers(new_home: Homes, client: str) -> None:
    home = new_home()
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
    assert f'loci: {{\n  "url": "{URL}"' in ended.stdout
    assert KEY not in ended.stdout
    assert "Give --yes" in ended.stderr


OTHERS = (
    '{"apiKey": "theirs-123456", "@@": {"git": {"env": {"TOKEN": "ghp_1234567890ab"}, "args": ["--token=abcdefgh"]}}}'
)


@each("client", FILES)
def test_no_key_is_shown_neither_an_old_one_nor_one_of_others(new_home: Homes, client: str) -> None:
    home = new_home()
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
    assert f"Other users can read {path}" in first
    path.chmod(0o600)
    assert "Other users" not in connected(home, "cursor", "--remove")


@each("name", ["VS Code", "vs-code", "Claude Code", "claude_code"])
def test_a_client_is_known_however_it_is_written(new_home: Homes, name: str) -> None:
    home = new_home()
    assert "is connected" in connected(home, name)


def test_copies_of_different_contents_stay(home: Path) -> None:
    path = put(home, CURSOR, "{}")
    connected(home, "cursor")
    second = path.read_text()
    connected(home, "cursor", "--url", URL)
    assert (path.parent / "mcp.json.before-loci").read_text() == "{}"
    assert (path.parent / "mcp.json.before-loci-2").read_text() == second


def test_a_client_can_be_given_a_part_of_the_tools(home: Path) -> None:
    connected(home, "cursor", "--only", "core")
    assert json.loads((home / CURSOR).read_text())["mcpServers"]["loci"]["args"][-5:-2] == ["--stdio", "--only", "core"]
    connected(home, "cursor", "--only", "files", "--url", URL)
    assert json.loads((home / CURSOR).read_text())["mcpServers"]["loci"]["url"] == "https://loci.example.com/mcp/files"


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


@each(
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
def test_what_cannot_be_written_is_refused(new_home: Homes, arguments: list[str], problem: str) -> None:
    home = new_home()
    ended = connect(home, *arguments, "--yes")
    assert ended.returncode == 1
    assert problem in ended.stderr
    assert os.listdir(home) == []  # noqa: PTH208


def test_an_own_name_stands_beside_the_other(home: Path) -> None:
    connected(home, "cursor")
    connected(home, "cursor", "--name", "work", "--url", URL)
    assert [*read(home / CURSOR)["mcpServers"]] == ["work", "loci"]
    assert "is not in" in connected(home, "cursor", "--name", "third", "--remove")


def test_a_pipe_or_a_device_in_the_place_of_a_file_is_not_waited_for(home: Path) -> None:
    file = home / CURSOR
    file.parent.mkdir(parents=True, exist_ok=True)
    for is_pipe in (True, False):
        os.mkfifo(file) if is_pipe else file.symlink_to("/dev/zero")
        ended = connect(home, "cursor", "--yes")
        assert (ended.returncode, "is not a file" in ended.stderr) == (1, True)
        file.unlink()


def test_claude_code_is_found_in_the_folder_that_its_variable_names(home: Path) -> None:
    own = home / "work"
    connected(home, "claude-code", CLAUDE_CONFIG_DIR=str(own))
    assert [*read(own / ".claude.json")["mcpServers"]] == ["loci"]
    assert not (home / ".claude.json").exists()
    assert str(own) in connect(home, CLAUDE_CONFIG_DIR=str(own)).stdout
