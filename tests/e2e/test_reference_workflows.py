"""The reference's examples of workflows, word for word, over HTTP.

The file server is the official one. The memory server has the reference's schema: the official one wants other fields.
"""

import json
import re
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    ElicitationCapability,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    UrlElicitationCapability,
)

from loci.auth.pins import Pins
from loci.compose import build_app
from loci.core.settings import load_settings
from tests.servers.upstream.real import node_server
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.serving import loci, serving

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
CONFIG = '{"name": "loci"}'

PIN = "hedgehog 7"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that the file server serves, beside what the other servers write."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "project" / "src").mkdir(parents=True)
    (folder / "project" / "config.json").write_text(CONFIG)
    (folder / "project" / "package.json").write_text('{"version": "1.0.0"}')
    (folder / "project" / "src" / "one.ts").write_text("const one = 1;\n")
    (folder / "project" / "src" / "two.ts").write_text("const one = 1;\nconst two = 2;\n")
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Generator[str]:
    files = node_server("filesystem", str(folder / "project"))
    entities = [str(ROOT / "tests/servers/upstream/journal.py"), str(folder / "entities")]
    release = ["-m", "tests.servers.upstream.release", str(folder / "released")]
    servers = {
        "filesystem": {"command": files.command, "args": [*files.args], "cwd": str(folder / "project")},
        "memory": {"command": sys.executable, "args": entities, "allow": ["create_entities"]},
        "release": {"command": sys.executable, "args": release, "cwd": str(ROOT)},
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    imported = loci(folder / "data", "tools", "import", str(folder / "mcp.json"))
    assert imported.returncode == 0, imported.stderr
    with closing(build_app(load_settings({"data": folder / "data"}))) as app:
        Pins(app.records, time.time).set(PIN)
    with serving(folder / "data") as server:
        yield server.url


class Caller:
    """Calls tools as the reference does. An answer is one text, and the same as a structure."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments)
        [text] = result.content
        assert text.type == "text"
        assert not result.is_error, text.text
        assert json.loads(text.text) == result.structured_content
        return json.loads(text.text)


@pytest.fixture
async def call(url: str) -> AsyncGenerator[Caller]:
    async with Client(f"{url}/mcp") as client:
        yield Caller(client)


def created(folder: Path) -> list[Any]:
    """What the memory server was told to create, and forget it."""
    journal = folder / "entities"
    lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    journal.unlink(missing_ok=True)
    return [one["arguments"]["entities"] for one in lines if one["event"] == "begin"]


async def test_tasks_run_in_parallel_and_hand_their_results_on(call: Caller, folder: Path) -> None:
    answer = await call(
        "pml:execute_dag",
        {
            "workflow": {
                "tasks": [
                    {"id": "t1", "tool": "filesystem:read_file", "arguments": {"path": "config.json"}},
                    {"id": "t2", "tool": "filesystem:read_file", "arguments": {"path": "package.json"}},
                    {
                        "id": "t3",
                        "tool": "memory:create_entities",
                        "arguments": {"entities": [{"name": "config", "content": "$t1.result"}]},
                        "dependsOn": ["t1"],
                    },
                ]
            }
        },
    )
    assert answer["status"] == "complete"
    assert answer["results"]["t1"] == {"content": CONFIG}
    assert answer["results"]["t2"] == {"content": '{"version": "1.0.0"}'}
    assert answer["results"]["t3"]["success"] is True
    assert answer["metrics"]["parallel_branches"] == 2
    assert answer["metrics"]["total_time_ms"] > 0
    assert created(folder) == [[{"name": "config", "content": {"content": CONFIG}}]]


async def test_an_intent_is_planned_and_approved(call: Caller, folder: Path) -> None:
    asked = await call("pml:execute_dag", {"intent": "Read config.json and create a memory entity with its content"})
    assert (asked["status"], asked["results"]) == ("paused", {"t1": {"content": CONFIG}})
    assert created(folder) == []
    answer = await call(
        "pml:approval_response",
        {
            "workflow_id": asked["workflow_id"],
            "checkpoint_id": asked["checkpoint_id"],
            "approved": True,
            "feedback": "Operation validated, proceed with deployment",
        },
    )
    assert answer["status"] == "complete"
    assert created(folder) == [[{"name": "config", "content": CONFIG}]]


async def test_a_workflow_with_human_validation(call: Caller, folder: Path) -> None:
    workflow = await call(
        "pml:execute_dag", {"intent": "Deploy new version to production", "per_layer_validation": True}
    )
    assert (workflow["status"], workflow["current_layer"]) == ("layer_complete", 1)
    assert workflow["layer_results"][0]["status"] == "success"
    assert workflow["next_action"] == "Use pml:continue to proceed"
    asked = await call(
        "pml:continue",
        {"workflow_id": workflow["workflow_id"], "reason": "Tests passed, approved for deployment"},
    )
    assert (asked["status"], (folder / "released").exists()) == ("paused", False)
    answer = await call(
        "pml:approval_response",
        {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": True},
    )
    assert answer["status"] == "complete"
    assert (folder / "released").read_text() == "1.4.0 to production\n"
    (folder / "released").unlink()


async def test_a_workflow_is_replanned_continued_and_aborted(call: Caller, folder: Path) -> None:
    read = {"id": "t1", "tool": "filesystem:read_file", "arguments": {"path": "config.json"}}
    tasks = [read, {**read, "id": "t2", "dependsOn": ["t1"]}, {**read, "id": "t3", "dependsOn": ["t2"]}]
    workflow = await call("pml:execute_dag", {"workflow": {"tasks": tasks}, "per_layer_validation": True})
    replanned = await call(
        "pml:replan",
        {
            "workflow_id": workflow["workflow_id"],
            "new_requirement": "Parse discovered XML files",
            "available_context": {"discovered_files": ["config.xml", "data.xml"]},
        },
    )
    assert [one["arguments"] for one in replanned["added"]] == [{"path": "config.xml"}, {"path": "data.xml"}]
    answer = await call(
        "pml:continue", {"workflow_id": workflow["workflow_id"], "reason": "Layer 1 validated, continue"}
    )
    assert (answer["status"], answer["current_layer"]) == ("layer_complete", 2)
    assert sorted((folder / "released").read_text().splitlines()) == ["parsed config.xml", "parsed data.xml"]
    aborted = await call(
        "pml:abort", {"workflow_id": workflow["workflow_id"], "reason": "Error detected in layer 1 results"}
    )
    assert (aborted["status"], aborted["reason"]) == ("aborted", "Error detected in layer 1 results")
    assert {"t1", "t2"} < {*aborted["results"]}
    (folder / "released").unlink()


@needs_deno
async def test_a_project_is_analysed(call: Caller) -> None:
    tools = await call(
        "pml:search_tools", {"query": "read files and analyze project structure", "include_related": True}
    )
    assert tools["tools"][0]["name"] in ("filesystem:read_file", "filesystem:read_multiple_files")
    result = await call("pml:execute_dag", {"intent": "Read all TypeScript files in src/ and count lines"})
    assert result["status"] == "complete"
    # The reference takes `results` for an array; here and in its own answers it is an object by the ids of tasks.
    [counted] = [one for one in result["results"].values() if "total_lines" in one]
    analysis = await call(
        "pml:execute_code",
        {
            "code": """
    const files = context.files;
    return {
      totalFiles: files.length,
      totalLines: files.reduce((sum, f) => sum + f.lines, 0),
      avgLinesPerFile: Math.round(files.reduce((sum, f) => sum + f.lines, 0) / files.length)
    };
  """,
            "context": {"files": counted["files"]},
        },
    )
    assert analysis["result"] == {"totalFiles": 2, "totalLines": 3, "avgLinesPerFile": 2}


@each("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_shows_pages_only_leads_the_person_to_the_page(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, mode: Literal["legacy", "2026-07-28"]
) -> None:
    pages = ElicitationCapability(url=UrlElicitationCapability())
    monkeypatch.setattr("mcp.client.session.types.ElicitationCapability", lambda **_: pages)  # pyright: ignore
    shown: list[str] = []

    async def opens(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        shown.append(params.url)
        return ElicitResult(action="accept")

    entities = {"entities": [{"name": mode, "content": "by a person"}]}
    task = {"id": "t1", "tool": "memory:create_entities", "arguments": entities, "approve": "human"}
    async with Client(f"{url}/mcp", mode=mode, elicitation_callback=opens) as client:
        asked = await Caller(client)("pml_execute_dag", {"workflow": {"tasks": [task]}})
        decision = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": True}
        if mode == "legacy":
            with pytest.raises(MCPError) as needed:
                await client.call_tool("pml_approval_response", decision)
            error = UrlElicitationRequiredError.from_error(needed.value.error)
            assert "memory:create_entities" in error.elicitations[0].message
            shown += [one.url for one in error.elicitations]
        else:
            answer = await client.call_tool("pml_approval_response", decision)
            assert answer.is_error  # the page decides, not the call
        assert created(folder) == []
        [page] = shown
        with urlopen(page) as question:
            token = re.search(r'name="form" value="([^"]+)"', question.read().decode())
        assert token
        form = urlencode({"form": unescape(token[1]), "answer": "approve", "feedback": "seen", "pin": PIN}).encode()
        with urlopen(Request(page, form, {"Sec-Fetch-Site": "same-origin"})) as approved:
            assert approved.status == 200
        ended = await Caller(client)("pml_continue", {"workflow_id": asked["workflow_id"]})
    assert ended["status"] == "complete"
    assert created(folder) == [entities["entities"]]
