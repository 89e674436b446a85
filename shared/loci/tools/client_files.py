"""The files in which other clients on this machine have their tool servers."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from loci.core.errors import Refused
from loci.tools.configuration import LARGEST_FILE, entries_in, imported_name


def servers_in(files: Sequence[str] | None) -> Iterator[tuple[str, object, str]]:
    """Each server of these files, or of those that clients have: name, entry, file. The first of a name counts."""
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
    """The files of Claude Desktop, Claude Code, Cursor, Windsurf and VS Code: those here, and those of this person."""
    home, here, programs = Path.home(), Path.cwd(), programs_folder()
    return [
        here / ".mcp.json",
        here / ".cursor" / "mcp.json",
        here / ".vscode" / "mcp.json",
        programs / "Claude" / "claude_desktop_config.json",
        claude_code_file(),
        home / ".cursor" / "mcp.json",
        home / ".codeium" / "windsurf" / "mcp_config.json",
        programs / "Code" / "User" / "mcp.json",
    ]


def claude_code_file() -> Path:
    """The file in which Claude Code keeps what belongs to this person: in its own folder, if one is named."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home()) / ".claude.json"


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
