"""What the answers of ten everyday tasks cost an agent, on a vault of 900 notes."""

import asyncio
import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp_types import TextContent

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.bench.figures import Figure, verdict
from tests.bench.servers import Servers
from tests.support.vault.write import Note, vault_notes, write_vault

MOST_TOKENS: Final = 6_210
"""30 % of what the same ten cost when they were first counted."""
BYTES_PER_TOKEN: Final = 4
WRITTEN: Final = 1_600_000_000
BY_MONTH: Final = """
const {results} = await loci.searchDocuments({query: "canvas", folder: "vault/releases", limit: 100});
const count: Record<string, number> = {};
for (const one of results.filter(one => one.date_from === "name")) {
  count[one.date.slice(0, 7)] = (count[one.date.slice(0, 7)] ?? 0) + 1;
}
return count;
"""

Task = tuple[str, dict[str, Any]]


def tasks(path: str, id: str) -> dict[str, list[Task]]:
    """The calls of each task, as an agent makes them with the tools' defaults."""
    return {
        "start": [("list_directory_structure", {"depth": 2}), ("scratchpad_list", {})],
        "a fact by its heading": [
            ("search_documents", {"query": "shiny new things in release v1.0.1", "limit": 5}),
            ("read_node_content", {"id": id, "heading": "Improvements"}),
        ],
        "links": [("explore_links", {"id": id})],
        "write": [("write_document", {"path": path, "mode": "append", "content": "Tried on a phone: it works."})],
        "tag": [("inject_tags", {"file_path": path, "tags": ["tried"]})],
        "gap": [("find_gaps", {})],
        "reading list": [("suggest_reading", {"context": "how to use the canvas", "limit": 5})],
        "groups": [("cluster_documents", {})],
        "time": [("temporal_search", {"query": "newest release", "date_range": "any time", "limit": 5})],
        "compute": [("pml_execute_code", {"code": BY_MONTH})],
    }


def needed(release: Note) -> dict[str, tuple[str, ...]]:
    """What the answers of each task must have for the agent to be done."""
    text = release.content.decode("utf-8-sig").replace("\r\n", "\n")
    improvement = text.partition("## Improvements")[2].strip().split("\n")[0]
    first_link = text.partition("[[")[2].partition("]]")[0]
    newest = max(note.stem for note in vault_notes() if note.path.startswith("releases/2"))
    return {
        "start": ("vault/releases/", "vault/docs/", "vault/de/"),
        "a fact by its heading": (improvement,),
        "links": (first_link,),
        "write": (f"vault/{release.path}", "hash"),
        "tag": ("Successfully", release.path),
        "gap": ("source_id", "suggested_link_type"),
        "reading list": ("canvas", "tokens"),
        "groups": ("label", "documents"),
        "time": (newest,),
        "compute": ('"2021-', '"2023-'),
    }


def ten_tasks(_: Servers) -> list[Figure]:
    """The tokens that each answer costs, and all ten together."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "vault"
        write_vault(folder)
        for file in folder.rglob("*.md"):  # else notes that do not say their date are of today, and the newest
            os.utime(file, (WRITTEN, WRITTEN))
        release = next(
            note for note in vault_notes() if "## Improvements" in note.content.decode("utf-8-sig", "replace")
        )
        with closing(build_app(load_settings({"data": Path(place) / "data", "models": Path(place) / "none"}))) as app:
            app.documents.parts.ingest.run(LOCAL, [str(folder)])
            id = app.documents.parts.catalog.find(LOCAL, f"vault/{release.path}").id

            async def cost() -> dict[str, int]:
                async with Client(build_server(app)) as client:
                    wanted = needed(release)
                    return {
                        name: await _tokens(client, calls, wanted[name])
                        for name, calls in tasks(f"vault/{release.path}", id).items()
                    }

            spent = asyncio.run(cost())
    whole = sum(spent.values())
    rows = [Figure(f"tokens of an answer: {name}", "", f"{tokens:,}", "no budget") for name, tokens in spent.items()]
    told = f"{whole:,} tokens"
    return [
        *rows,
        Figure("ten tasks, all answers", f"<= {MOST_TOKENS:,} tokens", told, verdict(kept=whole <= MOST_TOKENS)),
    ]


async def _tokens(client: Client, calls: list[Task], wanted: tuple[str, ...]) -> int:
    """Of the texts of the answers, as a model reads them. `RuntimeError` if they lack what the task needs."""
    size, said = 0, ""
    for tool, arguments in calls:
        result = await client.call_tool(tool, arguments)
        text = "".join(block.text for block in result.content if isinstance(block, TextContent))
        if result.is_error:
            raise RuntimeError(f"{tool} failed: {text[:300]}")
        size += len(text.encode())
        said += text
    if missing := [one for one in wanted if one.casefold() not in said.casefold()]:
        raise RuntimeError(f"The answers of {calls} lack {missing}")
    return size // BYTES_PER_TOKEN
