"""The use of a tool in a session: a command, a change of files, a plan, or something that brings in texts of others."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from loci.core.json import Json, JsonObject

Kind = Literal["command", "change", "read", "plan", "question", "other"]
NAMES: Final[dict[Kind, str]] = {
    "command": "bash shell shellcommand execcommand localshell runshellcommand runterminalcmd runterminalcommand",
    "change": "edit multiedit write writefile replace notebookedit applypatch editfile searchreplace strreplace delete"
    " deletefile createfile editnotebook",
    "read": "read readfile readmanyfiles grep grepsearch ripgrep searchfilecontent glob globfilesearch ls listdirectory"
    " listdir codebasesearch filesearch semanticsearch viewimage readlints",
    "plan": "todowrite writetodos updateplan taskcreate taskupdate exitplanmode",
    "question": "askuserquestion askuser askquestion requestuserinput",
    "other": "bashoutput killshell killbash taskstop taskoutput tasklist taskget enterplanmode toolsearch skill"
    " slashcommand savememory writestdin schedulewakeup",
}
KINDS: Final[dict[str, Kind]] = {name: kind for kind, names in NAMES.items() for name in names.split()}
"""The tools of the clients themselves, without `_` and in lower case. Any other brings in texts of others."""
PATHS: Final = (
    "file_path",
    "path",
    "target_file",
    "notebook_path",
    "absolute_path",
    "dir_path",
    "relative_workspace_path",
)
PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
REACHES_OUT: Final = re.compile(
    r"(?<![\w./-])(?:curl|wget|gh|glab|lynx|w3m|ssh|scp|rsync|aria2c|xh|nc)\s"
    r"|\b(?:https?|ftp)://(?!localhost\b|127\.|\[::1\])",
    re.IGNORECASE,
)
HERE: Final = re.compile(r"\b(?:https?://)?(?:localhost|127\.0\.0\.1)\b")
LONGEST_COMMAND: Final = 1_000
"""Characters of a command that are searched for commits."""
COMMIT: Final = re.compile(r"\bgit\b[^\n|;&]*\bcommit\b[^\n]*?\s(?:-[a-z]*m|--message)[ =]?\s*([\"'])(.+?)(?:\1|\n|$)")
HEREDOC: Final = re.compile(r"\bgit\b[^\n]*\bcommit\b[^\n]*<<-?\s*['\"]?\w+['\"]?\n\s*(\S[^\n]*)")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One use of a tool."""

    name: str
    kind: Kind
    what: str = ""
    """A command, a path, an address or a question."""
    is_foreign: bool = False
    """True if its result may be of others: a page, another server's tool, a file outside the working directory."""
    paths: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    plan: tuple[tuple[str, str, bool], ...] = ()
    """The steps of a plan: a key (empty: the next number), the text, and True if it is done."""
    replaces_plan: bool = False
    plan_text: str = ""

    @property
    def is_shown(self) -> bool:
        """True if a reader of the session wants to see it."""
        return bool(self.what) and (self.kind in ("command", "change") or self.is_foreign)

    @classmethod
    def of(cls, name: str, given: JsonObject, folder: str) -> "ToolUse":
        """The use of the tool of that name with these arguments, in that working directory."""
        kind = KINDS.get(name.lower().removesuffix("_v2").replace("_", "").replace("-", ""))
        if kind is None:
            asked = _first(given, "url", "query", "search_term", "prompt", "description", *PATHS)
            return cls(name, "other", asked or "used", is_foreign=True)
        match kind:
            case "command":
                command = _command(given)
                patched = tuple(PATCHED.findall(command))
                elsewhere = HERE.sub("", command)
                is_foreign = bool(REACHES_OUT.search(command)) and (elsewhere == command or "://" in elsewhere)
                begun = command[:LONGEST_COMMAND]
                commits = tuple(HEREDOC.findall(begun) or [message for _, message in COMMIT.findall(begun)])
                return cls(name, kind, command.strip().partition("\n")[0], is_foreign, patched, patched, commits)
            case "change":
                patch = _first(given, "input", "patch")
                changed = tuple(PATCHED.findall(patch)) or tuple(_paths(given))
                return cls(name, kind, ", ".join(changed), paths=changed, changed=changed)
            case "read":
                paths = tuple(_paths(given))
                is_outside = any(_is_outside(one, folder) for one in paths)
                return cls(name, kind, ", ".join(paths), is_outside, paths)
            case "plan":
                return _plan(name, given)
            case _:
                return cls(name, kind)


def _plan(name: str, given: JsonObject) -> ToolUse:
    if "TaskUpdate" in name or "TaskCreate" in name:
        key, status, text = _first(given, "taskId"), _first(given, "status"), _first(given, "subject")
        return ToolUse(name, "plan", plan=((key, text, status in ("completed", "deleted")),))
    steps = given.get("todos", given.get("plan"))
    plan: list[tuple[str, str, bool]] = []
    for number, one in enumerate(steps if isinstance(steps, list) else []):
        if isinstance(one, dict) and (text := _first(one, "content", "step", "description", "subject")):
            is_done = _first(one, "status").lower() in ("completed", "cancelled", "todo_status_completed")
            plan.append((str(number), text, is_done))
    text = given.get("plan")
    return ToolUse(
        name, "plan", plan=tuple(plan), replaces_plan=bool(plan), plan_text=text if isinstance(text, str) else ""
    )


def _command(given: JsonObject) -> str:
    command: Json = next((given[one] for one in ("command", "cmd", "script") if given.get(one)), "")
    if isinstance(command, dict):
        command = command.get("command", "")
    if isinstance(command, list):
        words = [one for one in command if isinstance(one, str)]
        return words[-1] if words[:1] in (["bash"], ["sh"], ["zsh"]) and len(words) == 3 else " ".join(words)
    return command if isinstance(command, str) else ""


def _paths(given: JsonObject) -> Iterator[str]:
    for name in (*PATHS, "relativeWorkspacePath", "targetFile"):
        value = given.get(name)
        if isinstance(value, str) and value:
            yield value
    yield from _texts(given.get("paths"))


def _texts(values: Json) -> Iterable[str]:
    return (one for one in values if isinstance(one, str)) if isinstance(values, list) else ()


def _is_outside(path: str, folder: str) -> bool:
    """True if the path does not lie in the working directory. If that is not known, only a relative path does."""
    if not path.startswith(("/", "~")) and not re.match(r"[A-Za-z]:[\\/]", path):
        return posixpath.normpath(path).startswith("..")
    return not folder or not f"{posixpath.normpath(path)}/".startswith(f"{folder.rstrip('/')}/")


def _first(given: JsonObject, *names: str) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")
