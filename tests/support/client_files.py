"""`loci connect` in this process, in a home of its own, and the files that clients have there."""

import io
import os
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from loci.cli.json_edits import read_json
from loci.cli.main import cli, main
from tests.support.serving import clean_environment

URL, KEY = "https://loci.example.com/mcp", "loci_secret"
BEARER = {"Authorization": f"Bearer {KEY}"}
CLAUDE_CODE, DESKTOP = ".claude.json", ".config/Claude/claude_desktop_config.json"
CURSOR, VSCODE, CODEX = ".cursor/mcp.json", ".config/Code/User/mcp.json", ".codex/config.toml"
GEMINI, WINDSURF, ZED = ".gemini/settings.json", ".codeium/windsurf/mcp_config.json", ".config/zed/settings.json"
FILES = {
    "claude-code": (CLAUDE_CODE, "mcpServers", {"type": "http", "url": URL, "headers": BEARER}),
    "cursor": (CURSOR, "mcpServers", {"url": URL, "headers": BEARER}),
    "vscode": (VSCODE, "servers", {"type": "http", "url": URL, "headers": BEARER}),
    "codex": (CODEX, "mcp_servers", {"url": URL, "http_headers": BEARER}),
    "gemini": (GEMINI, "mcpServers", {"httpUrl": URL, "headers": BEARER}),
    "windsurf": (WINDSURF, "mcpServers", {"serverUrl": URL, "headers": BEARER}),
    "zed": (ZED, "context_servers", {"url": URL, "headers": BEARER}),
}
STARTED = {
    **{name: (file, section) for name, (file, section, _) in FILES.items()},
    "claude-desktop": (DESKTOP, "mcpServers"),
}


COMMAND = typer.main.get_command(cli)
"""Made once: it is most of a command's time."""


class Ended:
    """A command that has ended."""

    def __init__(self, home: Path, *arguments: str, **more: str) -> None:
        own = {"HOME": str(home), "PATH": "/usr/bin:/bin", **dict.fromkeys(FOLDERS, "")}
        out, err, self.returncode = io.StringIO(), io.StringIO(), 0
        with (
            patch.dict(os.environ, clean_environment(home / "data") | own | more, clear=True),
            patch("loci.cli.main.cli", COMMAND),
            patch.object(sys, "argv", ["loci", "connect", *arguments]),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as ended:
                self.returncode = int(ended.code or 0)
        self.stdout, self.stderr = out.getvalue(), err.getvalue()


FOLDERS = ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR")
"""Variables that name a client's folder."""
connect = Ended


def connected(home: Path, *arguments: str, **more: str) -> str:
    """What the command says that has written a file."""
    ended = connect(home, *arguments, "--yes", **more)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def put(home: Path, file: str, content: str | bytes) -> Path:
    """A client's file with this content."""
    path = home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path) -> dict[str, Any]:
    """The value in a client's file."""
    text = path.read_bytes().decode("utf-8-sig")
    value: Any = tomllib.loads(text) if path.suffix == ".toml" else read_json(text)
    return value
