"""The tool servers of the reference's examples, over standard input and output.

`python -m tests.support.reference_servers NAME FOLDER`: `filesystem` reads files of the folder; `memory` keeps what it
is told there.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

COMMITS = [
    {"sha": "a1", "author": "alice"},
    {"sha": "b2", "author": "bob"},
    {"sha": "c3", "author": "alice"},
]
READS = ToolAnnotations(read_only_hint=True)


def tools(name: str, folder: Path) -> list[tuple[Callable[..., Any], ToolAnnotations | None]]:
    """The tools of the server with this name."""

    def read_file(path: Annotated[str, Field(description="path of the file")]) -> str:
        """Read the complete contents of a file."""
        return (folder / path).read_text("utf-8")

    def list_directory(path: Annotated[str, Field(description="path of the directory")] = ".") -> list[str]:
        """List the files and directories in a directory."""
        return sorted(one.name for one in (folder / path).iterdir())

    def list_commits(limit: int = 100) -> list[dict[str, str]]:
        """List the commits of a repository."""
        return COMMITS[:limit]

    def create_issue(repo: str, title: str, body: str) -> dict[str, str]:
        """Create an issue in a repository."""
        return {"repo": repo, "title": title, "body": body}

    def search_nodes(query: str) -> list[dict[str, str]]:
        """Search the nodes of the knowledge graph."""
        kept = folder / "entities.json"
        found: list[dict[str, str]] = json.loads(kept.read_text("utf-8")) if kept.exists() else []
        return [one for one in found if query in one["name"]]

    def create_entities(entities: list[dict[str, str]]) -> str:
        """Create entities in the knowledge graph."""
        (folder / "entities.json").write_text(json.dumps(entities), "utf-8")
        return "created"

    servers: dict[str, list[tuple[Callable[..., Any], ToolAnnotations | None]]] = {
        "filesystem": [(read_file, READS), (list_directory, READS)],
        "github": [(list_commits, READS), (create_issue, None)],
        "memory": [(search_nodes, READS), (create_entities, None)],
    }
    return servers[name]


def entry(name: str, folder: Path) -> dict[str, Any]:
    """How Loci starts the server."""
    here = Path(__file__).parents[2]
    args = ["-m", "tests.support.reference_servers", name, str(folder)]
    return {"command": sys.executable, "args": args, "cwd": str(here)}


def main() -> None:
    name, folder = sys.argv[1:]
    server = MCPServer(name, log_level="ERROR")
    for tool, annotations in tools(name, Path(folder)):
        server.add_tool(tool, annotations=annotations)
    server.run("stdio")


if __name__ == "__main__":
    main()
