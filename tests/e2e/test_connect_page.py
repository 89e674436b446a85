"""docs/connect.md is true: each entry connects a client, with a key or through the pages, and each command works."""

import json
import re
import shlex
import tomllib
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.servers.ports import free_port
from tests.support.client_files import CURSOR, VSCODE, connect, read
from tests.support.docs import DOCS, blocks_of, lines_of
from tests.support.each import each
from tests.support.oauth_client import Program
from tests.support.oauth_person import Person
from tests.support.serving import LOCI, clean_environment, loci

pytestmark = pytest.mark.anyio
PAGE = "connect.md"
BASE = "https://loci.example.com"
KEYS = re.compile(r"\$\{(env:LOCI_KEY|input:loci-key)\}|loci_…")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, slots=True)
class Served:
    app: App
    url: str
    key: str
    data: Path

    def filled(self, text: str) -> str:
        """The example, for this server and this key."""
        return KEYS.sub(self.key, text.replace(BASE, self.url))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A server with the settings that the page names first."""
    data, port = tmp_path_factory.mktemp("connect"), free_port()
    url = f"http://127.0.0.1:{port}"
    told = tomllib.loads(blocks_of(PAGE, "toml")[0].replace(BASE, url))
    app = build_app(load_settings({"data": data / "server", "log_level": "ERROR", **told}))
    key = app.api_keys.create(Owner("acme", "ann"), "ann")[1]
    with closing(app), uvicorn_door(asgi(app, on_loopback=True), port):
        yield Served(app, url, key, data)


def entries() -> list[dict[str, Any]]:
    found = [json.loads(one) for one in blocks_of(PAGE, "json")]
    return [(one.get("servers") or one["mcpServers"])["loci"] for one in found]


async def connects(served: Served, url: str, headers: Mapping[str, str]) -> set[str]:
    """The tools that a client finds which is told this."""
    if headers:
        async with (
            httpx2.AsyncClient(headers=dict(headers), timeout=30) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return {one.name for one in (await client.list_tools()).tools}
    program = Program(url, Person(served.key))
    async with program.connected() as client:
        assert len(program.person.pages) == 1
        return {one.name for one in (await client.list_tools()).tools}


@each("entry", [one for one in entries() if "url" in one])
async def test_an_entry_connects_a_client(served: Served, entry: dict[str, Any]) -> None:
    entry = json.loads(served.filled(json.dumps(entry, ensure_ascii=False)))
    assert "search_documents" in await connects(served, entry["url"], entry.get("headers", {}))


@each("entry", [one for one in entries() if "command" in one])
async def test_an_entry_with_a_command_starts_loci(served: Served, entry: dict[str, Any]) -> None:
    assert entry["command"].endswith("/.venv/bin/loci")
    command, *module = LOCI
    arguments = [*module, *entry["args"], "--no-models"]
    environment = clean_environment(served.data / "own")
    async with Client(stdio_client(StdioServerParameters(command=command, args=arguments, env=environment))) as client:
        assert "search_documents" in {one.name for one in (await client.list_tools()).tools}


@each("address", [one.strip() for one in blocks_of(PAGE, "text")])
async def test_an_address_to_paste_connects_a_client(served: Served, address: str) -> None:
    found = await connects(served, served.filled(address), {})
    assert found == {"search", "fetch"} if address.endswith("/search") else "search_documents" in found


@each("line", lines_of(PAGE, "claude "))
async def test_a_line_for_claude_code_names_what_connects(served: Served, line: str) -> None:
    told = shlex.split(served.filled(line))
    assert told[:6] == ["claude", "mcp", "add", "--transport", "http", "loci"]
    headers = {told[8].partition(": ")[0]: told[8].partition(": ")[2]} if told[7:8] == ["--header"] else {}
    assert "search_documents" in await connects(served, told[6], headers)


def test_the_commands_work(served: Served) -> None:
    made, doctor = lines_of(PAGE, "loci keys create")[0], lines_of(PAGE, "LOCI_KEY=loci_… loci doctor")[0]
    assert loci(served.data / "server", *shlex.split(made)[1:]).returncode == 0
    key, *command = shlex.split(served.filled(doctor))
    done = loci(served.data / "mine", *command[1:], LOCI_KEY=key.removeprefix("LOCI_KEY="))
    assert done.returncode == 0, done.stdout
    assert "0 warnings, 0 faults" in done.stdout


def test_the_lines_for_clients_work(home: Path) -> None:
    """One with `--stack` needs a deployment: tests/deployed/test_stack_by_name.py runs it. Hooks have their own."""
    lines = [one for one in lines_of(PAGE, "") if "loci connect" in one and not {"--stack", "--hooks"} & {*one.split()}]
    assert len(lines) == 4
    for line in lines:
        given = shlex.split(KEYS.sub("loci_key", line))
        key = given.pop(0).removeprefix("LOCI_KEY=") if given[0].startswith("LOCI_KEY=") else ""
        ended = connect(home, *given[2:], *(["--yes"] if given[2:] else []), LOCI_KEY=key)
        assert ended.returncode == 0, (line, ended.stderr)
        assert given[2:] or "cursor" in ended.stdout
    reached = read(home / VSCODE)["servers"]["loci"]
    assert (reached["url"], reached["headers"]) == (f"{BASE}/mcp", {"Authorization": "Bearer loci_key"})
    assert read(home / CURSOR) == {"mcpServers": {}}


@each("block", blocks_of(PAGE, "toml"))
def test_the_settings_exist(block: str, tmp_path: Path) -> None:
    load_settings({"data": tmp_path, **tomllib.loads(block)})


def test_every_settings_and_command_in_the_text_exists() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    commands = set(re.findall(r"`loci ([a-z]+(?: [a-z]+)?)", page))
    assert {"clients list", "clients revoke", "keys revoke", "doctor", "serve"} <= commands
    reference = (DOCS / "command-line.md").read_text("utf-8")
    assert [one for one in commands if f"## loci {one}\n" not in reference] == []
    configuration = (DOCS / "configuration.md").read_text("utf-8")
    for name in ("oauth", "public_url", "oidc_issuer", "oidc_client_id", "oidc_scopes"):
        assert f"`{name}" in page or name in page
        assert f"| `{name}` |" in configuration
