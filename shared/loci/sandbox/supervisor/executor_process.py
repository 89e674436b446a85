"""The supervisor's side of one executor process: its requests, their output and their answers.

It owns the clock and the limits, never unpickles, and believes nothing that the executor says.
"""

import fcntl
import json
import os
import secrets
import select
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import IO, Any, Literal, cast

from loci.sandbox.inside import frames
from loci.sandbox.supervisor.bounded_json import parsed_json
from loci.sandbox.supervisor.control_groups import ControlGroup, end_group
from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.sandbox.supervisor.limits import Bounds, HeldLimits, ProcessHandle, WhyEnded

LOOK_SECONDS = 0.05
MOST_PARTS = 20_000
"""Parts of a message, which names variables."""
READ = 1 << 16
WRITTEN = 1 << 16
CLOSED = select.POLLHUP | select.POLLERR
BEGUN_SECONDS = 0.1
LARGEST_PIECE = 8 << 20
"""Bytes of a figure, or of a part of the variables."""
STDERR_TAIL = 1000
"""Bytes that are kept of the reason why an executor did not start."""

Message = dict[str, Any]
FileLookup = Callable[[str, str], "dict[str, str]"]
"""Answers the code's request for a stored file, by its id and name: {"path": …} or {"missing": why}."""

NamedCall = Callable[[str, str], "dict[str, Any]"]
"""Calls a tool, with its arguments as JSON: {"ok": true, "value": …} or {"ok": false, "error": {"code", "message"}}."""


@dataclass
class ExecutorOutput:
    """Output of the executor so far, and the most memory that it had."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    dropped: int = 0
    most_memory: int = 0

    def append(self, stream: Literal["stdout", "stderr"], content: bytes, most: int) -> None:
        held: bytearray = getattr(self, stream)
        room = max(0, most - len(held))
        held += content[:room]
        self.dropped += max(0, len(content) - room)


def failed_to_start(why: str) -> ExecutorOutput:
    """The output of an executor that did not start: the reason."""
    return ExecutorOutput(stderr=bytearray(why.encode("utf-8", "replace")[:STDERR_TAIL]))


def stderr_tail(errors: IO[bytes]) -> str:
    """The end of what a child has written to this file. A function's role may not log it, so its answer has it.

    A file, not a pipe: nobody reads it before the child has ended. They share its position, which this leaves alone.
    """
    try:
        size = os.fstat(errors.fileno()).st_size
        return os.pread(errors.fileno(), STDERR_TAIL, max(0, size - STDERR_TAIL)).decode("utf-8", "replace").strip()
    except (OSError, ValueError):  # it is closed
        return ""


class ExecutorEnded(Exception):
    """The executor is gone: its process was ended, or it ended by itself."""

    def __init__(self, why: WhyEnded, output: ExecutorOutput | None = None, *, has_begun: bool = True) -> None:
        super().__init__(why)
        self.why: WhyEnded = why
        self.output = output or ExecutorOutput()
        self.has_begun = has_begun
        """False if it cannot have begun its request: it ended before it had read it."""


@dataclass(frozen=True)
class ExecutorReply:
    """An executor's answer to a request, in its own words."""

    said: dict[str, Any]
    output: ExecutorOutput
    seconds: float
    interrupted: bool
    pieces: tuple[bytes, ...] = ()


@dataclass
class Exchange:
    """A request on its way: what is still to send, what has come, and how long it may take."""

    seconds: float
    soft: bool = False
    """True if the code is interrupted first, and ended only if that does not help."""
    room: int = 1 << 20
    """Bytes that may still come."""
    lookup: FileLookup | None = None
    call: NamedCall | None = None
    take: Callable[[bytes], None] | None = None
    """Takes the bytes that come; None: they are kept in `pieces`."""
    cancelled: Callable[[], bool] = lambda: False
    answer: Literal["done", "ready"] = "done"
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """A reply that was prepared for a later request does not know it."""
    began: float = field(default_factory=time.monotonic)
    interrupted: bool = False
    output: ExecutorOutput = field(default_factory=ExecutorOutput)
    pieces: list[bytes] = field(default_factory=list[bytes])
    requests: int = 0
    messages: int = 0
    message_bytes: int = 0
    piece_count: int = 0

    def __post_init__(self) -> None:
        self.until = self.began + self.seconds

    def is_answer(self, said: Message) -> bool:
        """True if this message ends the exchange."""
        return said.get("t") == self.answer and (self.answer == "ready" or said.get("id") == self.id)

    def reply(self, said: Message) -> ExecutorReply:
        """The reply that ends this exchange."""
        seconds = time.monotonic() - self.began
        return ExecutorReply(said, self.output, seconds, self.interrupted, tuple(self.pieces))

    def was_cancelled(self, now: float) -> bool:
        """True if nobody waits for the answer any more. Code that has just begun would miss the interrupt."""
        return now - self.began > BEGUN_SECONDS and self.cancelled()

    def may_come(self, kind: bytes, length: int, bounds: Bounds) -> bool:
        """False if a frame of this length is one too many, or too large."""
        if kind == frames.BYTES:
            return length <= LARGEST_PIECE and self.piece_count < bounds.pieces
        room = min(bounds.message_bytes, bounds.all_message_bytes - self.message_bytes)
        return kind == frames.JSON and length <= room and self.messages < bounds.messages

    def count(self, kind: bytes, length: int) -> None:
        """Count a frame that has come whole."""
        if kind == frames.BYTES:
            self.piece_count += 1
        else:
            self.messages += 1
            self.message_bytes += length

    def keep(self, payload: bytes) -> bool:
        """Take these bytes. Return False if there is no room for them."""
        self.room -= len(payload)
        if self.room < 0:
            return False
        if self.take is None:
            self.pieces.append(payload)
        else:
            self.take(payload)
        return True

    def work(self, said: Message, bounds: Bounds) -> Callable[[], Message] | None:
        """The work that answers a request of the code, which may take long; None if it is no such request."""
        return self._file_request(said, bounds) or self._tool_request(said, bounds)

    def _tool_request(self, said: Message, bounds: Bounds) -> Callable[[], Message] | None:
        number, tool, given, call = said.get("n"), said.get("tool"), said.get("arguments"), self.call
        if said.get("t") != "tool" or call is None or not isinstance(tool, str) or not isinstance(given, str):
            return None
        self.requests += 1
        if self.requests > bounds.memory_requests:
            refusal = {"code": "TOOL_DENIED", "message": f"One run may ask {bounds.memory_requests} times"}
            return lambda: {"n": number, "ok": False, "error": refusal}
        return lambda: {**call(_whole(tool), given), "n": number}

    def _file_request(self, said: Message, bounds: Bounds) -> Callable[[], Message] | None:
        id, name, lookup = said.get("memory_id"), said.get("memory_name"), self.lookup
        if said.get("t") != "memory" or lookup is None or not isinstance(id, str):
            return None
        self.requests += 1
        if self.requests > bounds.memory_requests:
            return lambda: {"missing": f"One run may ask for {bounds.memory_requests} files"}
        return lambda: lookup(_whole(id), _whole(name) if isinstance(name, str) else "")


def _whole(text: str) -> str:
    """The text without half characters: no store takes them."""
    return text.encode("utf-8", "replace").decode()


def framed(message: Message, pieces: Iterable[bytes] | None = None) -> Iterator[bytes]:
    """The message as a frame, followed by the bytes that go with it."""
    yield frames.packed(frames.JSON, json.dumps(message).encode())
    if pieces is None:
        return
    for piece in pieces:
        for part in frames.pieces(piece):
            yield frames.packed(frames.BYTES, part)
    yield frames.packed(frames.JSON, b"{}")


class ExecutorProcess:
    """An executor, stopped between requests. Send it one request at a time."""

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
        call: NamedCall | None = None,
        seconds: float | None = None,
    ) -> ExecutorReply:
        """Run the code. Past its time, or if given up, it is interrupted; if that does not help, it is ended."""
        self.has_run = True
        seconds, room = seconds or self._bounds.seconds, self._bounds.reply_bytes
        exchange = Exchange(seconds, soft=True, room=room, lookup=lookup, call=call, cancelled=cancelled)
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
            for said in self._messages(exchange):
                if exchange.is_answer(said):
                    self._drain(exchange.output)
                    return exchange.reply(said)
                work = exchange.work(said, self._bounds)
                if work is not None:
                    answer = self._worked(work, exchange)
                    if exchange.requests > 2 * self._bounds.memory_requests:  # it does not listen to the answers
                        self._stop("protocol", exchange)
                    self._waiting.append(framed(answer))
                    poll.register(self._requests, select.POLLOUT)
                    is_sending = True

    def _worked(self, work: Callable[[], Message], exchange: Exchange) -> Message:
        """The answer to a request. To make it takes long, while the code goes on."""
        making = in_thread(copy_context().run, work)
        try:
            while not wait([making], LOOK_SECONDS).done:
                self._drain(exchange.output)
                self._hold_limits(exchange)
        except ExecutorEnded:
            wait([making])  # or there would be more of them than runs
            raise
        return making.result()

    def _hold_limits(self, exchange: Exchange) -> None:
        now = time.monotonic()
        if now > exchange.until or (not exchange.interrupted and exchange.was_cancelled(now)):
            if not exchange.soft or exchange.interrupted:
                self._stop("given up" if exchange.was_cancelled(now) else "time", exchange)
            exchange.interrupted = True
            exchange.until = now + self._bounds.grace_seconds
            self._handle.signal(signal.SIGINT)
        why = self._limits.broken()
        exchange.output.most_memory = self._limits.most_memory
        if why:
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

    def _drain(self, output: ExecutorOutput) -> None:
        for descriptor, stream in ((self._stdout, "stdout"), (self._stderr, "stderr")):
            with suppress(BlockingIOError):
                for _ in range(64):
                    content = os.read(descriptor, READ)
                    if not content:
                        break
                    output.append(cast("Any", stream), content, self._bounds.output_bytes)

    def _receive(self, exchange: Exchange) -> None:
        try:
            content = os.read(self._replies, frames.PIECE)
        except BlockingIOError:
            return
        if not content:
            self._stop("ended", exchange)
        self._held += content

    def _messages(self, exchange: Exchange) -> Iterator[Message]:
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
