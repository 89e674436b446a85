"""Code that callers bring, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from loci.core.json import Json, JsonObject

Fault = Literal[
    "SANDBOX_TIMEOUT",
    "SANDBOX_MEMORY",
    "CODE_ERROR",
    "SANDBOX_EXITED",
    "SANDBOX_OUTPUT",
    "SANDBOX_PROTOCOL",
    "SANDBOX_START",
    "SANDBOX_CANCELLED",
]


@dataclass(frozen=True, slots=True)
class RunLimits:
    timeout_ms: int = 30_000
    memory_mb: int = 512
    read_paths: tuple[str, ...] = ()
    """Real paths that the code may read."""


@dataclass(frozen=True, slots=True)
class ToolClient:
    """A tool server as code sees it: the names of its object, and of each tool its id and the names of its method."""

    names: tuple[str, ...]
    tools: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One run of TypeScript."""

    code: str
    context: JsonObject = field(default_factory=dict[str, Json])
    limits: RunLimits = RunLimits()
    clients: tuple[ToolClient, ...] = ()


@dataclass(frozen=True, slots=True)
class LogLine:
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run printed and took, however it ended."""

    logs: Sequence[LogLine] = ()
    logs_dropped: int = 0
    ms: float = 0.0
    memory_mb: float = 0.0
    calls: int = 0
    """Of tools, those that were denied included."""
    denied: int = 0


@dataclass(frozen=True, slots=True)
class Completed:
    """The run gave a value."""

    value: Json
    kind: str | None
    """Where the value is none of JSON's: what it was, such as `undefined`, `bigint` or `Map`."""
    steady: bool
    """Whether the same code gives the same again: it used no clock, randomness, files, modules or tools."""
    measured: Measured = Measured()


@dataclass(frozen=True, slots=True)
class Failed:
    """The run gave none."""

    code: Fault
    message: str
    advice: str | None = None
    stack: Sequence[Mapping[str, Json]] = ()
    """The caller's own frames, the innermost first."""
    measured: Measured = Measured()
