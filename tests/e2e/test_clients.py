"""Real clients against a real server."""

import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.version import version
from tests.support.each import each
from tests.support.serving import Serving, call, clean_environment, initialize, post, serving
from tests.surface.files.test_offered import FILES
from tests.surface.results import structured, texts

MODES: tuple[Literal["legacy", "auto", "2026-07-28"], ...] = ("legacy", "auto", "2026-07-28")
INSPECTOR = "http://localhost:6274"
"""The page of the Inspector, if its browser calls Loci itself."""
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clients") / "data"


@pytest.fixture(scope="module")
def server(data: Path) -> Generator[Serving, None, None]:
    with serving(data, LOCI_ALLOWED_ORIGINS=INSPECTOR) as running:
        yield running


@pytest.fixture(scope="module")
def entry(data: Path) -> str:
    """Something that another process has kept: a running server sees it."""
    return build_app(load_settings({"data": data})).scratchpad.keep(LOCAL, "test", "kept text").id


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@each("mode", MODES)
@each("path", ["/mcp", "/mcp/", "/mcp/documents", "/mcp/files", "/mcp/tools"])
async def test_the_sdk_client_reads_over_http(
    server: Serving, entry: str, mode: Literal["legacy", "auto", "2026-07-28"], path: str
) -> None:
    async with Client(server.url + path, mode=mode) as client:
        assert texts(await client.call_tool("scratchpad_read", {"id": entry})) == ["kept text"]


@pytest.mark.anyio
async def test_an_endpoint_lists_the_tools_of_its_vertical_and_mcp_the_most_needed_of_all(server: Serving) -> None:
    listed: dict[str, set[str]] = {}
    for path in ("/mcp", "/mcp/core", "/mcp/documents", "/mcp/files", "/mcp/tools"):
        async with Client(server.url + path) as client:
            listed[path] = {tool.name for tool in (await client.list_tools()).tools}
    assert listed["/mcp/files"] == FILES
    assert listed["/mcp/core"] < listed["/mcp"] < listed["/mcp/documents"] | listed["/mcp/files"] | listed["/mcp/tools"]


@pytest.mark.anyio
@each("part", ["core", "documents", "files", "tools"])
async def test_over_stdio_a_client_lists_a_part_as_over_http(server: Serving, tmp_path: Path, part: str) -> None:
    arguments = ["-m", "loci", "serve", "--stdio", "--only", part]
    command = StdioServerParameters(command=sys.executable, args=arguments, env=clean_environment(tmp_path))
    async with Client(command) as here, Client(f"{server.url}/mcp/{part}") as there:
        assert (await here.list_tools()).tools == (await there.list_tools()).tools
        assert here.instructions == there.instructions


@pytest.mark.anyio
@each("mode", MODES)
async def test_the_sdk_client_reads_over_stdio(
    data: Path, entry: str, mode: Literal["legacy", "auto", "2026-07-28"]
) -> None:
    command = StdioServerParameters(command=sys.executable, args=["-m", "loci", "serve"], env=clean_environment(data))
    async with Client(command, mode=mode) as client:
        assert texts(await client.call_tool("scratchpad_read", {"id": entry})) == ["kept text"]
        assert structured(await client.call_tool("scratchpad_list", {}))["stats"]["total_entries"] == 1


@each("revision", HANDSHAKES)
@each("accept", ["application/json", "application/json, text/event-stream"])
def test_every_older_revision_is_served_in_both_forms(server: Serving, revision: str, accept: str) -> None:
    begun = post(f"{server.url}/mcp", initialize(revision), {"Accept": accept})
    assert begun.message()["result"]["protocolVersion"] == revision
    headers = {"Accept": accept, "Mcp-Session-Id": begun.headers["Mcp-Session-Id"], "MCP-Protocol-Version": revision}
    answer = post(f"{server.url}/mcp", call("scratchpad_list"), headers)
    assert answer.headers["Content-Type"].startswith(accept.rpartition(" ")[2])
    assert not answer.message()["result"]["isError"]


def test_the_newest_revision_is_served_without_a_session(server: Serving) -> None:
    meta: dict[str, object] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = call("scratchpad_list", _meta=meta)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "scratchpad_list"}
    answer = post(f"{server.url}/mcp", message, headers)
    assert "Mcp-Session-Id" not in answer.headers
    assert answer.message()["result"]["resultType"] == "complete"


def test_a_session_ends_when_its_client_says_so(server: Serving) -> None:
    session = {"Mcp-Session-Id": post(f"{server.url}/mcp", initialize("2025-11-25")).headers["Mcp-Session-Id"]}
    assert post(f"{server.url}/mcp", call("scratchpad_list"), session).status == 200
    assert post(f"{server.url}/mcp", b"", session, method="DELETE").status == 204
    assert post(f"{server.url}/mcp", call("scratchpad_list"), session).status == 404


def test_get_is_answered_at_once(server: Serving) -> None:
    answer = post(f"{server.url}/mcp", b"", {"Accept": "text/event-stream"}, method="GET")
    assert (answer.status, answer.headers["Allow"]) == (405, "POST, DELETE")


def test_the_words_of_the_session_header_stand_in_one_header_only(server: Serving) -> None:
    begun = post(f"{server.url}/mcp", initialize("2025-03-26"))
    lines = [f"{name}: {value}" for name, value in begun.headers.items()]
    assert len([line for line in lines if "mcp-session-id" in line.lower()]) == 1


def test_a_browser_may_read_the_session_header(server: Serving) -> None:
    begun = post(f"{server.url}/mcp", initialize("2025-03-26"), {"Origin": INSPECTOR})
    assert begun.headers["Access-Control-Allow-Origin"] == INSPECTOR
    assert "Mcp-Session-Id" in begun.headers["Access-Control-Expose-Headers"]


CURL_CLIENT = r"""
set -eu
headers=$(mktemp); trap 'rm -f "$headers"' EXIT
curl -s -S --max-time 15 -D "$headers" -o /dev/null -X POST "$URL" \
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -d "$HELLO"
session=$(grep -i mcp-session-id "$headers" | awk '{print $2}' | tr -d '\r')
for ask in '"scratchpad_list","arguments":{}' '"scratchpad_read","arguments":{"id":"'$ENTRY'"}'; do
  curl -s -S --max-time 120 -X POST "$URL" -H "Mcp-Session-Id: $session" \
    -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -d '{"jsonrpc":"2.0","id":2,"method":"tools/call",
         "params":{"name":'"$ask"'}}'"$TAIL" \
    | grep '^data: ' | grep '"id":2' | tail -1 | cut -c7-
done
"""


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine: install curl to run this test")
@each("tail", ["", "}", "} \n}"])
def test_a_client_made_of_curl_and_grep_gets_its_answers(server: Serving, entry: str, tail: str) -> None:
    hello = json.dumps(initialize("2025-03-26"))
    ended = subprocess.run(
        ["sh", "-c", CURL_CLIENT],
        env=clean_environment(Path(), URL=f"{server.url}/mcp", ENTRY=entry, TAIL=tail, HELLO=hello),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    listing, piece = (json.loads(line)["result"]["structuredContent"] for line in ended.stdout.splitlines())
    assert listing["entries"][0]["id"] == entry
    assert piece["result"] == "kept text"


def test_an_event_has_an_event_line_and_one_compact_data_line(server: Serving) -> None:
    answer = post(f"{server.url}/mcp", call("scratchpad_list"), {"Accept": "application/json, text/event-stream"})
    event, data = (line for line in answer.text.splitlines() if line)
    assert event == "event: message"
    assert data.startswith('data: {"jsonrpc":"2.0","id":2,"result":{')


@pytest.mark.anyio
@each("mode", ["legacy", "auto"])
async def test_the_server_names_itself_and_its_version(server: Serving, mode: Literal["legacy", "auto"]) -> None:
    async with Client(f"{server.url}/mcp", mode=mode) as client:
        server_info = client.server_info
    assert server_info is not None
    assert (server_info.name, server_info.version) == ("loci", version())


PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
TOLD = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def test_a_batch_is_answered_in_one_array(server: Serving, entry: str) -> None:
    read = call("scratchpad_read", {"id": entry})
    answer = post(f"{server.url}/mcp", [PING, TOLD, {"jsonrpc": "2.0", "id": 8}, read, initialize("2025-03-26")])
    pong, refused, result, handshake = json.loads(answer.text)
    assert (pong["id"], pong["result"]) == (7, {})
    assert (refused["id"], refused["error"]["code"]) == (8, -32600)
    assert result["result"]["structuredContent"]["result"] == "kept text"
    assert handshake["error"]["code"] == -32600


def test_a_batch_of_notifications_needs_no_answer(server: Serving) -> None:
    answer = post(f"{server.url}/mcp", [TOLD, TOLD])
    assert (answer.status, answer.text) == (202, "")


def test_a_later_revision_has_no_batches(server: Serving) -> None:
    answer = post(f"{server.url}/mcp", [PING], {"MCP-Protocol-Version": "2025-06-18"})
    assert (answer.status, answer.message()["error"]["code"]) == (400, -32600)


@pytest.mark.anyio
async def test_an_unknown_prompt_is_an_invalid_parameter(server: Serving) -> None:
    async with Client(f"{server.url}/mcp") as client:
        with pytest.raises(MCPError, match="prompts/list") as failed:
            await client.get_prompt("nothing")
    assert failed.value.code == -32602


def test_a_part_of_a_batch_is_held_to_what_a_message_alone_is(server: Serving) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    [refused] = json.loads(post(f"{server.url}/mcp", [call("scratchpad_list", _meta=meta)]).text)
    assert refused["error"]["code"] == -32020


def test_the_answers_of_a_batch_have_a_size(server: Serving, data: Path) -> None:
    id = build_app(load_settings({"data": data})).scratchpad.keep(LOCAL, "test", "x" * 900_000).id
    answers = json.loads(post(f"{server.url}/mcp", [call("scratchpad_read", {"id": id})] * 5).text)
    assert ["result" in answer for answer in answers] == [True, True, False, False, False]
    assert "ask for this one alone" in answers[-1]["error"]["message"]


@each("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_who_comes_through_a_proxy_is_not_the_person_at_this_machine(server: Serving, header: str) -> None:
    assert post(f"{server.url}/mcp", PING, {header: "192.0.2.1"}).status == 401


@each("path", ["/healthz/", "/blobs/token/"])
def test_nothing_redirects_to_the_host_that_was_named(server: Serving, path: str) -> None:
    assert post(f"{server.url}{path}?apikey=secret", b"", method="GET").status == 404


@pytest.mark.anyio
@each("mode", MODES)
async def test_documents_and_prompts_come_over_http(
    server: Serving, data: Path, mode: Literal["legacy", "auto", "2026-07-28"]
) -> None:
    build_app(load_settings({"data": data})).documents.parts.library.add(LOCAL, "ferry.md", b"# Ferry\n\n#harbour\n")
    async with Client(f"{server.url}/mcp/documents", mode=mode) as client:
        assert "loci://documents/ferry" in [one.uri for one in (await client.list_resources()).resources]
        [content] = (await client.read_resource("loci://documents/ferry")).contents
        assert getattr(content, "text", "") == "# Ferry\n\n#harbour\n"
        [content] = (await client.read_resource("loci://tags/harbour")).contents
        assert "loci://documents/ferry" in getattr(content, "text", "")
        prompt = await client.get_prompt("research", {"question": "When does it leave?"})
        assert "When does it leave?" in str(prompt.messages)
        with pytest.raises(MCPError) as failed:
            await client.read_resource("loci://documents/tram")
    assert failed.value.code == -32602
