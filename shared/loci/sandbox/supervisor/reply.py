"""What a supervisor tells of an executor. Nothing in it is believed that the executor could gain by."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

MB = 1 << 20

Why = Literal["time", "memory", "disk", "threads", "ended", "protocol", "start", "state size", "given up"]


@dataclass(frozen=True)
class Bounds:
    """What an executor may use."""

    seconds: float = 60.0
    grace_seconds: float = 1.0
    """Between the interrupt, which the code's variables survive, and the end of the process."""
    memory_bytes: int = 1024 * MB
    base_bytes: int = 300 * MB
    """What Python and the packages take before the caller's code takes anything."""
    disk_bytes: int = 256 * MB
    files: int = 10_000
    threads: int = 128
    output_bytes: int = MB
    """Of each of stdout and stderr; what is more is counted, and dropped."""
    reply_bytes: int = 32 * MB
    memory_requests: int = 200


@dataclass
class Output:
    """What came out of the executor so far."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    dropped: int = 0
    most_memory: int = 0

    def take(self, stream: Literal["stdout", "stderr"], content: bytes, most: int) -> None:
        held: bytearray = getattr(self, stream)
        room = max(0, most - len(held))
        held += content[:room]
        self.dropped += max(0, len(content) - room)


class Stopped(Exception):
    """The executor is gone: its process was ended, or has ended by itself."""

    def __init__(self, why: Why, output: Output | None = None) -> None:
        super().__init__(why)
        self.why: Why = why
        self.output = output or Output()


@dataclass(frozen=True)
class Reply:
    """The end of a request, as the executor told it."""

    said: dict[str, Any]
    output: Output
    seconds: float
    interrupted: bool
    pieces: tuple[bytes, ...] = ()


Memory = Callable[[str, str], "dict[str, str]"]
"""Answers a request for a stored file: {"path": …} or {"missing": why}."""
