"""Our side of one executor process: it owns the clock and the limits, never unpickles, and believes no frame."""

import errno
import fcntl
import os
import select
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager, nullcontext, suppress
from contextvars import copy_context
from typing import Any, cast

from loci.sandbox.inside import frames
from loci.sandbox.supervisor.bounded_json import parsed_json
from loci.sandbox.supervisor.control_groups import ControlGroup, end_group
from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.sandbox.supervisor.exchange import (
    Bounds,
    Exchange,
    ExecutorEnded,
    ExecutorReply,
    FileLookup,
    Message,
    Output,
    WhyEnded,
    framed,
)
from loci.sandbox.supervisor.executor_files import disk_use
from loci.sandbox.supervisor.process_use import HeldFiles, bytes_written, held_files, is_on_disk, memory_use

LOOK_SECONDS = 0.05
MOST_PARTS = 20_000
"""Of a message, which names variables."""
READ = 1 << 16
WRITTEN = 1 << 16
CLOSED = select.POLLHUP | select.POLLERR
FILES_SECONDS = 0.05
"""Its files are looked at so often."""
MOST_STOPPED = 0.5
"""Seconds for which it is stopped once more after its files were looked at."""


class ProcessHandle:
    """Signals a process that is not our child.

    Since Linux 5.3 it holds the process itself, so that its id cannot become another's.
    """

    def __init__(self, id: int, descriptor: int | None) -> None:
        self.id = id
        self._descriptor = descriptor

    def signal(self, number: int) -> None:
        """Send the signal if the process is still there."""
        with suppress(ProcessLookupError):
            if self._descriptor is None:
                os.kill(self.id, number)
            elif self._descriptor >= 0:
                try:
                    signal.pidfd_send_signal(self._descriptor, number)
                except OSError as error:
                    if error.errno not in (errno.EPERM, errno.ENOSYS):
                        raise
                    os.kill(self.id, number)  # the machine refuses the call

    def release(self) -> None:
        """Never signal it again."""
        if self._descriptor is not None and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class HeldLimits:
    """Measures one process from outside, and tells which limit it has broken."""

    def __init__(self, handle: ProcessHandle, folders: tuple[str, ...], bounds: Bounds) -> None:
        self._handle = handle
        self._folders = folders
        self._is_on_disk = all(map(is_on_disk, folders))
        self._bounds = bounds
        self._held_files = HeldFiles()
        self._next_look = 0.0
        self._full_at: int | None = None
        """Bytes written in all, before which its files cannot take more than they may. None if it is not known."""

    def begin(self) -> None:
        """Let it go on for a moment before its files are looked at: most runs are shorter."""
        self._next_look = time.monotonic() + FILES_SECONDS

    def broken(self, output: Output) -> WhyEnded | None:
        """The limit that the process has broken. None if it keeps all of them."""
        used = memory_use(self._handle.id)
        if used.has_no_main_thread:
            return "ended"
        memory = used.bytes + self._held_files.buffers
        output.most_memory = max(output.most_memory, memory)
        if memory > self._bounds.memory_bytes + self._bounds.base_bytes:
            return "memory"
        if used.threads > self._bounds.threads:
            return "threads"
        return self._broken_by_files_now()

    def broken_by_files(self, *, with_mapped: bool) -> WhyEnded | None:
        """Measure its files only. `with_mapped` also looks for files that are only mapped, which takes milliseconds."""
        written = bytes_written(self._handle.id, on_disk=self._is_on_disk)
        found = disk_use(self._folders, self._bounds.files)
        self._held_files = held_files(self._handle.id, self._folders, with_mapped=with_mapped)
        room = self._bounds.disk_bytes - found.bytes - self._held_files.unlinked
        self._full_at = None if written is None else written + room
        return "disk" if room < 0 or found.files > self._bounds.files else None

    def _broken_by_files_now(self) -> WhyEnded | None:
        """A folder that takes long to look through is looked at less often, unless enough was written to fill it."""
        may_be_full = self._may_be_full()
        if not may_be_full and time.monotonic() <= self._next_look:
            return None
        with self._stopped() if may_be_full else nullcontext():
            began = time.monotonic()
            why = self.broken_by_files(with_mapped=True)
            took = time.monotonic() - began
            if may_be_full and why is None:  # so that to look never takes most of our own time
                time.sleep(min(2 * took, MOST_STOPPED))
        self._next_look = time.monotonic() + max(FILES_SECONDS, (2 if self._full_at is None else 10) * took)
        return why

    def _may_be_full(self) -> bool:
        if self._full_at is None:
            return False
        return (bytes_written(self._handle.id, on_disk=self._is_on_disk) or 0) > self._full_at

    @contextmanager
    def _stopped(self) -> Generator[None]:
        """Stop the process meanwhile, so that it writes nothing."""
        self._handle.signal(signal.SIGSTOP)
        yield
        self._handle.signal(signal.SIGCONT)


class ExecutorProcess:
    """One executor, stopped between requests. Send it one request at a time."""

    def __init__(
        self,
        handle: ProcessHandle,
        descriptors: tuple[int, int, int, int],
        folders: tuple[str, ...],
        bounds: Bounds,
        group: ControlGroup | None = None,
    ) -> None:
        self._handle = handle
        self._group = group
        self._requests, self._replies, self._stdout, self._stderr = descriptors
        self._bounds = bounds
        self._limits = HeldLimits(handle, folders, bounds)
        self._held = bytearray()
        self._waiting: deque[Iterator[bytes]] = deque()
        self._unsent = memoryview(b"")
        self.has_run = False
        self.ended: WhyEnded | None = None
        for one in descriptors:
            os.set_blocking(one, False)

    @property
    def id(self) -> int:
        return self._handle.id

    @property
    def is_alive(self) -> bool:
        """False if its process has ended by itself: nobody writes to its pipe any more."""
        poll = select.poll()
        if self.ended is None:
            poll.register(self._replies, 0)
        return self.ended is None and not poll.poll(0)

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until it takes requests."""
        self._exchange(Exchange(seconds, answer="ready"))
        self._handle.signal(signal.SIGSTOP)

    def run(
        self,
        code: str,
        lookup: FileLookup,
        cancelled: Callable[[], bool] = lambda: False,
        *,
        seconds: float | None = None,
    ) -> ExecutorReply:
        """Run the code. Past its time, or if given up, it is interrupted; if that does not help, it is ended."""
        self.has_run = True
        seconds, room = seconds or self._bounds.seconds, self._bounds.reply_bytes
        exchange = Exchange(seconds, soft=True, room=room, lookup=lookup, cancelled=cancelled)
        return self._request({"op": "run", "code": code}, exchange)

    def save(self, take: Callable[[bytes], None], most: int, seconds: float) -> ExecutorReply:
        """Hand over the variables, piece by piece. They are bytes here, and never more.

        Past its time it is interrupted, and the variables stay; if that does not help, it is ended.
        `take` must not raise: that ends the executor, since the rest of its bytes would be taken for the next answer's.
        """
        exchange = Exchange(seconds, soft=True, room=most + most // 8, take=take)
        return self._request({"op": "save", "most": most}, exchange)

    def restore(self, pieces: Iterable[bytes], seconds: float) -> ExecutorReply:
        """Give it back variables that `save` handed over."""
        return self._request({"op": "restore"}, Exchange(seconds, room=self._bounds.reply_bytes), pieces)

    def end(self, why: WhyEnded = "ended") -> None:
        """End the process, and with it its variables."""
        if self.ended is not None:
            return
        self.ended = why
        self._handle.signal(signal.SIGKILL)
        self._handle.release()
        end_group(self._group)
        for one in (self._requests, self._replies, self._stdout, self._stderr):
            os.close(one)

    def _request(self, message: Message, exchange: Exchange, pieces: Iterable[bytes] | None = None) -> ExecutorReply:
        if self.ended is not None:
            raise ExecutorEnded(self.ended)
        self._waiting = deque([framed({**message, "id": exchange.id}, pieces)])
        self._unsent = memoryview(b"")
        self._handle.signal(signal.SIGCONT)
        try:
            reply = self._exchange(exchange)
        except BaseException:
            self.end()  # unless it has ended: what it still says belongs to no request
            raise
        self._handle.signal(signal.SIGSTOP)
        if why := self._limits.broken_by_files(with_mapped=False):
            self._stop(why, exchange)
        return reply

    def _exchange(self, exchange: Exchange) -> ExecutorReply:
        """Move bytes and enforce the limits until the answer is here; `ExecutorEnded` if none will come."""
        poll = select.poll()
        for one in (self._replies, self._stdout, self._stderr):
            poll.register(one, select.POLLIN)
        poll.register(self._requests, select.POLLOUT)
        is_sending = True
        self._limits.begin()
        while True:
            self._hold_limits(exchange)
            ready = dict(poll.poll(LOOK_SECONDS * 1000))
            for one in [one for one, events in ready.items() if one != self._replies and events & CLOSED == events]:
                poll.unregister(one)  # the code has closed it: it would always be ready
            if is_sending and self._requests in ready and not self._send(exchange):
                poll.modify(self._requests, 0)
                is_sending = False
            self._drain(exchange.output)
            if self._replies in ready:
                self._receive(exchange)
            for said in self._said(exchange):
                if exchange.is_answer(said):
                    self._drain(exchange.output)
                    return exchange.reply(said)
                find = exchange.finding(said, self._bounds)
                if find is not None:
                    answer = self._found(find, exchange)
                    if exchange.requests > 2 * self._bounds.memory_requests:  # it does not listen to the answers
                        self._stop("protocol", exchange)
                    self._waiting.append(framed(answer))
                    poll.register(self._requests, select.POLLOUT)
                    is_sending = True

    def _found(self, find: Callable[[], Message], exchange: Exchange) -> Message:
        """The answer to a request for a stored file. To find that takes long, while the code goes on."""
        finding = in_thread(copy_context().run, find)
        try:
            while not wait([finding], LOOK_SECONDS).done:
                self._drain(exchange.output)
                self._hold_limits(exchange)
        except ExecutorEnded:
            wait([finding])  # or there would be more of them than runs
            raise
        return finding.result()

    def _hold_limits(self, exchange: Exchange) -> None:
        now = time.monotonic()
        if now > exchange.until or (not exchange.interrupted and exchange.was_cancelled(now)):
            if not exchange.soft or exchange.interrupted:
                self._stop("given up" if exchange.was_cancelled(now) else "time", exchange)
            exchange.interrupted = True
            exchange.until = now + self._bounds.grace_seconds
            self._handle.signal(signal.SIGINT)
        if why := self._limits.broken(exchange.output):
            self._stop(why, exchange)

    def check_between_runs(self) -> None:
        """Look at all that it holds, which takes too long after each run. `ExecutorEnded` if it is too much."""
        if self.ended is None and (why := self._limits.broken_by_files(with_mapped=True)):
            self._stop(why, Exchange(0))

    def _stop(self, why: WhyEnded, exchange: Exchange) -> None:
        has_begun = why != "ended" or not self._is_unread()
        if why == "ended" and self._group is not None and self._group.was_out_of_memory:
            why, has_begun = "memory", True
        self._drain(exchange.output)  # what it printed last says why
        self.end(why)
        raise ExecutorEnded(why, exchange.output, has_begun=has_begun)

    def _is_unread(self) -> bool:
        """True if a part of the request is still on its way."""
        if self._unsent or self._waiting:
            return True
        try:
            return int.from_bytes(fcntl.ioctl(self._requests, termios.FIONREAD, bytes(4)), sys.byteorder) > 0
        except OSError:  # the system does not say
            return False

    def _send(self, exchange: Exchange) -> bool:
        """Send what fits. Return True if there is more to send."""
        try:
            while True:
                if not self._unsent:
                    self._unsent = memoryview(self._next())
                    if not self._unsent:
                        return False
                self._unsent = self._unsent[os.write(self._requests, self._unsent[:WRITTEN]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self._stop("ended", exchange)
            return False

    def _next(self) -> bytes:
        """The next bytes to send; empty when everything is sent."""
        while self._waiting:
            frame = next(self._waiting[0], b"")
            if frame:
                return frame
            self._waiting.popleft()
        return b""

    def _drain(self, output: Output) -> None:
        for descriptor, stream in ((self._stdout, "stdout"), (self._stderr, "stderr")):
            with suppress(BlockingIOError):
                for _ in range(64):
                    content = os.read(descriptor, READ)
                    if not content:
                        break
                    output.take(cast("Any", stream), content, self._bounds.output_bytes)

    def _receive(self, exchange: Exchange) -> None:
        try:
            content = os.read(self._replies, frames.PIECE)
        except BlockingIOError:
            return
        if not content:
            self._stop("ended", exchange)
        self._held += content

    def _said(self, exchange: Exchange) -> Iterator[Message]:
        """The messages that have come whole; bytes go to the exchange."""
        while len(self._held) >= frames.HEAD.size:
            kind, length = frames.HEAD.unpack_from(self._held)
            if not exchange.may_come(kind, length, self._bounds):
                self._stop("protocol", exchange)
            end = frames.HEAD.size + length
            if len(self._held) < end:
                return
            payload = bytes(memoryview(self._held)[frames.HEAD.size : end])
            del self._held[:end]
            exchange.count(kind, length)
            if kind == frames.JSON:
                yield self._message(payload, exchange)
                continue
            if not exchange.keep(payload):
                self._stop("state size" if exchange.take else "protocol", exchange)

    def _message(self, payload: bytes, exchange: Exchange) -> Message:
        try:
            said = parsed_json(payload, MOST_PARTS)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            self._stop("protocol", exchange)
        return cast("Message", said)
