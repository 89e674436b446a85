"""How a run ended, as judged from outside."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from loci.sandbox.supervisor.deno_process import Child
from loci.sandbox.supervisor.messages import Json, Logged, Returned, Thrown

Why = Literal["timeout", "memory", "stuck", "exited", "output", "protocol", "start", "given up"]
OUT_OF_MEMORY = re.compile(rb"out of memory|heap limit|Fatal process OOM|allocation failed", re.IGNORECASE)
NO_ROOM = re.compile(r"Array buffer allocation failed|WebAssembly.*(could not allocate|out of memory|allocation)")
NEVER = b"promise never resolved"
BY_SIGNAL = 128
"""What namespaces make of a signal's number."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run, and what it may use."""

    code: str
    context: Mapping[str, Json]
    servers: tuple[Mapping[str, Json], ...] = ()
    """Tools as code sees them: `names` of each server, and of each of its tools the `id` and its `spellings`."""
    tools: frozenset[str] = frozenset()
    """Ids that may be called, whatever the code says that it was shown."""
    timeout_ms: int = 30_000
    memory_mb: int = 512
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """The run gave nothing."""

    why: Why
    message: str


@dataclass(slots=True)
class Account:
    """What is counted while it runs."""

    logs: list[Logged] = field(default_factory=list[Logged])
    room: int = 256 * 1024
    """Characters of logs that are still kept."""
    dropped: int = 0
    """Lines of logs that were not."""
    asked: int = 0
    denied: int = 0

    def log(self, line: Logged) -> None:
        if len(self.logs) >= 1000 or self.room <= 0:
            self.dropped += 1
            return
        kept = line if len(line.text) <= self.room else Logged(line.level, line.text[: self.room] + "…")
        self.room -= len(kept.text)
        self.logs.append(kept)


@dataclass(frozen=True, slots=True)
class Ended:
    outcome: Returned | Thrown | Broken
    account: Account
    ms: float
    peak_bytes: int


def thrown(error: Thrown, memory_mb: int) -> Thrown | Broken:
    """What the code threw; for want of memory it is the limit that ended it."""
    if error.name in ("RangeError", "Error") and NO_ROOM.search(error.message):
        return Broken("memory", f"The code used more than the {memory_mb} MB that it may ({error.message})")
    return error


def silent(child: Child, memory_mb: int) -> Broken:
    """Why it ended without an answer."""
    status = child.ended
    by_signal = status is not None and (status < 0 or status > BY_SIGNAL)
    if by_signal and OUT_OF_MEMORY.search(child.errors):
        return Broken("memory", f"The code used more than the {memory_mb} MB of heap that it may")
    if NEVER in child.errors:
        return Broken("stuck", "The code waits for something that never comes")
    ended = "it closed its output" if status is None else f"its status was {status}"
    return Broken("exited", f"The code ended the sandbox before it gave a result ({ended})")
