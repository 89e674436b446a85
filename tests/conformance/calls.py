"""The calls that every client makes: some that work, and one of each tool that fails."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.files.file import file_id
from loci.registry import LISTED
from tests.support.serving import call, loci, post, serving
from tests.surface.test_listing import SNAPSHOT

UPSTREAM = Path(__file__).parents[1] / "servers" / "upstream" / "journal.py"
NOTES = 12
SHOWN = {one.replace(":", "_") for one in LISTED["all"]}
TOOLS: list[str] = [one["name"] for one in json.loads(SNAPSHOT.read_text("utf-8")) if one["name"] in SHOWN]
"""The tools that `/mcp` lists."""
Arguments = dict[str, Any]
Calls = list[tuple[str, Arguments]]
FARES = "stop,fare\nharbour,1200\nisland,36\n"
SEARCH = ("search_documents", {"query": "ferry", "limit": 10})
TASKS: list[dict[str, Any]] = [
    {"id": "t1", "tool": "journal:items", "arguments": {}},
    {"id": "t2", "tool": "journal:echo", "arguments": {"value": "$t1.result.count"}},
]
WORKING: Calls = [
    SEARCH,
    ("read_node_content", {"id": "ferries"}),
    ("write_document", {"path": "tram.md", "content": "# Tram"}),
    ("pml_call_tool", {"tool": "add_memory", "arguments": {"name": "fares.csv", "text": FARES}}),
    ("query_table", {"memory_id": file_id("fares.csv"), "sql": "SELECT sum(fare) FROM t1"}),
    ("run_memory_code", {"code": "print(sum(range(100)))"}),
    ("pml_execute_dag", {"workflow": {"tasks": TASKS}}),
]
SAID = ["ferries.md", "Ferry, ferries, ferry.", "tram.md", "fares.csv", "1236", "4950", "complete"]
"""Words in the answer of each of them."""
TYPICAL: dict[str, Arguments] = {
    "read_node_content": {"id": "nowhere"},
    "write_document": {"path": "tram.md", "content": "Another"},
    "fetch_memory": {"memory_ids": ["ds-none"]},
    "run_memory_code": {"executor_id": "executor-x", "code": "1"},
    "pml_call_tool": {"tool": "journal:nothing"},
    "pml_workflow_status": {"workflow_id": "wf_none"},
    "scratchpad_read": {"id": "0123456789ab"},
}
FAILING: Calls = [(tool, TYPICAL.get(tool, {"nothing": 1})) for tool in TOOLS]
"""One call of each of them; most have an argument that the tool does not have."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server over HTTP, with a tool server behind it."""

    url: str
    data: Path
    journal: Path

    def seen(self) -> str:
        """What the tool server has seen so far."""
        return self.journal.read_text() if self.journal.exists() else ""

    def error_text(self, tool: str, arguments: Arguments) -> str:
        """The text of the error, as the server sends it."""
        result = post(self.url, call(tool, arguments)).message()["result"]
        assert result["isError"], tool
        return result["content"][0]["text"]


@contextmanager
def served(folder: Path) -> Generator[Served]:
    """A library in which one note says more of ferries than the others."""
    data, journal = folder / "data", folder / "journal.jsonl"
    documents = build_app(load_settings({"data": data, "models": folder / "models"})).documents
    for number in range(NOTES):
        documents.parts.library.add(LOCAL, f"{number}.md", f"# Note {number}\n\nA ferry, and more.\n".encode())
    documents.parts.library.add(LOCAL, "ferries.md", b"# Ferry\n\nFerry, ferries, ferry.\n")
    added = loci(data, "tools", "add", "journal", "--", sys.executable, str(UPSTREAM), str(journal))
    assert added.returncode == 0, added.stderr
    with serving(data) as server:
        yield Served(f"{server.url}/mcp", data, journal)
