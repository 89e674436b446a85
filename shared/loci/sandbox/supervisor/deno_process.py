"""One process behind the wall, seen from outside: what it says, how it ends, how much memory it has."""

import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterator

from loci.sandbox.supervisor.messages import Ready, said

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
KEPT_ERRORS = 65536
CHUNK = 1 << 20


class NotStartedError(Exception):
    """The process ended, or said nothing, before it was ready; its own words say why."""


class Child:
    """Its pipes, owned from here on. It is told to end by `close`."""

    def __init__(self, descriptors: tuple[int, int, int, int], kill: Callable[[], None]) -> None:
        self.stdin, self.stdout, self.stderr, self._told = descriptors
        self._kill = kill
        self._buffer = bytearray()
        self._end = b""
        self._unsent = bytearray()
        self.errors = b""
        self.written = 0
        self.pid: int | None = None
        self.ended: int | None = None
        """The exit status, negative for a signal."""
        self.peak = 0
        for one in descriptors:
            os.set_blocking(one, False)

    def ready(self, seconds: float) -> "Child":
        """The child once it waits for a job."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.wait(deadline - time.monotonic(), ())
            for line in self.lines():
                if said(line) == Ready():
                    return self
            if self.ended is not None:
                break
        why = self.errors.decode("utf-8", "replace").strip()[-500:] or f"it ended with {self.ended}"
        self.close()
        raise NotStartedError(why)

    def wait(self, seconds: float, others: tuple[int, ...]) -> list[int]:
        """Take in what it says within the time; which of the others can be read."""
        # Not select: a busy server has descriptors above those that it takes.
        poll = select.poll()
        for one in (self.stdout, self.stderr, self._told, *others):
            if one >= 0:
                poll.register(one, select.POLLIN)
        if self._unsent and self.stdin >= 0:
            poll.register(self.stdin, select.POLLOUT)
        found = [one for one, _ in poll.poll(max(0.0, seconds) * 1000)]
        if self.stdin in found:
            self._write()
        # First what it said, then that it ended.
        if self.stdout in found:
            self._read_output()
        if self.stderr in found:
            self.errors = (self.errors + self._part(self.stderr, "stderr"))[-KEPT_ERRORS:]
        if self._told in found:
            self._read_end()
        return [one for one in found if one in others]

    def lines(self) -> Iterator[bytes]:
        """The lines that are whole."""
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            yield line

    @property
    def unfinished(self) -> int:
        """Bytes of a line that is not whole yet."""
        return len(self._buffer)

    @property
    def is_silent(self) -> bool:
        """Whether nothing more can come."""
        return self.stdout < 0 and not self._buffer

    def send(self, line: bytes) -> None:
        """Have the line written as soon as it is read: what waits to be read must not keep us from reading."""
        self._unsent += line + b"\n"
        self._write()

    def resident(self) -> int:
        """Bytes of memory that it has now; 0 where that is not known."""
        if self.pid is None or not sys.platform.startswith("linux"):
            return 0
        try:
            with open(f"/proc/{self.pid}/statm", "rb") as opened:
                now = int(opened.read().split()[1]) * PAGE
        except (OSError, IndexError):
            return 0
        self.peak = max(self.peak, now)
        return now

    def close(self) -> None:
        """Kill it. Nobody waits for that here."""
        if self.ended is None:
            self._kill()
        for one in (self.stdin, self.stdout, self.stderr, self._told):
            if one >= 0:
                os.close(one)
        self.stdin = self.stdout = self.stderr = self._told = -1

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self.stdin, self._unsent[:CHUNK])]
        except BlockingIOError:
            return
        except OSError:  # nobody reads any more
            self._unsent.clear()

    def _read_output(self) -> None:
        part = self._part(self.stdout, "stdout")
        self.written += len(part)
        self._buffer += part

    def _read_end(self) -> None:
        part = self._part(self._told, "_told")
        self._end += part
        for line in self._end.splitlines():
            told = json.loads(line)
            self.pid = told.get("pid", self.pid)
            if "ended" in told:
                self.ended, self.peak = told["ended"], max(self.peak, told["peak"])
        if self._told < 0 and self.ended is None:
            self.ended = -9  # its launcher is gone, and it with that

    def _part(self, descriptor: int, name: str) -> bytes:
        try:
            part = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return b""
        if not part:
            os.close(descriptor)
            setattr(self, name, -1)
        return part
