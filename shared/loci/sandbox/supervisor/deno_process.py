"""A Deno process behind the wall, seen from outside: what it says, how it ends, how much memory it has."""

import fcntl
import json
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator

from loci.sandbox.supervisor.control_groups import ControlGroup, end_group
from loci.sandbox.supervisor.deno_messages import Ready, parsed
from loci.sandbox.supervisor.limits import memory_use

KEPT_ERRORS = 65536
CHUNK = 1 << 20


KILLED = (-9, 137)
"""Statuses of a process that something else has ended; the second one behind namespaces."""


class NotStartedError(Exception):
    """The process ended, or said nothing, before it was ready. Its message is the process's own."""

    def __init__(self, why: str, *, is_killed: bool = False) -> None:
        super().__init__(why)
        self.is_killed = is_killed
        """True if something else has ended it, or its launcher: another may be started."""


class DenoProcess:
    """Owns the pipes of the process. `close` ends it."""

    def __init__(
        self,
        descriptors: tuple[int, int, int, int],
        kill: Callable[[], None],
        of_launcher: Callable[[], str],
        limited: Callable[[int], ControlGroup | None] = lambda _: None,
    ) -> None:
        self.stdin, self.stdout, self.stderr, self._launcher = descriptors
        self._kill = kill
        self._of_launcher = of_launcher
        self._limited = limited
        self._group: ControlGroup | None = None
        self._buffer = bytearray()
        self._end = b""
        self._unsent = bytearray()
        self.errors = b""
        self.written = 0
        self.line_count = 0
        self._sent = 0
        self._is_unread = False
        """True if nobody reads what is sent any more."""
        self.pid: int | None = None
        self.ended: int | None = None
        """The exit status, negative for a signal."""
        self.peak = 0
        for one in descriptors:
            os.set_blocking(one, False)

    def ready(self, seconds: float) -> "DenoProcess":
        """Wait until it takes a job."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.wait(deadline - time.monotonic(), ())
            for line in self.lines():
                if parsed(line) == Ready():
                    self._group = self._limited(self.pid) if self.pid else None
                    return self
            if self.ended is not None:
                break
        said = self.errors.decode("utf-8", "replace").strip()[-500:]
        silent = f"it was not ready after {seconds:g} s" if self.ended is None else f"it ended with {self.ended}"
        why = said or self._of_launcher() or silent
        is_killed = self.ended in KILLED
        self.close()
        raise NotStartedError(why, is_killed=is_killed)

    def wait(self, seconds: float, others: tuple[int, ...]) -> list[int]:
        """Read what the process says within that time. Return the other descriptors that can be read."""
        # Not select, which takes only descriptors below 1024: a busy server has more.
        poll = select.poll()
        for one in (self.stdout, self.stderr, self._launcher, *others):
            if one >= 0:
                poll.register(one, select.POLLIN)
        if self._unsent and self.stdin >= 0 and not self._is_unread:
            poll.register(self.stdin, select.POLLOUT)
        found = [one for one, _ in poll.poll(max(0.0, seconds) * 1000)]
        if self.stdin in found:
            self._write()
        # What it said comes before the news of its end.
        if self.stdout in found:
            self._read_output()
        if self.stderr in found:
            self.errors = (self.errors + self._part(self.stderr, "stderr"))[-KEPT_ERRORS:]
        if self._launcher in found:
            self._read_end()
        return [one for one in found if one in others]

    def lines(self) -> Iterator[bytes]:
        """The lines that have come whole, without empty ones."""
        while (end := self._buffer.find(b"\n")) >= 0:
            self.line_count += 1
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            if line:
                yield line

    @property
    def unfinished(self) -> int:
        """Bytes of a line that has not come whole."""
        return len(self._buffer)

    @property
    def has_read_nothing(self) -> bool:
        """True if it cannot have begun its job: it has not read the whole of the first line that was sent."""
        if self._sent > 1:
            return False
        if self._unsent or self.stdin < 0:
            return True
        try:
            return int.from_bytes(fcntl.ioctl(self.stdin, termios.FIONREAD, bytes(4)), sys.byteorder) > 0
        except OSError:  # the system does not say
            return False

    @property
    def is_silent(self) -> bool:
        """True if nothing more can come."""
        return self.stdout < 0 and not self._buffer

    def send(self, line: bytes) -> None:
        """Write the line, as far as the pipe takes it; `wait` writes the rest, and goes on reading meanwhile."""
        self._sent += 1
        self._unsent += line + b"\n"
        self._write()

    def resident(self) -> int:
        """Bytes of memory that it has now; 0 if unknown."""
        if self.pid is None or not sys.platform.startswith("linux"):
            return 0
        now = memory_use(self.pid).bytes
        self.peak = max(self.peak, now)
        return now

    @property
    def was_out_of_memory(self) -> bool:
        """True if the kernel has killed it because its group had no memory left."""
        return self._group is not None and self._group.was_out_of_memory

    def close(self) -> None:
        """Kill it, without waiting for its end."""
        if self.ended is None:
            self._kill()
        end_group(self._group)
        self._group = None
        for one in (self.stdin, self.stdout, self.stderr, self._launcher):
            if one >= 0:
                os.close(one)
        self.stdin = self.stdout = self.stderr = self._launcher = -1

    def _write(self) -> None:
        try:
            while self._unsent and not self._is_unread:
                del self._unsent[: os.write(self.stdin, self._unsent[:CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self._is_unread = True

    def _read_output(self) -> None:
        part = self._part(self.stdout, "stdout")
        self.written += len(part)
        self._buffer += part

    def _read_end(self) -> None:
        part = self._part(self._launcher, "_launcher")
        self._end += part
        for line in self._end.splitlines():
            news = json.loads(line)
            self.pid = news.get("pid", self.pid)
            if "ended" in news:
                self.ended, self.peak = news["ended"], max(self.peak, news["peak"])
        if self._launcher < 0 and self.ended is None:
            self.ended = -9  # its launcher is gone, and so is the process

    def _part(self, descriptor: int, name: str) -> bytes:
        try:
            part = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return b""
        if not part:
            os.close(descriptor)
            setattr(self, name, -1)
        return part
