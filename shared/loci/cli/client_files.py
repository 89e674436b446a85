"""The files in which other clients on this machine have their tool servers."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from loci.core.errors import Refused
from loci.gateway.configuration import LARGEST_FILE, entries_in, imported_name


def servers_in(files: Sequence[str] | None) -> Iterator[tuple[str, object, str]]:
    """The servers in these files, or in the files of known clients: name, entry, file. The first of a name counts."""
    seen: set[str] = set()
    for path in (
        [Path(one).expanduser() for one in files] if files else [one for one in client_files() if one.is_file()]
    ):
        text = _read(path)
        try:
            found = entries_in(text, str(path))
        except Refused:
            if files:
                raise
            continue  # a client's file without servers
        for name, entry in found.items():
            name = imported_name(name)
            if name not in seen:
                seen.add(name)
                yield name, entry, str(path)


def client_files() -> list[Path]:
    """The files of Claude Desktop, Claude Code, Cursor, Windsurf and VS Code: in this folder, and of this person."""
    here = Path.cwd()
    return [here / ".mcp.json", here / ".cursor" / "mcp.json", here / ".vscode" / "mcp.json", *own_files().values()]


def own_files() -> dict[str, Path]:
    """The file of each client in which it keeps the servers of this person."""
    home, programs = Path.home(), programs_folder()
    return {
        "claude-desktop": programs / "Claude" / "claude_desktop_config.json",
        "claude-code": Path(os.environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json",
        "cursor": home / ".cursor" / "mcp.json",
        "windsurf": home / ".codeium" / "windsurf" / "mcp_config.json",
        "vscode": programs / "Code" / "User" / "mcp.json",
    }


def programs_folder() -> Path:
    """The folder in which programs of this system keep the settings of this person."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Refused(f"{path} is larger than 1 MB", "Give a smaller file", code="BAD_CONFIGURATION")
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read ({error})", "Check the path", code="BAD_CONFIGURATION") from None
