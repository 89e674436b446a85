"""What the answers of ten everyday tasks cost an agent, on a vault of 900 notes."""

import asyncio
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
from tests.support.vault.write import vault_notes, write_vault

MOST_TOKENS: Final = 12_420
"""60 % of what the same ten cost when they were first counted."""
BYTES_PER_TOKEN: Final = 4
COUNT: Final = "return context.days.reduce((sum, day) => ({...sum, [day]: (sum[day] ?? 0) + 1}), {});"

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
        "compute": [("pml_execute_code", {"code": COUNT, "context": {"days": ["2024-01", "2024-02", "2024-01"]}})],
    }


def ten_tasks(_: Servers) -> list[Figure]:
    """The tokens that each answer costs, and all ten together."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "vault"
        write_vault(folder)
        release = next(
            note for note in vault_notes() if "## Improvements" in note.content.decode("utf-8-sig", "replace")
        )
        with closing(build_app(load_settings({"data": Path(place) / "data", "models": Path(place) / "none"}))) as app:
            app.documents.parts.ingest.run(LOCAL, [str(folder)])
            id = app.documents.parts.catalog.find(LOCAL, f"vault/{release.path}").id

            async def cost() -> dict[str, int]:
                async with Client(build_server(app)) as client:
                    return {
                        name: await _tokens(client, calls) for name, calls in tasks(f"vault/{release.path}", id).items()
                    }

            spent = asyncio.run(cost())
    whole = sum(spent.values())
    rows = [Figure(f"tokens of an answer: {name}", "", f"{tokens:,}", "no budget") for name, tokens in spent.items()]
    told = f"{whole:,} tokens"
    return [
        *rows,
        Figure("ten tasks, all answers", f"<= {MOST_TOKENS:,} tokens", told, verdict(kept=whole <= MOST_TOKENS)),
    ]


async def _tokens(client: Client, calls: list[Task]) -> int:
    """Of the texts of the answers, as a model reads them."""
    size = 0
    for tool, arguments in calls:
        result = await client.call_tool(tool, arguments)
        text = "".join(block.text for block in result.content if isinstance(block, TextContent))
        if result.is_error:
            raise RuntimeError(f"{tool} failed: {text[:300]}")
        size += len(text.encode())
    return size // BYTES_PER_TOKEN
