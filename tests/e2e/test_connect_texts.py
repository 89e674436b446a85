"""`loci connect` in the files of each client, however they are written: only its entry changes, and goes again."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Homes
from tests.support.client_files import CODEX, CURSOR, FILES, KEY, STARTED, URL, connect, connected, put, read
from tests.support.client_texts import BARE_JSONS, BROKEN_JSONS, BROKEN_TOMLS, JSONS, REAL, TOMLS
from tests.support.each import each


def texts(jsons: dict[str, str], tomls: dict[str, str]) -> list[Any]:
    """A client and a text of its file, for each client that has such texts."""
    return [
        pytest.param(client, text.replace("@@", section), id=f"{client}, {kind}")
        for client, (file, section) in STARTED.items()
        for kind, text in (tomls if file.endswith(".toml") else jsons).items()
    ]


def broken(jsons: list[str], tomls: list[str]) -> list[Any]:
    return texts(dict(zip(jsons, jsons, strict=True)), dict(zip(tomls, tomls, strict=True)))


def copies(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.before-loci*"))


@each(
    ("client", "text"),
    [*texts(JSONS, TOMLS), *(pytest.param(client, text, id=client) for client, text in REAL.items())],
)
def test_only_the_entry_changes_and_goes_again(new_home: Homes, client: str, text: str) -> None:
    home = new_home()
    file, section = STARTED[client]
    path = put(home, file, text)
    before = read(path)
    reached = ("--url", URL, "--key", KEY) if client in FILES else ()
    connected(home, client, *reached)
    entry = read(path)[section]["loci"]
    assert client not in FILES or entry == FILES[client][2]
    assert read(path) == {**before, section: {**before.get(section, {}), "loci": entry}}
    added = path.read_bytes().decode()
    kept = added.replace(",", "")
    assert [one for one in text.split("\n")[:-1] if one.replace(",", "").rstrip(" }\r") not in kept] == []
    assert ("\r\n" in added.replace("\r\n", "\n")) or added.count("\r") in (0, added.count("\n"))
    connected(home, client, "--data", "elsewhere")
    assert read(path)[section]["loci"]["args"][-2] == "--data"
    connected(home, client, "--remove")
    is_toml = path.suffix == ".toml"  # its last line gets an end
    assert path.read_bytes().decode().rstrip() == text.rstrip() if is_toml else path.read_bytes().decode() == text
    assert copies(path)[0].read_bytes().decode() == text


@each(("client", "text"), texts(BARE_JSONS, {}))
def test_a_file_without_servers_gets_its_first_and_keeps_the_section(new_home: Homes, client: str, text: str) -> None:
    home = new_home()
    file, section = STARTED[client]
    path = put(home, file, text)
    before = read(path)
    connected(home, client)
    assert read(path)[section]["loci"]["args"][-4:] == ["serve", "--stdio", "--data", str(home / "data")]
    if client in FILES:
        connected(home, client, "--url", URL)
    connected(home, client, "--remove")
    assert read(path) == {**before, section: {}}


def test_a_file_that_loci_made_has_no_server_again(home: Path) -> None:
    connected(home, "cursor")
    connected(home, "cursor", "--remove")
    assert read(home / CURSOR) == {"mcpServers": {}}


@each(("client", "text"), broken(BROKEN_JSONS, BROKEN_TOMLS))
def test_a_broken_file_is_left_alone(new_home: Homes, client: str, text: str) -> None:
    home = new_home()
    path = put(home, STARTED[client][0], text)
    ended = connect(home, client, "--yes")
    assert (ended.returncode, path.read_text()) == (1, text)
    assert "Nothing was changed. Correct the file, and try again" in ended.stderr
    assert [one.name for one in path.parent.iterdir() if one.name != "data"] == [path.name]


@each("text", ["mcp_servers = {}\n", 'mcp_servers = { a = { command = "x" } }\n', "mcp_servers = 5\n"])
def test_a_section_that_is_one_value_is_named(new_home: Homes, text: str) -> None:
    home = new_home()
    path = put(home, CODEX, text)
    ended = connect(home, "codex", "--yes")
    assert (ended.returncode, path.read_text()) == (1, text)
    assert "Write each of its servers as a table, [mcp_servers.NAME], and try again" in ended.stderr


@each("content", ['{"a": 1}'.encode("utf-16"), b'{"a": "\xff"}'])
@each("client", STARTED)
def test_a_file_that_is_not_utf8_is_left_alone(new_home: Homes, client: str, content: bytes) -> None:
    home = new_home()
    path = put(home, STARTED[client][0], content)
    ended = connect(home, client, "--yes")
    assert (ended.returncode, path.read_bytes()) == (1, content)
    assert "is not in UTF-8" in ended.stderr


@each("client", STARTED)
def test_a_read_only_file_is_left_alone(new_home: Homes, client: str) -> None:
    home = new_home()
    path = put(home, STARTED[client][0], REAL[client])
    path.chmod(0o444)
    ended = connect(home, client, "--yes")
    assert (ended.returncode, path.read_text()) == (1, REAL[client])
    assert "is read-only" in ended.stderr
