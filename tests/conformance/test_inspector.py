"""The Inspector as a client that is not ours: TypeScript, both protocol eras, over HTTP and over stdio."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import LOCI, serving
from tests.surface.test_listing import SNAPSHOT

from .node import inspector

pytestmark = pytest.mark.conformance

SERVER = "io.modelcontextprotocol/serverInfo"  # only an answer of the modern era says who gave it


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspector") / "data"


@pytest.fixture(scope="module")
def url(data: Path) -> Iterator[str]:
    """The MCP endpoint of a server that runs."""
    with serving(data) as server:
        yield f"{server.url}/mcp"


@pytest.fixture(params=["http", "stdio"])
def target(request: pytest.FixtureRequest, url: str, data: Path) -> tuple[str, ...]:
    if request.param == "http":
        return "--transport", "http", "--server-url", url
    return "--transport", "stdio", "--", *LOCI, "serve", "--no-models", "--data", str(data)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_typescript_client_lists_the_tools(target: tuple[str, ...], era: str, tmp_path: Path) -> None:
    result = ask(target, era, tmp_path, "tools/list")
    assert [tool["name"] for tool in result["tools"]] == [tool["name"] for tool in json.loads(SNAPSHOT.read_text())]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_typescript_client_calls_a_tool(target: tuple[str, ...], era: str, tmp_path: Path) -> None:
    result = ask(target, era, tmp_path, "tools/call", "--tool-name", "scratchpad_list")
    assert result["structuredContent"]["stats"]["total_entries"] == 0
    assert (SERVER in result.get("_meta", {})) == (era == "modern")


def ask(target: tuple[str, ...], era: str, home: Path, method: str, *options: str) -> dict[str, Any]:
    """The result of one request, by a client that starts, asks and ends."""
    done = inspector("--protocol-era", era, "--method", method, *options, *target, cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["result"]
