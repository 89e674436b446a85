"""Python sessions that keep their state, and what one run of code comes to."""

from dataclasses import dataclass
from typing import Literal

State = Literal["new", "kept", "restored", "lost"]
"""New: it had no variables before this run. Kept: it went on where the last run ended. Restored: its variables were
read from where they were saved. Lost: they are gone, or this run has ended the executor."""


@dataclass(frozen=True, slots=True)
class LostVariable:
    """A variable that is gone, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutorCondition:
    """What became of an executor's variables."""

    state: State
    kept: tuple[str, ...] = ()
    lost: tuple[LostVariable, ...] = ()
    unsaved: str | None = None
    """Why the variables are only in the memory of a machine that may go; None: they lie on disk or in the bucket."""


@dataclass(frozen=True, slots=True)
class Value:
    """What the last expression came to, as Python shows it."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why the code did not come to its end."""

    code: str
    what: str
    resolution: str
    traceback: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A file in the work folder that the run wrote."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of code. What it printed is there, whichever way it ended."""

    outcome: Value | RunFailure | None
    """None: it ended well, and not with an expression that has a value."""
    stdout: str
    stderr: str
    truncated: bool
    elapsed_ms: float
    memory_mb: float
    condition: ExecutorCondition
    figures: tuple[bytes, ...] = ()
    """PNG images."""
    files: tuple[Made, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored file, as code may read it. Another version has another content."""

    name: str
    version: str
    content: bytes
