"""Every revision of the protocol gets the same answers: the other tests speak the newest alone."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.files.file import file_id
from loci.mcp.http.application import asgi
from tests.attack.doors import UvicornDoor, uvicorn_door
from tests.attack.wire import MODERN, Ask, initialize, legacy, modern, rpc
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.surface.ferries import BREAD, BRIEF, DEBRIEF, HARBOUR, NOTES

pytestmark = needs_deno
MANY = 20
LONG = "a folder with a name that is long " * 5
TIDE = file_id("tide.md")
LISTS: dict[str, object] = {"id": "t1", "tool": "get_memorylake_metadata", "arguments": {}}
COUNTS: dict[str, object] = {"id": "t2", "tool": "scratchpad_list", "arguments": {}, "dependsOn": ["t1"]}
PLOT = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 3, 2])"
WRITES = "with open('made.md', 'w') as made:\n    print('made', file=made)"
FARES = file_id("fares.md")
FRAME = ("resultType", "cacheScope", "ttlMs")
"""What the newest revision alone puts around every result, beside the server's name."""
SERVER = "io.modelcontextprotocol/serverInfo"
"""The server's name, in `_meta`."""
MEASURED = {
    "ms",
    "total_time_ms",
    "duration_ms",
    "elapsed_ms",
    "execution_time_ms",
    "memory_mb",
    "memory_used_mb",
    "size_bytes",
    "total_size_bytes",
}
"""Times, memory, and lengths of texts that tell them."""
CHANGING = re.compile(
    r"(?<=executor-)[0-9a-f]{32}|(?<=approve\?link=)[\w.-]+|\b(?:wf_[0-9a-f]{20}|cp_[0-9a-f]{12}|[0-9a-f]{12})\b|\d{4}-\d\d-\d\dT[\d:.]+Z"
)
"""Ids that are made up, and moments."""

Answers = Mapping[str, Mapping[str, Any]]
"""By the revision and the request's name."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. A value `$name` is what an earlier answer gave under that name."""

    method: str
    params: dict[str, Any] = field(default_factory=dict[str, Any])


REVISIONS = (MODERN, *HANDSHAKE_PROTOCOL_VERSIONS)


def tool(name: str, /, **arguments: object) -> Request:
    return Request("tools/call", {"name": name, "arguments": arguments})


REQUESTS: dict[str, Request] = {
    # Documents
    "search": tool("search_documents", query="ferry", explain=True),
    "search finds nothing": tool("search_documents", query="xylophone"),
    "search without a query": tool("search_documents"),
    "search with a bad limit": tool("search_documents", query="ferry", limit="many"),
    "a search in time": tool("temporal_search", query="timetable", date_range="2026-02"),
    "a search in no time": tool("temporal_search", query="timetable", date_range="yesterday, perhaps"),
    "tags": tool("query_by_tags", tags=["ferry"], without=["map"]),
    "read": tool("read_node_content", id=HARBOUR),
    "read what is not there": tool("read_node_content", id="notes-tram"),
    "folders, cut": tool("list_directory_structure"),
    "folders, whole": tool("scratchpad_read", id="$scratchpad_id"),
    "links": tool("explore_links", id=DEBRIEF),
    "neighbours": tool("graph_neighbors", id=DEBRIEF, similar=True),
    "gaps": tool("find_gaps", threshold=0.2),
    "clusters": tool("cluster_documents"),
    "reading": tool("suggest_reading", context="Where are tickets sold?"),
    "write": tool("write_document", path="notes/new.md", content="# New\n\nA tram."),
    "write where something is": tool("write_document", path="notes/new.md", content="# Newer"),
    "edit": tool("write_document", path="notes/new.md", mode="edit", old="A tram.", new="A bus."),
    "tag": tool("inject_tags", file_path=BREAD, tags=["food"]),
    "undo": tool("undo_write", path="notes/new.md"),
    "move": tool("move_document", path=BREAD, to="notes/loaf.md"),
    "move back": tool("undo_write", path="notes/loaf.md"),
    "move where something is": tool("move_document", path=BREAD, to=HARBOUR),
    "delete what has changed": tool("delete_document", path=BREAD, expected_hash="0" * 64),
    "undo what was not written": tool("undo_write", path="notes/moon.md"),
    # Files: versions and citations
    "a file": tool("add_memory", name="tide.md", text="# Tide\n\nIt rises at six.\n"),
    "a new version": tool("add_memory", name="tide.md", text="# Tide\n\nIt rises at seven.\n"),
    "a file, two ways at once": tool("add_memory", name="tide.md", text="x", path="/tide.md"),
    "files that wait": tool("ingestion_status"),
    "what changed": tool("diff_versions", memory_id=TIDE),
    "a citation": tool("verify_citation", chunk_id=f"{TIDE}#0", text="at seven"),
    "a citation of nothing": tool("verify_citation", chunk_id="ds-0#0", text="at seven"),
    "a removal": tool("delete_memory", memory_ids=[TIDE]),
    # Code
    "TypeScript": tool("pml_execute_code", code="console.log('six'); [context.by as number, 7]", context={"by": 6}),
    "TypeScript that throws": tool("pml_execute_code", code="null.x"),
    "an executor": tool("create_memory_code_runner"),
    "Python": tool("run_memory_code", executor_id="$executor_id", code="x = 6\nprint('six')\nx * 7"),
    "Python that raises": tool("run_memory_code", executor_id="$executor_id", code="1 / 0"),
    "a figure": tool("run_memory_code", executor_id="$executor_id", code=PLOT),
    "no executor": tool("run_memory_code", executor_id="executor-x", code="1"),
    # Files
    "the overview of files": tool("get_memorylake_metadata"),
    "a text in the files": tool("add_memory", name="fares.md", text="# Fares\n\nThe ferry costs 12 euros."),
    "how far it is": tool("ingestion_status", memory_ids=[FARES]),
    "a search of files": tool("search_memory", parsed_query="what does the ferry cost"),
    "a part of a file": tool("read_memory", id=FARES, lines="3-"),
    "facts about a file": tool("fetch_memory", memory_ids=["ds-none"]),
    "SQL about a file without tables": tool("query_table", memory_id=FARES, sql="SELECT 1"),
    "a file of code": tool("run_memory_code", executor_id="$executor_id", code=WRITES),
    "an artifact": tool("save_artifact", executor_id="$executor_id", file="made.md"),
    "files removed": tool("delete_memory", memory_ids=[FARES]),
    # The scratchpad, and what is no tool
    "a part": tool("scratchpad_read", id="$scratchpad_id", offset=5, limit=20),
    "no entry": tool("scratchpad_read", id="0123456789ab"),
    "entries": tool("scratchpad_list"),
    # Tools
    "tools that fit": tool("pml_search_tools", query="which files there are", limit=2),
    "a call that is passed on": tool("pml_call_tool", tool="get_memorylake_metadata"),
    "code that worked": tool("pml_search_capabilities", intent="count the ferries", include_suggestions=True),
    "a workflow that pauses": tool("pml_execute_dag", workflow={"tasks": [LISTS, COUNTS]}, per_layer_validation=True),
    "a replan for nothing": tool("pml_replan", workflow_id="$workflow_id", new_requirement="xyzzy plugh"),
    "its next layer": tool("pml_continue", workflow_id="$workflow_id"),
    "a workflow that asks": tool("pml_execute_dag", workflow={"tasks": [LISTS | {"approve": True}]}),
    "its approval": tool(
        "pml_approval_response", workflow_id="$workflow_id", checkpoint_id="$checkpoint_id", approved=True
    ),
    "its status": tool("pml_workflow_status", workflow_id="$workflow_id"),
    "an abort of what has ended": tool("pml_abort", workflow_id="$workflow_id", reason="too late"),
    "no such code": tool("pml_delete_capability", capability_id="cap_0123456789ab"),
    "an unknown tool": tool("tram_schedule"),
    # What is not called
    "tools": Request("tools/list"),
    "resources": Request("resources/list"),
    "templates": Request("resources/templates/list"),
    "a resource": Request("resources/read", {"uri": f"loci://documents/{BRIEF}"}),
    "no resource": Request("resources/read", {"uri": "loci://documents/tram"}),
    "prompts": Request("prompts/list"),
    "a prompt": Request("prompts/get", {"name": "research", "arguments": {"question": "When does it leave?"}}),
    "no prompt": Request("prompts/get", {"name": "sail"}),
    "no method": Request("harbour/list"),
}
FAILING = {
    "an abort of what has ended",
    "no such code",
    "facts about a file",
    "a file, two ways at once",
    "a citation of nothing",
    "search without a query",
    "search with a bad limit",
    "a search in no time",
    "read what is not there",
    "write where something is",
    "move where something is",
    "delete what has changed",
    "undo what was not written",
    "TypeScript that throws",
    "Python that raises",
    "no executor",
    "SQL about a file without tables",
    "no entry",
    "an unknown tool",
}
REFUSED = {"no resource", "no prompt", "no method"}


@dataclass
class Speaker:
    """Somebody who speaks one revision, with documents of their own."""

    door: UvicornDoor
    revision: str
    key: str
    told: dict[str, str] = field(default_factory=dict[str, str])
    session: str | None = None

    def ask(self, request: Request) -> Any:
        """The JSON-RPC message that answers."""
        params = {name: self._filled(value) for name, value in request.params.items()}
        answer = self.door.ask(self._asked(request.method, params))
        for name, value in re.findall(
            r'"(executor_id|scratchpad_id|workflow_id|checkpoint_id)":"([^"]+)"', answer.body.decode()
        ):
            self.told[name] = value
        return answer.message

    def _asked(self, method: str, params: dict[str, Any]) -> Ask:
        if self.revision == MODERN:
            asked = modern(method, params, self.key)
            return asked.having("Mcp-Name", params["uri"]) if "uri" in params else asked
        asked = legacy(rpc(method, params), self.key).having("MCP-Protocol-Version", self.revision)
        return asked.having("Mcp-Session-Id", self._begun())

    def _begun(self) -> str:
        if self.session is None:
            answer = self.door.ask(legacy(initialize(self.revision), self.key))
            assert answer.message["result"]["protocolVersion"] == self.revision
            self.session = answer.header("Mcp-Session-Id")
            assert self.session
        return self.session

    def _filled(self, value: object) -> object:
        match value:
            case dict():
                return {name: self._filled(part) for name, part in cast("dict[str, object]", value).items()}
            case str() if value.startswith("$"):
                return self.told[value[1:]]
            case _:
                return value


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Everybody asks the same, request by request."""
    runner_packages()
    folder = tmp_path_factory.mktemp("revisions")
    told = {"data": folder / "data", "models": folder / "models", "auth": "required", "log_level": "ERROR"}
    app = build_app(load_settings(told))
    notes = {**NOTES, **{f"{LONG}{number}/{LONG}/{LONG}/tide.md": "# Tide\n\nIt rises.\n" for number in range(MANY)}}
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        speakers = [
            Speaker(door, revision, app.api_keys.create(Owner("acme", revision), "test")[1]) for revision in REVISIONS
        ]
        for revision in REVISIONS:
            for path, text in notes.items():
                app.documents.parts.library.add(Owner("acme", revision), f"notes/{path}", text.encode())
        made: dict[str, dict[str, Any]] = {revision: {} for revision in REVISIONS}
        for name, request in REQUESTS.items():
            for speaker in speakers:
                made[speaker.revision][name] = speaker.ask(request)
    app.code.close()
    return made


def steady(value: object) -> object:
    """The value without what would be another at the next call."""
    match value:
        case dict():
            parts = cast("dict[str, object]", value).items()
            return {name: "measured" if name in MEASURED else steady(part) for name, part in parts}
        case list():
            return [steady(part) for part in cast("list[object]", value)]
        case str():
            try:
                inner = cast("object", json.loads(value))
            except ValueError:
                return CHANGING.sub("changing", value)
            return steady(cast("object", inner)) if isinstance(inner, dict | list) else value
        case _:
            return value


def said(message: Mapping[str, Any]) -> object:
    """The result without its frame, or the error."""
    if "error" in message:
        return steady(message["error"])
    result = {name: value for name, value in message["result"].items() if name not in FRAME}
    result["_meta"] = {name: value for name, value in result.get("_meta", {}).items() if name != SERVER}
    if "resources" in result:  # by the second in which each was brought, else
        result["resources"] = sorted(result["resources"], key=lambda one: one["uri"])
    return steady(result)


SEARCHES = ("search", "search finds nothing", "a search in time", "tags", "a search of files")
STRUCTURED = "2025-06-18"
"""Clients of earlier revisions know no structured content: the text of a search has it."""


@each("name", REQUESTS)
def test_the_answer_is_the_same_in_every_revision(answers: Answers, name: str) -> None:
    newest = said(answers[MODERN][name])
    for revision in HANDSHAKE_PROTOCOL_VERSIONS:
        told = said(answers[revision][name])
        if name in SEARCHES and revision < STRUCTURED:
            structured = cast("dict[str, object]", newest)["structuredContent"]
            assert told == {**cast("dict[str, object]", newest), "content": [{"type": "text", "text": structured}]}
        else:
            assert told == newest, revision


def test_only_the_newest_revision_frames_its_results(answers: Answers) -> None:
    for revision in REVISIONS:
        results = [answer["result"] for answer in answers[revision].values() if "result" in answer]
        framed = {name for one in results for name in (*one, *one.get("_meta", {})) if name in (*FRAME, SERVER)}
        assert framed == ({*FRAME, SERVER} if revision == MODERN else set()), revision


def test_every_tool_is_called(answers: Answers) -> None:
    listed = {one["name"] for one in answers[MODERN]["tools"]["result"]["tools"]}
    called = {request.params["name"] for request in REQUESTS.values() if request.method == "tools/call"}
    assert called >= listed


@each("revision", REVISIONS)
def test_every_failure_has_a_text_and_no_structured_content(answers: Answers, revision: str) -> None:
    for name in FAILING:
        result = answers[revision][name]["result"]
        assert "structuredContent" not in result, name
        code, resolution = (result["_meta"]["loci/error"][one] for one in ("code", "resolution"))
        assert result["content"][0]["text"].startswith(f"{code}: "), name
        assert resolution, name


def test_failures_cut_answers_and_images_are_among_the_answers(answers: Answers) -> None:
    results = {name: one["result"] for name, one in answers[MODERN].items() if "content" in one.get("result", {})}
    failed = {name for name, one in results.items() if one["isError"]}
    cut = {name for name, one in results.items() if "Results cached" in one["content"][-1].get("text", "")}
    drawn = {name for name, one in results.items() if any(block["type"] == "image" for block in one["content"])}
    assert failed == FAILING
    assert (cut, drawn) == ({"folders, cut"}, {"a figure"})
    assert {name for name, one in answers[MODERN].items() if "error" in one} == REFUSED
