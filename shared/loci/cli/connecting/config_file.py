"""A client's file of servers, changed in one place only: looked at, written whole or not at all, with a copy kept."""

import codecs
import stat
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast

from loci.cli.connecting import json_text, toml_text
from loci.cli.connecting.mcp_clients import McpClient
from loci.core.atomic_write import replace_file
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.json import Json, JsonObject

LARGEST: Final = 64 << 20
COPY: Final = ".before-loci"

T = TypeVar("T")


class Syntax(Protocol):
    """The changes to a text of one kind."""

    def with_entry(self, text: str, section: str, name: str, entry: JsonObject) -> str: ...
    def without_entry(self, text: str, section: str, name: str) -> str: ...
    def entry_in(self, text: str, section: str, name: str) -> Json: ...


@dataclass(frozen=True, slots=True)
class Change:
    """A change that can be made. `before` is None if there is no file yet."""

    file: Path
    before: bytes | None
    after: bytes

    @property
    def is_none(self) -> bool:
        return (self.before or b"") == self.after


def read_entry(client: McpClient, name: str) -> Json:
    """The entry of this name; None if there is none."""
    text = _text(client, _content(client.file) or b"")
    return _explained(client, lambda: _syntax(client).entry_in(text, client.section, name))


def connecting(client: McpClient, name: str, entry: JsonObject | None) -> Change:
    """The change that puts the entry into the file, or with None takes it out."""
    before = _content(client.file)
    text, syntax = _text(client, before or b""), _syntax(client)

    def changed() -> str:
        if entry is None:
            return syntax.without_entry(text, client.section, name)
        if syntax.entry_in(text, client.section, name) == entry:
            return text
        return syntax.with_entry(text, client.section, name, entry)

    after = _explained(client, changed)
    _check(client, text, after, name, entry)
    mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
    return Change(client.file, before, mark + after.encode())


def write(change: Change) -> Path | None:
    """Write it. Return the copy of the file as it was; None if there was none."""
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
    """Keep what is there, beside it. Copies of other contents stay."""
    names = (f"{file.name}{COPY}{f'-{number}' if number > 1 else ''}" for number in count(1))
    copy = next(one for one in map(file.with_name, names) if not one.exists() or one.read_bytes() == content)
    if not copy.exists():
        replace_file(copy, content)
    return copy


def _content(file: Path) -> bytes | None:
    try:
        found = file.stat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):  # a pipe or a device may never end
            raise Refused(f"{file} is no file", "Remove it, or change it yourself", code="BAD_CONFIGURATION")
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
    return json_text if client.syntax == "json" else toml_text


def _explained(client: McpClient, work: Callable[[], T]) -> T:
    try:
        return work()
    except LociError as error:
        problem = f"{client.file} cannot be changed: {error.what}"
        advice = f"Nothing was changed. {error.resolution}, and try again"
        raise Refused(problem, advice, code=error.code) from None


def _check(client: McpClient, before: str, after: str, name: str, entry: JsonObject | None) -> None:
    """Refuse a change whose outcome, read again, is not what it should be: nothing else may differ."""
    wanted = _read(client, before)
    held = wanted.get(client.section)
    if entry is not None:
        wanted[client.section] = {**(held if isinstance(held, dict) else {}), name: entry}
    elif isinstance(held, dict):
        held.pop(name, None)
    found = _explained(client, lambda: _read(client, after))
    if entry is None and client.syntax == "toml" and not held:
        wanted.pop(client.section, None)  # a table is where its last line is
        found.pop(client.section, None)
    if found != wanted:
        raise Refused(
            f"{client.file} is written in a way that Loci cannot change safely",
            f"Nothing was changed. Change [{client.section}] yourself",
            code="BAD_CONFIGURATION",
        )


def _read(client: McpClient, text: str) -> JsonObject:
    value = toml_text.read_toml(text) if client.syntax == "toml" else json_text.read_json(text)
    return cast("JsonObject", value) if isinstance(value, dict) else {"": value}
