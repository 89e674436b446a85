"""The hooks of clients, and their edit in the file where a client keeps them: only Loci's own are added and removed."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from loci.cli import json_edits
from loci.cli.client_config import ConfigChange, McpClient, planned
from loci.core.atomic_write import replace_file
from loci.core.errors import Refused
from loci.core.json import Json, JsonObject
from loci.hook import ADDRESS_FILE, COMPACT, END, PROMPT, START

PROGRAM: Final = re.compile(r"\bloci\b")
EVENT: Final = re.compile(rf"\bhook ({START}|{PROMPT}|{COMPACT}|{END})\b")
SECTION: Final = "hooks"
SECONDS: Final = 10
"""The time that a client gives a hook. Loci's are done long before."""


@dataclass(frozen=True, slots=True)
class HookClient:
    """A client with hooks in a file."""

    client: McpClient
    events: Mapping[str, str]
    """The client's name of an event, and Loci's."""
    is_grouped: bool = True
    """True: an item of a list is a group of hooks."""
    in_milliseconds: bool = False

    def item(self, command: str) -> JsonObject:
        """The hook with this command, as the client's file has it."""
        if not self.is_grouped:
            return {"command": command}
        seconds = SECONDS * 1000 if self.in_milliseconds else SECONDS
        return {"hooks": [{"type": "command", "command": command, "timeout": seconds}]}


def hook_clients() -> tuple[HookClient, ...]:
    """The clients whose hooks Loci writes. The plugin brings those of Claude Code."""
    home = Path.home()
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex") / "hooks.json"
    gemini = home / ".gemini" / "settings.json"

    def of(name: str, title: str, file: Path, program: str | None = None) -> McpClient:
        return McpClient(name, title, file, SECTION, program=program)

    start = {"SessionStart": START}
    return (
        # Codex has no event at a session's end: the file of the session is read at the next start.
        HookClient(of("codex", "Codex", codex, "codex"), {**start, "UserPromptSubmit": PROMPT, "PreCompact": COMPACT}),
        HookClient(
            of("gemini", "Gemini CLI", gemini, "gemini"),
            {**start, "BeforeAgent": PROMPT, "PreCompress": COMPACT, "SessionEnd": END},
            in_milliseconds=True,
        ),
        # What a hook of Cursor says about a prompt does not reach the model.
        HookClient(
            of("cursor", "Cursor", home / ".cursor" / "hooks.json"),
            {"sessionStart": START, "preCompact": COMPACT, "sessionEnd": END},
            is_grouped=False,
        ),
    )


def has_hooks(hooks: HookClient) -> bool:
    """True if the client's file has a hook of Loci."""
    return not plan_hooks(hooks, None).is_none


def plan_hooks(hooks: HookClient, command: Sequence[str] | None) -> ConfigChange:
    """The change that puts the hooks into the client's file, each with its event behind the command.

    Without a command it removes them.
    """
    wanted = {theirs: hooks.item(_joined(command, ours)) for theirs, ours in hooks.events.items()} if command else {}

    def changed(text: str) -> str:
        held = json_edits.read_json(text)
        if wanted and hooks.client.name == "cursor" and isinstance(held, dict) and "version" not in held:
            text = json_edits.with_member(text, "version", 1)
        for event in {**wanted, **_events(held)}:
            if _own(held, event) != ([wanted[event]] if event in wanted else []):
                text = json_edits.without_items(text, SECTION, event, _is_own)
                text = json_edits.with_item(text, SECTION, event, wanted[event]) if event in wanted else text
        return text

    def is_right(before: JsonObject, after: JsonObject) -> bool:
        own = {event: items for event in _events(after) if (items := _own(after, event))}
        return _foreign(before) == _foreign(after) and own == {event: [item] for event, item in wanted.items()}

    return planned(hooks.client, changed, is_right)


def note_address(data: Path, url: str, key: str | None) -> None:
    """Note the server that hooks ask, and its key, where only this user reads it."""
    data.mkdir(parents=True, exist_ok=True)
    told = {"url": url, **({"key": key} if key else {})}
    replace_file(data / ADDRESS_FILE, json.dumps(told).encode() + b"\n", mode=0o600)


def forget_address(data: Path) -> None:
    """Remove the note, if no client has hooks any more."""
    if not any(map(has_hooks, hook_clients())):
        (data / ADDRESS_FILE).unlink(missing_ok=True)


def _joined(command: Sequence[str], event: str) -> str:
    """The command line. The options of the command stand behind the event."""
    at = [*command].index("hook") + 1
    words = [*command[:at], event, *command[at:]]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def _is_own(item: Json) -> bool:
    """True if an item of a list of hooks holds nothing but hooks of Loci."""
    if not isinstance(item, dict):
        return False
    inner = item.get("hooks", [item])
    every = cast("list[Json]", inner) if isinstance(inner, list) else []
    commands = [one.get("command") if isinstance(one, dict) else None for one in every]
    return bool(commands) and all(isinstance(one, str) and _is_of_loci(one) for one in commands)


def _is_of_loci(command: str) -> bool:
    program = PROGRAM.search(command)
    return program is not None and EVENT.search(command, program.end()) is not None


def _events(held: Json) -> dict[str, Json]:
    hooks = held.get(SECTION) if isinstance(held, dict) else None
    return hooks if isinstance(hooks, dict) else {}


def _own(held: Json, event: str) -> list[Json]:
    """The hooks of Loci for this event of the client."""
    items = _events(held).get(event)
    return [one for one in items if _is_own(one)] if isinstance(items, list) else []


def _foreign(held: JsonObject) -> JsonObject:
    """All that is not Loci's."""
    hooks = {
        event: [one for one in value if not _is_own(one)] if isinstance(value, list) else value
        for event, value in _events(held).items()
    }
    kept = {event: value for event, value in hooks.items() if value != []}
    rest = {name: value for name, value in held.items() if name not in (SECTION, "version")}
    return {**rest, **({"version": held["version"]} if held.get("version", 1) != 1 else {}), SECTION: kept}


def hooks_of(name: str) -> HookClient:
    """The client with that name. `Refused` if Loci writes no hooks for it."""
    for one in hook_clients():
        if one.client.name == name:
            return one
    advice = f"Choose one of {', '.join(one.client.name for one in hook_clients())}"
    if name == "claude-code":
        advice = "Its plugin brings them: claude plugin install loci@loci"
    raise Refused(f"Loci writes no hooks for {name}", advice, code="NO_HOOKS")
