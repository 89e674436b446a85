"""A tool server that releases: `python -m tests.servers.upstream.release JOURNAL`. It writes down what it deploys."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field


class Build(BaseModel):
    version: Annotated[str, Field(description="such as 1.4.0")]
    tests_passed: bool


class Deployed(BaseModel):
    deployed: str


def latest_build() -> Build:
    """Get the latest build: its new version, and whether its tests passed."""
    return Build(version="1.4.0", tests_passed=True)


def deploy_version(version: str, environment: Literal["staging", "production"]) -> Deployed:
    """Deploy a version of the product to an environment."""
    with Path(sys.argv[1]).open("a") as journal:
        journal.write(f"{version} to {environment}\n")
    return Deployed(deployed=version)


def parse_xml(path: Annotated[str, Field(description="of the XML file")]) -> dict[str, str]:
    """Parse an XML file."""
    with Path(sys.argv[1]).open("a") as journal:
        journal.write(f"parsed {path}\n")
    return {"root": Path(path).stem}


def main() -> None:
    server = MCPServer("release", log_level="ERROR")
    server.add_tool(latest_build, annotations=ToolAnnotations(read_only_hint=True))
    server.add_tool(deploy_version, annotations=ToolAnnotations(read_only_hint=False))
    server.add_tool(parse_xml, annotations=ToolAnnotations(read_only_hint=True))
    server.run("stdio")


if __name__ == "__main__":
    main()
