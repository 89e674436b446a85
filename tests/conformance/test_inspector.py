"""The Inspector as a client that is not ours: TypeScript, both protocol eras, over HTTP and over stdio."""

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.polling import until
from tests.support.serving import LOCI

from .calls import FAILING, TOOLS, WORKING, Served, served
from .node import inspecting, inspector

pytestmark = pytest.mark.conformance

SERVER = "io.modelcontextprotocol/serverInfo"  # only an answer of the modern era says who gave it
TOOL_ERROR = 5
"""The exit code of the command line when the tool has failed."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("inspector")) as server:
        yield server


@pytest.fixture(params=["http", "stdio"])
def target(request: pytest.FixtureRequest, server: Served) -> tuple[str, ...]:
    if request.param == "http":
        return at(server)
    return "--transport", "stdio", "--", *LOCI, "serve", "--no-models", "--data", str(server.data)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_typescript_client_lists_the_tools(target: tuple[str, ...], era: str, tmp_path: Path) -> None:
    result = ask(target, era, tmp_path, "tools/list")
    assert [tool["name"] for tool in result["tools"]] == TOOLS


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_typescript_client_calls_a_tool(target: tuple[str, ...], era: str, tmp_path: Path) -> None:
    result = ask(target, era, tmp_path, "tools/call", "--tool-name", "scratchpad_list")
    assert result["structuredContent"]["stats"]["total_entries"] == 0
    assert (SERVER in result.get("_meta", {})) == (era == "modern")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_typescript_client_makes_six_calls(server: Served, era: str, tmp_path: Path) -> None:
    for tool, arguments in WORKING:
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        assert ask(at(server), era, tmp_path, "tools/call", *given)["structuredContent"], tool


def test_an_error_of_each_tool_arrives_with_its_text(server: Served, tmp_path: Path) -> None:
    def failed(number: int) -> str:
        tool, arguments = FAILING[number]
        (home := tmp_path / tool).mkdir()
        era = ("legacy", "modern")[number % 2]
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        done = inspector("--protocol-era", era, "--method", "tools/call", *given, *at(server), cwd=home)
        assert done.returncode == TOOL_ERROR, (tool, done.stdout + done.stderr)
        return json.loads(done.stdout)["result"]["content"][0]["text"]

    with ThreadPoolExecutor(2) as inspectors:
        texts = [*inspectors.map(failed, range(len(FAILING)))]
    assert texts == [server.error_text(*call) for call in FAILING]


def test_a_call_ends_when_the_inspector_does(server: Served, tmp_path: Path) -> None:
    waits = json.dumps({"tool": "journal:wait_for", "arguments": {"file": str(server.data / "never")}})
    given = ("--protocol-era", "modern", "--method", "tools/call", "--tool-name", "pml_call_tool")
    with inspecting(*given, "--tool-args-json", waits, *at(server), cwd=tmp_path) as program:
        until(lambda: '"wait_for"' in server.seen())
        program.send_signal(signal.SIGINT)
        assert program.wait(60)
        until(lambda: '"cancelled"' in server.seen())


def at(server: Served) -> tuple[str, ...]:
    """The options that name the server."""
    return "--transport", "http", "--server-url", server.url


def ask(target: tuple[str, ...], era: str, home: Path, method: str, *options: str) -> dict[str, Any]:
    """The result of one request, by a client that starts, asks and ends."""
    done = inspector("--protocol-era", era, "--method", method, *options, *target, cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["result"]
