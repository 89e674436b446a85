"""The days on which texts were committed, read from git without a program, hook or server that a repository names."""

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Final, cast

SECONDS: Final = 20.0
"""The most that one call of git takes. What it has told until then counts."""
FRESH_SECONDS: Final = 1.0
"""Seconds until git is asked again which commit is the last one."""
MOST_FOLDERS: Final = 50
BLOCK: Final = 65_536
# The settings of the machine and of its user are not read. The keys of the repository itself that start a program or
# reach a server have no effect: with these, with the options of `log`, and because no protocol is allowed, so that a
# partial clone fetches nothing.
ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
}
SETTINGS: Final = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.pager=",
    "core.sshCommand=",
    "core.gitProxy=",
    "core.askPass=",
    "credential.helper=",
    "protocol.allow=never",
    "log.showRoot=true",
    "log.follow=false",
    "gpg.program=",
)
PLAIN_LOG: Final = (
    *("--raw", "-z", "--no-abbrev", "-M100%", "--relative", "--root", "--no-diff-merges", "--ignore-submodules=all"),
    *("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-notes", "--no-decorate", "--no-mailmap"),
    *("--no-color", "--format=@%ct %P"),
)


@dataclass(frozen=True, slots=True)
class _Committed:
    """The documents of a folder in its last commit."""

    head: str
    looked_at: float
    days: dict[str, tuple[str, str]]
    """The hash of each text and the day of the commit that brought it, by the path below the folder."""


class GitDates:
    """The days of commits, read once for each folder and last commit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._folders: dict[str, _Committed] = {}
        self._lock = threading.Lock()

    def day(self, folder: str, path: str, content: bytes) -> str | None:
        """The day of the commit that gave the file at that path below the folder its content.

        None if the last commit has another content there, if only a commit that a shallow clone lacks has brought it,
        or if git is missing or refuses the repository, for example as that of another user.
        """
        file = Path(folder, path)
        top = next((str(one) for one in file.parents if os.path.lexists(one / ".git")), None)
        if top is None:
            return None
        inside = max(top, folder, key=len)
        with self._lock:
            committed = self._committed(inside)
        hash, day = committed.days.get(file.relative_to(inside).as_posix(), ("", None))
        return day if day and hash == _blob_hash(content, hash) else None

    def _committed(self, folder: str) -> _Committed:
        held, now = self._folders.get(folder), self._clock()
        if held and now - held.looked_at < FRESH_SECONDS:
            return held
        told = b"".join(_told(folder, "rev-parse", "--is-shallow-repository", "HEAD")).decode("ascii", "replace")
        is_shallow, _, head = told.strip().partition("\n")
        if held and head == held.head:
            days = held.days
        else:
            days = _days(folder, head, is_shallow=is_shallow != "false") if head else {}
        if len(self._folders) >= MOST_FOLDERS:
            self._folders.clear()
        self._folders[folder] = _Committed(head, self._clock(), days)
        return self._folders[folder]


def _days(folder: str, head: str, *, is_shallow: bool) -> dict[str, tuple[str, str]]:
    """The hash and the day of each text, by path. A file that was only renamed keeps the day of its text."""
    wanted = dict[bytes, bytes]()
    """The paths of the texts whose day is not known yet, by the path that each had at the commit in hand."""
    hashes, found = dict[bytes, str](), dict[str, tuple[str, str]]()
    for entry in _told(folder, "ls-tree", "-r", "-z", head):
        facts, _, path = entry.partition(b"\t")
        hashes[path] = facts.rpartition(b" ")[2].decode("ascii", "replace")
        wanted[path] = path
    day: str | None = None
    log = _told(folder, "log", *PLAIN_LOG, head, "--", ".")
    for field in log:
        if not wanted:
            break
        if field.startswith(b"@"):
            seconds, _, parents = field[1:].strip().partition(b" ")
            # The oldest commit of a shallow clone seems to have brought each file.
            day = None if is_shallow and not parents else _day(seconds)
            continue
        change, path = field.split(), next(log, b"")
        if len(change) != 5 or not change[0].startswith(b":"):
            break
        if change[4].startswith(b"R"):
            old, path = path, next(log, b"")
            if path in wanted and old not in wanted:
                wanted[old] = wanted.pop(path)
            continue
        brought = change[3].decode("ascii", "replace")
        if path in wanted and hashes[wanted[path]] == brought:
            now = wanted.pop(path)
            if day:
                found[os.fsdecode(now)] = (brought, day)
    return found


def _day(seconds: bytes) -> str | None:
    with suppress(OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    return None


def _blob_hash(content: bytes, like: str) -> str:
    """The hash by which git names this content, of the kind that this one is."""
    kind = hashlib.sha256 if len(like) == hashlib.sha256().digest_size * 2 else hashlib.sha1
    return kind(b"blob %d\0" % len(content) + content).hexdigest()


def _told(folder: str, *command: str) -> Iterator[bytes]:
    """The answer of git in the folder, field by field. Nothing if it is missing, refuses or fails."""
    path = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))
    git = shutil.which("git", path=path)  # never one of the folder that Loci was started in
    if git is None:
        return
    options = [part for one in SETTINGS for part in ("-c", one)]
    call = [os.path.realpath(git), "--no-pager", "--no-replace-objects", "-C", folder, *options, *command]
    try:
        process = Popen(call, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=ENVIRONMENT)  # noqa: S603
    except OSError:
        return
    answer = cast("BufferedReader", process.stdout)
    ending = threading.Timer(SECONDS, process.kill)
    ending.start()
    with process:
        try:
            rest = b""
            while block := answer.read1(BLOCK):
                *fields, rest = (rest + block).split(b"\0")
                yield from fields
            if rest:
                yield rest
        finally:
            ending.cancel()
            process.kill()
            ending.join()
