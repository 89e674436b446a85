"""Connections to real servers: the official ones for Node, and Loci itself."""

import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from loci.adapters.tool_servers.connections import Connections
from loci.core.identity import LOCAL
from loci.core.json import Json
from loci.gateway.ports import ToolServerError
from loci.gateway.tool_server import Endpoint, Program, ToolServer
from tests.servers.upstream.real import everything, everything_over_http, loci, node_server


@pytest.fixture(scope="module")
def connections() -> Iterator[Connections]:
    """One for all: each of these servers is started once."""
    with closing(Connections()) as made:
        yield made


@pytest.fixture(scope="module", params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> Iterator[ToolServer]:
    if request.param == "stdio":
        yield everything()
    else:
        with everything_over_http() as endpoint:
            yield ToolServer("everything", endpoint)


def test_a_server_lists_its_tools(connections: Connections, server: ToolServer) -> None:
    echo = next(tool for tool in connections.tools(LOCAL, server) if tool.name == "echo")
    assert echo.id == "everything:echo"
    assert echo.input_schema["required"] == ["message"]


def test_a_tool_answers(connections: Connections, server: ToolServer) -> None:
    result = connections.call(LOCAL, server, "echo", {"message": "héllo"})
    assert result["content"] == [{"type": "text", "text": "Echo: héllo"}]
    assert connections.call(LOCAL, server, "echo", {})["isError"] is True  # a failed tool is a result
    result = connections.call(LOCAL, server, "get-tiny-image", {})
    assert isinstance(result["content"], list)
    image = next(block for block in result["content"] if isinstance(block, dict) and block["type"] == "image")
    assert image["mimeType"] == "image/png"


def test_progress_is_passed_on_in_the_thread_that_waits(connections: Connections, server: ToolServer) -> None:
    heard: list[tuple[float, float | None]] = []
    threads: set[threading.Thread] = set()

    def told(done: float, total: float | None, _: str | None) -> None:
        heard.append((done, total))
        threads.add(threading.current_thread())

    arguments: dict[str, Json] = {"duration": 0.3, "steps": 3}
    connections.call(LOCAL, server, "trigger-long-running-operation", arguments, progress=told)
    assert heard == [(1, 3), (2, 3), (3, 3)]
    assert threads == {threading.current_thread()}


@contextmanager
def relayed(endpoint: Endpoint) -> Generator[tuple[Endpoint, list[object]]]:
    """The endpoint behind a relay, and the addresses of the connections that it has taken."""
    port, taken = int(endpoint.url.split(":")[2].split("/")[0]), list[object]()

    def copy(source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError), source:
            while part := source.recv(65536):
                to.sendall(part)

    def take() -> None:
        with suppress(OSError):
            while True:
                one, address = listener.accept()
                taken.append(address)
                other = socket.create_connection(("127.0.0.1", port))
                for pair in ((one, other), (other, one)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        taking = threading.Thread(target=take)
        taking.start()
        try:
            yield Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"), taken
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            taking.join()


def test_calls_over_http_share_a_connection_though_their_answers_are_events() -> None:
    with everything_over_http() as endpoint, relayed(endpoint) as (relay, taken), closing(Connections()) as made:
        for _ in range(20):
            made.call(LOCAL, ToolServer("everything", relay), "echo", {"message": "again"})
        assert len(taken) < 20


def test_files_are_read_through_a_server(connections: Connections, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Nine lives.")
    server = ToolServer("filesystem", node_server("filesystem", str(tmp_path)))
    result = connections.call(LOCAL, server, "read_text_file", {"path": str(tmp_path / "note.txt")})
    assert result["structuredContent"] == {"content": "Nine lives."}


def test_a_server_keeps_what_it_was_told(connections: Connections, tmp_path: Path) -> None:
    server = ToolServer("memory", node_server("memory", MEMORY_FILE_PATH=str(tmp_path / "memory.jsonl")))
    cat: Json = {"name": "Tom", "entityType": "cat", "observations": ["sleeps"]}
    connections.call(LOCAL, server, "create_entities", {"entities": [cat]})
    assert connections.call(LOCAL, server, "read_graph", {})["structuredContent"] == {
        "entities": [cat],
        "relations": [],
    }


def test_loci_is_a_tool_server_too(connections: Connections, tmp_path: Path) -> None:
    names = {tool.name for tool in connections.tools(LOCAL, ToolServer("loci", loci(tmp_path)))}
    assert "search_documents" in names


def test_a_program_that_does_not_exist_is_an_error(connections: Connections, tmp_path: Path) -> None:
    with pytest.raises(ToolServerError, match="No such file"):
        connections.tools(LOCAL, ToolServer("none", Program(str(tmp_path / "none"))))
