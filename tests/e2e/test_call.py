"""`loci call`: a tool called from a shell, on this machine and on a server."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.e2e.in_process import loci
from tests.support.each import each
from tests.support.serving import Serving, serving
from tests.support.serving import loci as command

ADDED = json.dumps({"name": "trip.md", "text": "The train to Berlin costs 40 euros."})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("call") / "data"


@pytest.fixture(scope="module")
def server(data: Path) -> Generator[Serving]:
    with serving(data, LOCI_AUTH="required") as running:
        yield running


@pytest.fixture(scope="module")
def key(data: Path) -> str:
    return build_app(load_settings({"data": data})).api_keys.create(LOCAL, "test")[1]


@pytest.mark.smoke
def test_a_tool_works_on_the_data_folder_without_a_server(tmp_path: Path) -> None:
    added = command(tmp_path / "data", "call", "add_memory", ADDED)
    assert (added.returncode, added.stderr) == (0, "")
    [file] = json.loads(added.stdout)["result"]
    found = command(tmp_path / "data", "call", "search_memory", '{"parsed_query": "What does the train cost?"}')
    assert json.loads(found.stdout)["result"]["results"][0]["id"] == file["id"]


def test_a_tool_of_a_server_is_called_with_a_key(server: Serving, key: str) -> None:
    for url in (server.url, f"{server.url}/mcp/files"):
        called = loci(Path("/nowhere/data"), "call", "get_memorylake_metadata", "--url", url, "--key", key)
        assert json.loads(called.stdout)["result"]["total_files"] == 0
    called = loci(Path("/nowhere/data"), "call", "get_memorylake_metadata", "--url", server.url, LOCI_KEY=key)
    assert called.returncode == 0


def test_without_a_key_the_server_refuses_and_the_error_says_what_to_do(server: Serving) -> None:
    called = loci(Path("/nowhere/data"), "call", "get_memorylake_metadata", "--url", server.url)
    assert (called.returncode, called.stdout) == (1, "")
    assert "refuses: Show an API key or an access token. Check the URL, and the key" in called.stderr


@each(
    ("arguments", "said"),
    [
        (("fetch_memory", '{"memory_ids": ["ds-none"]}'), "MEMORY_NOT_FOUND: There is no file 'ds-none'"),
        (("no_such_tool",), "TOOL_NOT_FOUND"),
        (("fetch_memory", "{"), "loci: The arguments are no JSON"),
        (("fetch_memory", "[1]"), "loci: The arguments are no JSON object"),
        (("fetch_memory", "--url", "ftp://x"), "loci: 'ftp://x' is not a URL"),
        (("fetch_memory", "--url", "http://127.0.0.1:9"), "loci: http://127.0.0.1:9/mcp gave no answer"),
    ],
)
def test_an_error_goes_to_stderr_with_an_exit_code(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    called = loci(tmp_path / "data", "call", *arguments)
    assert (called.returncode, called.stdout) == (1, "")
    assert called.stderr.startswith(said)
    assert "Traceback" not in called.stderr
