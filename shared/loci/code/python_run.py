"""Python sessions that keep their state, and the result of one run in them."""

from collections.abc import Callable
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
    """The state of an executor's variables after a run."""

    state: State
    kept: tuple[str, ...] = ()
    lost: tuple[LostVariable, ...] = ()
    older: tuple[str, ...] = ()
    """The kept ones that are back as they were saved, before a run that may have changed them."""
    unsaved: str | None = None
    """Why the variables are only in the memory of a machine that may go; None: they lie on disk or in the bucket."""


@dataclass(frozen=True, slots=True)
class ExecutorNow:
    """An executor between and during runs, as far as it is known without asking its code."""

    state: Literal["running", "idle", "saved", "new"]
    """Running: code runs in it now. Idle: it has a process, which waits; on AWS its machine may be gone by now. Saved:
    only what was saved of it is there. New: it has no variables."""
    memory_mb: float | None = None
    """Of its process now. Where nobody can look at that, the most that its last run took; None if it has none."""
    variables: tuple[str, ...] = ()
    """Those that its last run left."""
    unsaved: tuple[str, ...] = ()
    """Those of them that runs may have changed since they were saved."""
    saved_bytes: int | None = None
    """Of the variables that were saved last; None if none were."""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of the last expression, as Python shows it."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class RunFailure:
    """The reason why the code did not reach its end."""

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
    """The result of one run of code. It has what the code printed, however the run ended."""

    outcome: Value | RunFailure | None
    """None: the code reached its end, and its last statement has no value."""
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
class InBlobs:
    """Content that lies in the blob store. Whoever can copies it there, so that it need not pass through here."""

    key: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored file, as code may read it. A new version means new content."""

    name: str
    version: str
    content: bytes | InBlobs
    number: int = 0
    """Counts the versions of the file from 1, if somebody does."""
