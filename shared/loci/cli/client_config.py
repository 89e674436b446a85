"""The MCP clients that `loci connect` knows, and the edit of one entry in the file where a client keeps its servers."""

import codecs
import os
import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar, cast

from loci.cli import json_edits, toml_edits
from loci.cli.client_files import own_files, programs_folder
from loci.core.atomic_write import replace_file
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.json import Json, JsonObject

LARGEST: Final = 64 << 20
COPY: Final = ".before-loci"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program with a file of servers."""

    name: str
    title: str
    file: Path
    section: str = "mcpServers"
    url: str | None = "url"
    """The key of an endpoint's URL. None: the file holds only servers that the client starts itself."""
    headers: str = "headers"
    has_type: bool = False
    """True: an entry has a `type`, the kind of its connection."""
    program: str | None = None
    """The client's command. If the file is missing, the client is found by this command or by the file's folder."""
    syntax: Literal["json", "toml"] = "json"

    @property
    def is_here(self) -> bool:
        has_folder = self.file.parent not in (Path.home(), programs_folder()) and self.file.parent.is_dir()
        return self.file.is_file() or has_folder or bool(self.program and shutil.which(self.program))

    def command_entry(self, command: str, args: Sequence[str]) -> JsonObject:
        """The entry for a server that the client starts."""
        return {**({"type": "stdio"} if self.has_type else {}), "command": command, "args": [*args]}

    def url_entry(self, url: str, key: str | None) -> JsonObject:
        """The entry for an endpoint. Without a key, the client signs in if the endpoint asks for it."""
        if self.url is None:
            raise Refused(
                f"{self.title}'s file holds only servers that it starts itself",
                f"Add {url} in Claude's settings, under Connectors; or leave out --url to use this machine's Loci",
                code="NOT_IN_THIS_FILE",
            )
        headers: JsonObject = {self.headers: {"Authorization": f"Bearer {key}"}} if key else {}
        return {**({"type": "http"} if self.has_type else {}), self.url: url, **headers}


def mcp_clients() -> tuple[McpClient, ...]:
    """All known clients, with the files of this user."""
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


class Syntax(Protocol):
    """The edits of a text in one format."""

    def with_entry(self, text: str, section: str, name: str, entry: JsonObject) -> str: ...
    def without_entry(self, text: str, section: str, name: str) -> str: ...
    def entry_in(self, text: str, section: str, name: str) -> Json: ...


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A change of a client's file that is not written yet. `before` is None if there is no file."""

    file: Path
    before: bytes | None
    after: bytes

    @property
    def is_none(self) -> bool:
        return (self.before or b"") == self.after


def read_entry(client: McpClient, name: str) -> Json:
    """The entry with this name in the client's file, or None."""
    text = _text(client, _content(client.file) or b"")
    return _naming_file(client, lambda: _syntax(client).entry_in(text, client.section, name))


def plan_change(client: McpClient, name: str, entry: JsonObject | None) -> ConfigChange:
    """The change that puts the entry into the file. Without an entry, it removes the one that is there."""
    syntax = _syntax(client)

    def changed(text: str) -> str:
        if entry is None:
            return syntax.without_entry(text, client.section, name)
        if syntax.entry_in(text, client.section, name) == entry:
            return text
        return syntax.with_entry(text, client.section, name, entry)

    return planned(client, changed, lambda before, after: _is_changed_so(client, before, after, name, entry))


def planned(
    client: McpClient, edit: Callable[[str], str], is_right: Callable[[JsonObject, JsonObject], bool]
) -> ConfigChange:
    """The change of the client's file by an edit of its text. `Refused` if what comes of it is not right."""
    before = _content(client.file)
    text = _text(client, before or b"")
    after = _naming_file(client, lambda: edit(text))
    if not is_right(_read(client, text), _naming_file(client, lambda: _read(client, after))):
        raise Refused(
            f"{client.file} is written in a way that Loci cannot change safely",
            f"Nothing was changed. Change [{client.section}] yourself",
            code="BAD_CONFIGURATION",
        )
    mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
    return ConfigChange(client.file, before, mark + after.encode())


def write(change: ConfigChange) -> Path | None:
    """Write the whole change or nothing. Return the copy of the old file; None if there was no file."""
    file = change.file.resolve()  # a link stays a link
    if change.before is not None and not file.stat().st_mode & 0o222:
        raise Refused(f"{file} is read-only", "Make it writable, or change it yourself", code="READ_ONLY")
    if _content(file) != change.before:
        raise Refused(f"{file} has changed meanwhile", "Run the command again", code="CHANGED_MEANWHILE")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        copy = None if change.before is None else _copy(file, change.before)
        mode = 0o600 if change.before is None else file.stat().st_mode & 0o777
        replace_file(file, change.after, mode=mode)
    except OSError as error:
        raise Unavailable(f"{file} cannot be written ({error.strerror})", "Check the folder's permissions") from None
    return copy


def _copy(file: Path, content: bytes) -> Path:
    """Keep a copy of the file beside it. Copies of other contents stay."""
    names = (f"{file.name}{COPY}{f'-{number}' if number > 1 else ''}" for number in count(1))
    copy = next(one for one in map(file.with_name, names) if not one.exists() or one.read_bytes() == content)
    if not copy.exists():
        replace_file(copy, content)
    return copy


def _content(file: Path) -> bytes | None:
    try:
        found = file.stat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):  # a pipe or a device may never end
            raise Refused(f"{file} is not a file", "Remove it, or change it yourself", code="BAD_CONFIGURATION")
        if found.st_size > LARGEST:
            raise Refused(f"{file} is larger than {LARGEST >> 20} MB", "Change it yourself", code="BAD_CONFIGURATION")
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{file} cannot be read ({error.strerror})", "Check the path and its permissions") from None


def _text(client: McpClient, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = f"{client.file} is not in UTF-8"
        raise Refused(problem, f"Save it in UTF-8, as {client.title} needs it", code="BAD_CONFIGURATION") from None


def _syntax(client: McpClient) -> Syntax:
    return json_edits if client.syntax == "json" else toml_edits


def _naming_file(client: McpClient, work: Callable[[], T]) -> T:
    """Do the work. An error names the client's file."""
    try:
        return work()
    except LociError as error:
        problem = f"{client.file} cannot be changed: {error.what}"
        advice = f"Nothing was changed. {error.resolution}, and try again"
        raise Refused(problem, advice, code=error.code) from None


def _is_changed_so(
    client: McpClient, wanted: JsonObject, found: JsonObject, name: str, entry: JsonObject | None
) -> bool:
    """True if the outcome of a change differs in nothing but the entry from what there was."""
    held = wanted.get(client.section)
    if entry is not None:
        wanted[client.section] = {**(held if isinstance(held, dict) else {}), name: entry}
    elif isinstance(held, dict):
        held.pop(name, None)
    if entry is None and client.syntax == "toml" and not held:
        wanted.pop(client.section, None)  # an empty table stays or goes with its last line
        found.pop(client.section, None)
    return found == wanted


def _read(client: McpClient, text: str) -> JsonObject:
    value = toml_edits.read_toml(text) if client.syntax == "toml" else json_edits.read_json(text)
    return cast("JsonObject", value) if isinstance(value, dict) else {"": value}
