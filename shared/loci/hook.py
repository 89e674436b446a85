"""`loci hook`: answers the hooks of coding clients. It asks the running server, and says nothing if it cannot.

Clients wait for it at each prompt. So it imports nothing of Loci that takes time, and always ends with 0.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPSConnection
from socket import socket
from typing import TypeVar, cast
from urllib.parse import SplitResult, urlsplit

T = TypeVar("T")
Told = dict[str, object]
"""The JSON of a client."""
START, PROMPT, COMPACT, END = "session-start", "user-prompt", "pre-compact", "session-end"
EVENTS = (START, PROMPT, COMPACT, END)
SECONDS = {START: 2.0, PROMPT: 0.08, COMPACT: 1.0, END: 1.0}
"""The longest time that the server may take to answer."""
READ_SECONDS, WRITE_SECONDS = 5.0, 1.0
NAMES = {START: "SessionStart", PROMPT: "UserPromptSubmit"}
"""The events by the names that Claude Code and Codex have for them."""
LONGEST = 4000
"""Characters of a prompt, a path or a name that are used."""
LARGEST = 1 << 20
"""Bytes of an answer, and of a client's JSON."""
ADDRESS_FILE = "hook.json"
"""In the data folder: the server that hooks ask, with its key."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def run(arguments: list[str]) -> None:
    """Answer the event, and end the process: without an answer if it is late or anything fails."""
    threading.excepthook = lambda _, /: None
    event, options = arguments[0], dict(zip(arguments[1::2], arguments[2::2], strict=False))
    told = _within(READ_SECONDS, _read)
    if told is not None:
        text = _within(SECONDS[event], lambda: _ask(event, told, _data_folder(options)))
        if text:
            _within(WRITE_SECONDS, lambda: os.write(1, _reply(event, told, text)))
    os._exit(0)


def _within(seconds: float, work: Callable[[], T]) -> T | None:
    """The outcome of the work; None if it fails, or takes longer."""
    done: list[T] = []
    worker = threading.Thread(target=lambda: done.append(work()), daemon=True)
    worker.start()
    worker.join(seconds)
    return done[0] if done else None


def _read() -> Told:
    """The client's JSON."""
    told: object = json.loads(sys.stdin.buffer.read(LARGEST))
    if not isinstance(told, dict):
        raise TypeError
    return cast("Told", told)


def _reply(event: str, told: Told, text: str) -> bytes:
    """The JSON in which the client takes a text for the model."""
    if "cursor_version" in told or "workspace_roots" in told:  # only Cursor sends these
        return json.dumps({"additional_context": text}).encode()
    name = told.get("hook_event_name")
    specific = {"hookEventName": name if isinstance(name, str) else NAMES[event], "additionalContext": text}
    return json.dumps({"hookSpecificOutput": specific}).encode()


def _ask(event: str, told: Told, data: str) -> str | None:
    """The server's text for the model."""
    if event == START and told.get("source") == "resume":  # the model has read it already
        return None
    url, key = _address(data)
    is_here = url.hostname in LOOPBACK
    if url.scheme != "https" and not is_here:
        return None
    connect = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = connect(url.hostname or "", url.port, timeout=SECONDS[event])
    about = _place(_folder(told), is_here) if event == START else _said(told, "prompt")
    if event in (COMPACT, END):
        about = _said(told, "transcript_path") if is_here else {}
        if not about:
            return None
    body = {"event": event, **about}
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    path = url.path.rstrip("/").partition("/mcp")[0] + "/hooks"
    connection.request("POST", path, json.dumps(body), headers)
    end = connection.sock  # an answer may close the connection
    response = connection.getresponse()
    if response.status != 200 or (is_here and _is_anothers(end, bool(key))):
        return None
    text: object = json.loads(response.read(LARGEST))["text"]
    return text if isinstance(text, str) else None


def _is_anothers(end: socket, has_key: bool) -> bool:
    """True if another user of this machine answers at the port. Servers in containers are unseen: they need keys."""
    from loci.mcp.http.peer import peer_at  # small, and the only module of Loci that is needed

    peer = peer_at(end)
    return peer == "other" or (peer == "unseen" and not has_key)


def _said(told: Told, name: str) -> Told:
    """The field, if it is a text."""
    text = told.get(name)
    return {name: text[:LONGEST]} if isinstance(text, str) else {}


def _folder(told: Told) -> str:
    """The folder in which the client works."""
    roots = told.get("workspace_roots")
    first = cast("list[object]", roots)[0] if isinstance(roots, list) and roots else None
    folder = told.get("cwd") or first
    return folder[:LONGEST] if isinstance(folder, str) else ""


def _place(folder: str, is_here: bool) -> Told:
    """The repository around the folder: its name at its remote, its branch, and for a server here its path."""
    top = folder
    while top != os.path.dirname(top) and not os.path.exists(os.path.join(top, ".git")):
        top = os.path.dirname(top)
    git = os.path.join(top, ".git")
    is_repository = os.path.exists(git)
    top = top if is_repository else folder
    names = {"name": os.path.basename(top), "remote": "", "branch": ""}
    if os.path.isfile(git):  # of a linked work tree
        git = os.path.join(top, _line(git).removeprefix("gitdir:").strip())
    names["branch"] = _line(os.path.join(git, "HEAD")).rpartition("refs/heads/")[2]
    common = os.path.join(git, _line(os.path.join(git, "commondir")))
    lines = _lines(os.path.join(common, "config"))
    if '[remote "origin"]' in lines:
        fields = [one.partition("=") for one in lines[lines.index('[remote "origin"]') :]]
        url = next((value.strip() for field, _, value in fields if field.strip() == "url"), "")
        names["remote"] = url.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2]
    return {**names, "folder": top if is_here else "", "is_repository": is_repository}


def _line(file: str) -> str:
    return next(iter(_lines(file)), "")


def _lines(file: str) -> list[str]:
    """The lines of a small file; none if it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return [line.strip() for line in opened.read(LARGEST).splitlines()]
    except OSError:
        return []


def _address(data: str) -> tuple[SplitResult, str | None]:
    """The server and the key: those of the environment, else those that `loci connect --hooks` noted."""
    noted = cast("dict[str, str]", json.loads(_line(os.path.join(data, ADDRESS_FILE)) or "{}"))
    default = f"http://127.0.0.1:{os.environ.get('LOCI_PORT') or 8765}"
    url = os.environ.get("LOCI_URL") or noted.get("url") or default
    key = os.environ.get("LOCI_KEY") or (noted.get("key") if url == noted.get("url") else None)
    return urlsplit(url), key


def _data_folder(options: dict[str, str]) -> str:
    """The data folder, as the settings have it."""
    given = options.get("--data") or os.environ.get("LOCI_DATA")
    if given:
        return os.path.expanduser(given)
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local"), "loci")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/loci")
    return os.path.join(os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "loci")
