"""The files in which other clients on this machine have their tool servers."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from loci.core.errors import Refused
from loci.gateway.configuration import LARGEST_FILE, entries_in, imported_name


def found_servers(files: Sequence[str] | None) -> tuple[list[tuple[str, object, str]], list[str]]:
    """The servers in these files, or in the files of known clients, each as name, entry and place; and where are none.

    The first of a name counts. An equal one is passed over.
    """
    found: dict[str, object] = {}
    servers: list[tuple[str, object, str]] = []
    nowhere: list[str] = []
    for path in [Path(one).expanduser() for one in files] if files else client_files():
        of_file = _servers_of(path, is_named=bool(files))
        if not of_file:
            nowhere.append(f"{path}{'' if path.is_file() else ' (there is no such file)'}")
        for name, entry, place in of_file:
            name = imported_name(name)
            if name not in found or found[name] != entry:
                found.setdefault(name, entry)
                servers.append((name, entry, place))
    return servers, nowhere


def _servers_of(path: Path, *, is_named: bool) -> list[tuple[str, object, str]]:
    """The servers in a file. Raises `Refused` if the person named it, and it has none."""
    if not is_named and not path.is_file():
        return []
    text = _read(path)
    of_projects = [*_project_servers(text)]
    try:
        return [*((name, entry, str(path)) for name, entry in entries_in(text, str(path)).items()), *of_projects]
    except Refused:
        if is_named and not of_projects:
            raise
        return of_projects


def _project_servers(text: str) -> Iterator[tuple[str, object, str]]:
    """The servers of single projects in the file of Claude Code, and those of projects that the person enabled there.

    Other servers in a project's `.mcp.json` may have come with its repository: nobody has allowed them.
    """
    with suppress(ValueError):
        projects = _mapping(_mapping(json.loads(text)).get("projects"))
        for folder, told in projects.items():
            facts = _mapping(told)
            for name, entry in _mapping(facts.get("mcpServers")).items():
                yield name, _in_folder(entry, folder), folder
            shared, enabled = Path(folder) / ".mcp.json", facts.get("enabledMcpjsonServers")
            if isinstance(enabled, list) and enabled and shared.is_file():
                with suppress(Refused):
                    for name, entry in entries_in(_read(shared), str(shared)).items():
                        if name in enabled:
                            yield name, _in_folder(entry, folder), str(shared)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _in_folder(entry: object, folder: str) -> object:
    """The entry of a project. Its program runs in the folder of the project."""
    fields = _mapping(entry)
    return {"cwd": folder, **fields} if "command" in fields else entry


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
