"""One run of TypeScript: what it is given, and its result."""

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
    """Paths that the code may read, with links resolved."""


@dataclass(frozen=True, slots=True)
class ToolClient:
    """A tool server as code sees it: its object's names, and each tool's id with its method's names."""

    names: tuple[str, ...]
    tools: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class TypeScriptJob:
    """The TypeScript to run, its data, its limits, and the tools that it may call."""

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
    """The logs and figures of a run, however it ended."""

    logs: Sequence[LogLine] = ()
    logs_dropped: int = 0
    ms: float = 0.0
    memory_mb: float = 0.0
    calls: int = 0
    """Calls of tools, including denied ones."""
    denied: int = 0


@dataclass(frozen=True, slots=True)
class Completed:
    """The run gave a value."""

    value: Json
    kind: str | None
    """The type of a value that JSON does not have, such as `undefined`, `bigint` or `Map`."""
    steady: bool
    """True if the same code gives the same value again: it used no clock, randomness, files, modules or tools."""
    measured: Measured = Measured()


@dataclass(frozen=True, slots=True)
class Failed:
    """The run gave no value."""

    code: Fault
    message: str
    advice: str | None = None
    stack: Sequence[Mapping[str, Json]] = ()
    """The caller's own frames, the innermost first."""
    measured: Measured = Measured()
