"""One request to an executor: its limits, its output, and its answer. Nothing that it says is believed."""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from loci.sandbox.inside import frames

MB = 1 << 20
BEGUN_SECONDS = 0.1
LARGEST_PIECE = 8 << 20
"""Bytes of a figure, or of a part of the variables."""
LAST_WORDS = 1000
"""Bytes that are kept of the reason why an executor did not start."""

Message = dict[str, Any]
WhyEnded = Literal["time", "memory", "disk", "threads", "ended", "protocol", "start", "state size", "given up"]
FileLookup = Callable[[str, str], "dict[str, str]"]
"""Answers the code's request for a stored file, by its id and name: {"path": …} or {"missing": why}."""


@dataclass(frozen=True)
class Bounds:
    """Limits of an executor."""

    seconds: float = 60.0
    grace_seconds: float = 1.0
    """Between the interrupt, which the code's variables survive, and the end of the process."""
    memory_bytes: int = 1024 * MB
    base_bytes: int = 300 * MB
    """Memory that Python and the packages take before the caller's code takes any."""
    disk_bytes: int = 256 * MB
    files: int = 10_000
    threads: int = 128
    output_bytes: int = MB
    """Of each of stdout and stderr. The rest is counted and dropped."""
    reply_bytes: int = 32 * MB
    message_bytes: int = MB
    """Of one message. Figures and variables come as bytes, which are not parsed."""
    all_message_bytes: int = 3 * MB
    """Of all messages in answer to one request: the answer itself, and requests for stored files."""
    messages: int = 1000
    """In answer to one request: each costs us time, however small it is."""
    pieces: int = 10_000
    """Of bytes, in answer to one request."""
    memory_requests: int = 200
    """Requests for stored files in one run."""


@dataclass
class Output:
    """Output of the executor so far, and the most memory that it had."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    dropped: int = 0
    most_memory: int = 0

    def take(self, stream: Literal["stdout", "stderr"], content: bytes, most: int) -> None:
        held: bytearray = getattr(self, stream)
        room = max(0, most - len(held))
        held += content[:room]
        self.dropped += max(0, len(content) - room)


def failed_to_start(why: str) -> Output:
    """The output of an executor that did not start: the reason."""
    return Output(stderr=bytearray(why.encode("utf-8", "replace")[:LAST_WORDS]))


def last_words(errors: IO[bytes]) -> str:
    """The end of what a child has written to this file. A function's role may not log it, so its answer has it.

    A file, not a pipe: nobody reads it before the child has ended. They share its position, which this leaves alone.
    """
    try:
        size = os.fstat(errors.fileno()).st_size
        return os.pread(errors.fileno(), LAST_WORDS, max(0, size - LAST_WORDS)).decode("utf-8", "replace").strip()
    except (OSError, ValueError):  # it is closed
        return ""


class ExecutorEnded(Exception):
    """The executor is gone: we ended its process, or it ended by itself."""

    def __init__(self, why: WhyEnded, output: Output | None = None, *, has_begun: bool = True) -> None:
        super().__init__(why)
        self.why: WhyEnded = why
        self.output = output or Output()
        self.has_begun = has_begun
        """False if it cannot have begun its request: it ended before it had read it."""


@dataclass(frozen=True)
class ExecutorReply:
    """An executor's answer to a request, in its own words."""

    said: dict[str, Any]
    output: Output
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
    take: Callable[[bytes], None] | None = None
    """Takes the bytes that come; None: they are kept in `pieces`."""
    cancelled: Callable[[], bool] = lambda: False
    answer: Literal["done", "ready"] = "done"
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """A reply that was prepared for a later request does not know it."""
    began: float = field(default_factory=time.monotonic)
    interrupted: bool = False
    output: Output = field(default_factory=Output)
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
        """False if a frame of so many bytes is one too many, or too large."""
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

    def finding(self, said: Message, bounds: Bounds) -> Callable[[], dict[str, str]] | None:
        """What answers a request for a stored file, which may take long. None if the message is no such request."""
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
