"""The clients that `loci connect` knows: where each keeps its servers, and how it writes one of them."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from loci.core.errors import Refused
from loci.core.json import JsonObject
from loci.tools.client_files import claude_code_file, programs_folder


@dataclass(frozen=True, slots=True)
class Started:
    """Loci, as a command that the client starts."""

    command: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """Loci, as an endpoint that the client reaches. Without a key the client signs in, if the endpoint asks it to."""

    url: str
    key: str | None = None

    @property
    def headers(self) -> JsonObject:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


Server = Started | Reached


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program with a file of servers."""

    name: str
    title: str
    file: Path
    section: str
    entry: Callable[[Server], JsonObject]
    program: str | None = None
    """Its command. A client whose file is not there yet is known by it, or by the file's folder."""
    syntax: Literal["json", "toml"] = "json"

    @property
    def is_here(self) -> bool:
        has_folder = self.file.parent not in (Path.home(), programs_folder()) and self.file.parent.is_dir()
        return self.file.is_file() or has_folder or bool(self.program and shutil.which(self.program))


def mcp_clients() -> tuple[McpClient, ...]:
    """All of them, with the files of the person who uses this machine."""
    home, programs = Path.home(), programs_folder()
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    zed = programs if sys.platform == "win32" else Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    zed_file = zed / ("Zed" if sys.platform == "win32" else "zed") / "settings.json"
    desktop = programs / "Claude" / "claude_desktop_config.json"
    code = programs / "Code" / "User" / "mcp.json"
    windsurf = home / ".codeium" / "windsurf" / "mcp_config.json"
    return (
        McpClient("claude-code", "Claude Code", claude_code_file(), SERVERS, _typed, "claude"),
        McpClient("claude-desktop", "Claude Desktop", desktop, SERVERS, _started_only),
        McpClient("cursor", "Cursor", home / ".cursor" / "mcp.json", SERVERS, _by("url")),
        McpClient("vscode", "VS Code", code, "servers", _typed),
        McpClient("codex", "Codex", codex / "config.toml", "mcp_servers", _by("url", "http_headers"), "codex", "toml"),
        McpClient("gemini", "Gemini CLI", home / ".gemini" / "settings.json", SERVERS, _by("httpUrl"), "gemini"),
        McpClient("windsurf", "Windsurf", windsurf, SERVERS, _by("serverUrl")),
        McpClient("zed", "Zed", zed_file, "context_servers", _by("url"), "zed"),
    )


SERVERS: Final = "mcpServers"


def _typed(server: Server) -> JsonObject:
    """With the kind of its connection."""
    kind = "stdio" if isinstance(server, Started) else "http"
    return {"type": kind, **_by("url")(server)}


def _by(address: str, headers: str = "headers") -> Callable[[Server], JsonObject]:
    """With these names for an endpoint's address and headers."""

    def entry(server: Server) -> JsonObject:
        match server:
            case Started():
                return {"command": server.command, "args": [*server.args]}
            case Reached():
                return {address: server.url, **({headers: server.headers} if server.key else {})}

    return entry


def _started_only(server: Server) -> JsonObject:
    if isinstance(server, Reached):
        raise Refused(
            "Claude Desktop's file holds only servers that it starts itself",
            f"Add {server.url} in Claude's settings, under Connectors; or leave out --url to use this machine's Loci",
            code="NOT_IN_THIS_FILE",
        )
    return _by("url")(server)
