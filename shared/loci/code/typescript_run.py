"""The result of a run of TypeScript."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loci.core.json import Json

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
