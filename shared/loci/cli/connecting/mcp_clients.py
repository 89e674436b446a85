"""The clients that `loci connect` knows: where each keeps its servers, and how it writes one of them."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loci.core.errors import Refused
from loci.core.json import JsonObject
from loci.gateway.client_files import own_files, programs_folder


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program with a file of servers."""

    name: str
    title: str
    file: Path
    section: str = "mcpServers"
    url: str | None = "url"
    """Its name for the address of an endpoint. None: the file holds only servers that the client starts itself."""
    headers: str = "headers"
    has_type: bool = False
    """True: an entry says the kind of its connection."""
    program: str | None = None
    """Its command. A client whose file is not there yet is known by it, or by the file's folder."""
    syntax: Literal["json", "toml"] = "json"

    @property
    def is_here(self) -> bool:
        has_folder = self.file.parent not in (Path.home(), programs_folder()) and self.file.parent.is_dir()
        return self.file.is_file() or has_folder or bool(self.program and shutil.which(self.program))

    def started(self, command: str, args: Sequence[str]) -> JsonObject:
        """The entry of a server that the client starts."""
        return {**({"type": "stdio"} if self.has_type else {}), "command": command, "args": [*args]}

    def reached(self, url: str, key: str | None) -> JsonObject:
        """The entry of an endpoint. Without a key the client signs in, if the endpoint asks it to."""
        if self.url is None:
            raise Refused(
                f"{self.title}'s file holds only servers that it starts itself",
                f"Add {url} in Claude's settings, under Connectors; or leave out --url to use this machine's Loci",
                code="NOT_IN_THIS_FILE",
            )
        headers: JsonObject = {self.headers: {"Authorization": f"Bearer {key}"}} if key else {}
        return {**({"type": "http"} if self.has_type else {}), self.url: url, **headers}


def mcp_clients() -> tuple[McpClient, ...]:
    """All of them, with the files of the person who uses this machine."""
    home, own = Path.home(), own_files()
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
    is_windows = sys.platform == "win32"
    settings = programs_folder() if is_windows else Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    zed = settings / ("Zed" if is_windows else "zed") / "settings.json"
    return (
        McpClient("claude-code", "Claude Code", own["claude-code"], has_type=True, program="claude"),
        McpClient("claude-desktop", "Claude Desktop", own["claude-desktop"], url=None),
        McpClient("cursor", "Cursor", own["cursor"]),
        McpClient("vscode", "VS Code", own["vscode"], "servers", has_type=True),
        McpClient("codex", "Codex", codex, "mcp_servers", headers="http_headers", program="codex", syntax="toml"),
        McpClient("gemini", "Gemini CLI", home / ".gemini" / "settings.json", url="httpUrl", program="gemini"),
        McpClient("windsurf", "Windsurf", own["windsurf"], url="serverUrl"),
        McpClient("zed", "Zed", zed, "context_servers", program="zed"),
    )
