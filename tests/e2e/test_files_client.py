"""The flow of the reference's own client, a script of curl and grep, against a real server."""

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.support.executors import runner_packages
from tests.support.serving import Serving, clean_environment, loci, post, serving

pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None, reason="no curl on this machine: install curl to run this test"
)

# It sends no `initialized`, no version and no DELETE. All calls have the id 2, and arguments end with a brace too many.
INIT = r"""
headers=$(mktemp); trap 'rm -f "$headers"' EXIT
curl -s -S --max-time 15 -D "$headers" -o /dev/null -X POST "$URL" \
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},
       "clientInfo":{"name":"memorylake-skill","version":"1.0"}}}'
grep -i mcp-session-id "$headers" | awk '{print $2}' | tr -d '\r'
"""
CALL = r"""
curl -s -S --max-time 120 -X POST "$URL" -H "Mcp-Session-Id: $SESSION" \
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"'$TOOL'","arguments":'"$ARGUMENTS"'}}'"$TAIL" \
  | grep '^data: ' | grep '"id":2' | tail -1 | cut -c7-
"""


class Script:
    """The client: a shell for each call."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = self._ran(INIT)

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """What it finds in the last line with its id."""
        tail = "}" if arguments else ""
        said = self._ran(CALL, TOOL=tool, ARGUMENTS=json.dumps(arguments or {}), TAIL=tail)
        assert said, "No result received"
        result = json.loads(said)["result"]
        assert not result["isError"], result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    def _ran(self, script: str, **variables: str) -> str:
        environment = clean_environment(Path(), URL=self.url, SESSION=getattr(self, "session", ""), **variables)
        ended = subprocess.run(
            ["sh", "-euc", script], env=environment, capture_output=True, text=True, timeout=150, check=True
        )
        return ended.stdout.strip()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runner_packages()
    return tmp_path_factory.mktemp("client") / "data"


@pytest.fixture(scope="module")
def server(data: Path) -> Generator[Serving]:
    with serving(data, LOCI_AUTH="required") as running:
        yield running


@pytest.fixture(scope="module")
def url(server: Serving, data: Path) -> str:
    """The endpoint, with the key where that client has it."""
    key = build_app(load_settings({"data": data})).api_keys.create(LOCAL, "test")[1]
    table = json.dumps({"name": "costs.md", "text": "# Costs\n\nThe ferry to Kos costs 12 euros, the tram 3 euros."})
    assert loci(data, "call", "add_memory", table).returncode == 0
    return f"{server.url}/mcp?apikey={key}"


def test_the_references_client_goes_from_the_overview_to_the_answer_of_its_code(url: str) -> None:
    script = Script(url)
    assert script.session
    assert "\n" not in script.session
    overview = script.call("get_memorylake_metadata")["result"]
    assert (overview["total_files"], overview["total_txt_files"]) == (1, 1)
    query = {
        "bm25_cleaned_query": "ferry Kos costs",
        "named_entities": ["Kos"],
        "bm25_keywords": ["ferry", "Kos", "costs"],
        "bm25_boost_keywords": ["ferry", "Kos"],
        "rewritten_query_for_dense_model": "price of the ferry to Kos",
    }
    found = script.call("search_memory", {"parsed_query": query})["result"]
    [row] = found["results"]
    assert (found["n"], row["name"]) == (1, "costs.md")
    fetched = script.call("fetch_memory", {"memory_ids": [row["id"]]})
    assert fetched[row["id"]]["source_type"] == "txt_file"
    executor = script.call("create_memory_code_runner")["result"]["executor_id"]
    code = (
        f"import re; text = get_memory_path('{row['id']}', 'costs.md').read_text()\n"
        "print(sum(map(int, re.findall('[0-9]+', text))))"
    )
    ran = script.call("run_memory_code", {"executor_id": executor, "code": code})["result"]
    assert ran["stdout"] == "15\n"


def test_an_idle_session_needs_no_second_handshake(url: str) -> None:
    script = Script(url)
    first = script.call("get_memorylake_metadata")
    assert script.call("get_memorylake_metadata") == first


def test_loci_call_does_what_that_script_does(url: str, data: Path) -> None:
    called = loci(data.parent / "elsewhere", "call", "get_memorylake_metadata", "--url", url)
    assert json.loads(called.stdout) == Script(url).call("get_memorylake_metadata")


def test_a_fetched_file_is_downloaded_without_credentials(url: str) -> None:
    script = Script(url)
    [sample] = script.call("get_memorylake_metadata")["result"]["sample_memories"]
    fetched = script.call("fetch_memory", {"memory_ids": [sample["id"]]})[sample["id"]]
    with urllib.request.urlopen(fetched["presigned_url"]) as answer:
        assert answer.read().startswith(b"# Costs\n")


def test_the_answer_is_in_the_last_line_with_its_id(url: str) -> None:
    params = {"name": "search_memory", "arguments": {"parsed_query": "ferry"}, "_meta": {"progressToken": 2}}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    answer = post(url, message, {"Accept": "application/json, text/event-stream"})
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    assert '"id":2' in lines[-1]
    assert json.loads(lines[-1].removeprefix("data: "))["result"]["isError"] is False
