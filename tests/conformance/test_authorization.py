"""Clients that are not ours sign in: the Inspector, and the suite's scenarios for authorization servers."""

import asyncio
import json
import os
import re
import shlex
import subprocess
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from infra.node import NODE
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.servers.ports import free_port
from tests.support.docs import lines_of
from tests.support.signing_browser import visit

from .node import INSPECTOR, SUITE, install

pytestmark = pytest.mark.conformance
ADDRESS = re.compile(r"https?://[^\s\"'\x1b]+/authorize\?[^\s\"'\x1b]+")
SCENARIOS = 2
"""As many as the suite has for authorization servers: their metadata, and a code for a client."""
PATIENCE = 90


@dataclass(frozen=True, slots=True)
class Served:
    """Loci with its authorization server, and a key of a person."""

    url: str
    key: str


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    told = {"data": tmp_path / "data", "oauth": "built-in", "public_url": url, "log_level": "ERROR"}
    with closing(build_app(load_settings(told))) as app:
        key = app.api_keys.create(Owner("acme", "ann"), "ann")[1]
        with uvicorn_door(asgi(app, on_loopback=True), port):
            yield Served(url, key)


@contextmanager
def asking(command: Sequence[str | Path], home: Path) -> Generator["subprocess.Popen[str]"]:
    """A program of Node that sends a person to a page."""
    install()
    path = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", os.defpath)])
    own = {
        "HOME": str(home),
        "MCP_CATALOG_PATH": str(home / "catalog.json"),
        "NO_COLOR": "1",
        "MCP_AUTO_OPEN_ENABLED": "true",
        "BROWSER": "true",
    }
    process = subprocess.Popen(
        [NODE, *command],
        cwd=home,
        env={**os.environ, **own, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def signed_in(process: "subprocess.Popen[str]", key: str) -> str:
    """Everything that the program says, after somebody went where it sends them."""
    assert process.stdout
    said, asked = "", False
    for line in process.stdout:
        said += line
        found = ADDRESS.search(line)
        if found and not asked:
            asked = True
            asyncio.run(visit(key, found[0]))
    assert process.wait(PATIENCE) == 0, said
    assert asked, said
    return said


def test_the_inspector_signs_in_and_calls_a_tool(served: Served, tmp_path: Path) -> None:
    callback = f"http://127.0.0.1:{free_port()}/oauth/callback"
    command = [INSPECTOR, "--cli", "--format", "json", "--callback-url", callback, "--transport", "http"]
    call = ["--server-url", f"{served.url}/mcp", "--method", "tools/call", "--tool-name", "scratchpad_list"]
    with asking([*command, *call], tmp_path) as process:
        said = signed_in(process, served.key)
    [result] = [json.loads(line)["result"] for line in said.splitlines() if line.startswith('{"result"')]
    assert result["structuredContent"]["stats"]["total_entries"] == 0


@pytest.mark.parametrize("number", [0, 1])
def test_the_lines_for_the_inspector_list_the_tools(served: Served, tmp_path: Path, number: int) -> None:
    """As docs/connect.md has them: without a key, and with one."""
    line = lines_of("connect.md", "npx @modelcontextprotocol/inspector")[number]
    told = line.replace("https://loci.example.com", served.url).replace("loci_…", served.key)
    callback = f"http://127.0.0.1:{free_port()}/oauth/callback"
    with asking([INSPECTOR, *shlex.split(told)[2:], "--callback-url", callback], tmp_path) as process:
        if number == 0:
            said = signed_in(process, served.key)
        else:
            said, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, said
    assert "search_documents" in said


def test_the_authorization_server_conforms(served: Served, tmp_path: Path) -> None:
    port = free_port()
    told = {"client_name": "The suite", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}
    client = httpx2.post(f"{served.url}/register", json=told).json()["client_id"]
    command = [SUITE / "dist" / "index.js", "authorization", "--url", served.url, "--client-id", client]
    options = ["--resource", f"{served.url}/mcp", "--port", str(port), "--output-dir", tmp_path / "results"]
    with asking([*command, *options], tmp_path) as process:
        said = signed_in(process, served.key)
    checks = {
        one["id"]: one["status"]
        for file in (tmp_path / "results").rglob("checks.json")
        for one in json.loads(file.read_text("utf-8"))
    }
    assert len(list((tmp_path / "results").glob("authorization-server-*"))) == SCENARIOS
    assert set(checks.values()) == {"SUCCESS"}, said
