"""`WorkflowEngine` on threads of this process. If it dies, another process on the same data takes over its runs."""

import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Final

from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.workflows.slice import Slices

CLOSE_SECONDS: Final = 3.0
"""Seconds in which runs must pause when the process stops."""
LOOK_SECONDS: Final = 0.05
"""Seconds between two checks of a run that another process advances."""


@dataclass(slots=True)
class _Moving:
    """A run that this process advances."""

    stop: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    again: bool = False
    """True if the run was started again meanwhile."""


class WorkflowThreads:
    """Advances each run in a thread of its own."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._turn = threading.Lock()
        self._moving: dict[tuple[Owner, str], _Moving] = {}
        self._is_closed = False

    def start(self, owner: Owner, id: str) -> None:
        with self._turn:
            if self._is_closed:
                return
            if moving := self._moving.get((owner, id)):
                moving.again = True
                return
            moving = self._moving[owner, id] = _Moving()
        DAEMON_THREADS.start(partial(self._go_on, owner, id, moving))

    def cancel(self, owner: Owner, id: str) -> None:
        with self._turn:
            moving = self._moving.get((owner, id))
        if moving:
            moving.stop.set()

    def wait(self, owner: Owner, id: str, seconds: float) -> None:
        with self._turn:
            moving = self._moving.get((owner, id))
        if moving:
            moving.done.wait(seconds)
        else:
            time.sleep(min(LOOK_SECONDS, seconds))

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            moving = [*self._moving.values()]
        for one in moving:
            one.stop.set()
        until = time.monotonic() + CLOSE_SECONDS
        for one in moving:
            one.done.wait(max(0.0, until - time.monotonic()))

    def _go_on(self, owner: Owner, id: str, moving: _Moving) -> None:
        goes_on = True
        try:
            while goes_on:
                end = self._slices.advance(owner, id, f"{this_process()}.{random_id(8)}", stop=moving.stop)
                with self._turn:
                    goes_on = (end == "more" or moving.again) and not self._is_closed
                    moving.again = False
                    if not goes_on:
                        del self._moving[owner, id]
        finally:
            with self._turn:
                if self._moving.get((owner, id)) is moving:
                    del self._moving[owner, id]
            moving.done.set()


def this_process() -> str:
    """A name of this process that no other process has, before, after or beside it."""
    pid = os.getpid()
    return f"{pid}.{_began(pid)}.{_place()}"


def is_gone(holder: str) -> bool:
    """True if this holder of a lease was a process of this machine that runs no more."""
    pid, began, place = ([*holder.split("."), "", "", ""])[:3]
    if not pid.isdecimal() or place != _place():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return began != _began(int(pid))


def _began(pid: int) -> str:
    """The start time of the process, since its number may be used again; empty if it is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    is_dead = fields[0] in (b"Z", b"X")  # nobody has asked yet how it ended
    return "dead" if is_dead else fields[19].decode()


@cache
def _place() -> str:
    """The id of the namespace of process numbers: this boot of this machine, or this container."""
    known = [socket.gethostname()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        known.append(str(Path("/proc/self/ns/pid").readlink()))
    return content_id(*known, length=12)
