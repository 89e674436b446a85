"""`WorkflowEngine` on threads of this process. Another process on the same data may take its runs over if it dies."""

import os
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.workflows.slice import Slices

THIS_PROCESS: Final = f"{os.getpid()}.{random_id(8)}"
LOOK_SECONDS: Final = 0.05
"""Seconds between two looks at a run that another process moves on."""


@dataclass(slots=True)
class _Moving:
    """A run that this process moves on."""

    stop: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    again: bool = False
    """True: it was started again meanwhile."""


class WorkflowThreads:
    """One thread a run that goes on."""

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
            for one in self._moving.values():
                one.stop.set()

    def _go_on(self, owner: Owner, id: str, moving: _Moving) -> None:
        goes_on = True
        try:
            while goes_on:
                holder = f"{THIS_PROCESS}.{random_id(8)}"
                end = self._slices.advance(owner, id, holder, stop=moving.stop)
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


def is_gone(holder: str) -> bool:
    """True if this holder of a lease was a process of this machine that runs no more."""
    pid, _, rest = holder.partition(".")
    if not pid.isdecimal():
        return False
    if int(pid) == os.getpid():
        return not holder.startswith(THIS_PROCESS)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return not rest
