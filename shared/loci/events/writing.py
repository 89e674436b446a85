"""The events that wait to be written, and the thread that writes them. Whoever tells of one waits for nothing."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.redaction import redacted
from loci.events.event import MISSED, Event
from loci.events.log import EventLog
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

MOST_WAITING: Final = 2000
MOST_TOGETHER: Final = 100
"""Events in a batch."""
PAUSE: Final = 0.04
"""Seconds between two batches: what happens meanwhile is written together."""
IDLE_SECONDS: Final = 1.0
FAILED_SECONDS: Final = 1.0
"""After a failure of the store."""


class Writing:
    """A bounded queue. When it is full, an event says how many were left out."""

    def __init__(
        self, log: EventLog, is_wanted: Callable[[Owner, Event], bool], written: Callable[[Owner], None]
    ) -> None:
        """`is_wanted`: False for an event that need not be kept. `written`: told whose log has grown."""
        self._log = log
        self._is_wanted = is_wanted
        self._written = written
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Owner, Event]] = deque()
        self._left_out: dict[Owner, int] = {}
        self._is_working = False
        self._writes = threading.Lock()

    def add(self, owner: Owner, event: Event) -> None:
        """Have the event written soon."""
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                self._left_out[owner] = self._left_out.get(owner, 0) + 1
                return
            if lost := self._left_out.pop(owner, 0):
                self._waiting.append((owner, _missed(lost)))
            self._waiting.append((owner, event))
            self._changed.notify()
            if self._is_working:
                return
            self._is_working = True
        DAEMON_THREADS.start(self._go_on)

    def finish(self, seconds: float) -> None:
        """Write all that waits, unless that takes too long."""
        until = time.monotonic() + seconds
        if not self._writes.acquire(timeout=seconds):
            return
        try:
            while (self._waiting or self._left_out) and time.monotonic() < until:
                if not self._write():
                    return
        finally:
            self._writes.release()

    def _go_on(self) -> None:
        is_over = False
        try:
            while not is_over:
                with self._writes:
                    worked = self._write()
                time.sleep(PAUSE if worked else FAILED_SECONDS)
                is_over = self._is_over()
        finally:
            if not is_over:  # a bug ended it; what comes next gets another thread
                with self._changed:
                    self._is_working = False

    def _is_over(self) -> bool:
        """Wait for more; True if there is nothing for a while."""
        with self._changed:
            if not self._waiting and not self._left_out:
                self._changed.wait(IDLE_SECONDS)
            if self._waiting or self._left_out:
                return False
            self._is_working = False
            return True

    def _write(self) -> bool:
        """Write one batch for each owner; False if the store fails."""
        batches = self._next()
        while batches:
            owner, events = next(iter(batches.items()))
            try:
                kept = [replace(one, fields=redacted(one.fields)) for one in events if self._is_wanted(owner, one)]
                if kept:
                    self._log.append(owner, kept)
            except LociError:
                self._lose(batches)
                return False
            if kept:
                self._written(owner)
            del batches[owner]
        return True

    def _lose(self, batches: Mapping[Owner, Sequence[Event]]) -> None:
        with self._changed:
            for owner, events in batches.items():
                self._left_out[owner] = self._left_out.get(owner, 0) + sum(map(_counts, events))

    def _next(self) -> dict[Owner, list[Event]]:
        batches: dict[Owner, list[Event]] = {}
        with self._changed:
            for _ in range(min(len(self._waiting), MOST_TOGETHER)):
                owner, event = self._waiting.popleft()
                batches.setdefault(owner, []).append(event)
            if not self._waiting:
                for owner, count in self._left_out.items():
                    batches.setdefault(owner, []).append(_missed(count))
                self._left_out = {}
        return batches


def _missed(count: int) -> Event:
    return Event(MISSED, time.time(), {"count": count})


def _counts(event: Event) -> int:
    """How many events are lost with this one."""
    count = event.fields.get("count") if event.kind == MISSED else 1
    return count if isinstance(count, int) else 1
