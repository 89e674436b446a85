"""The ports of code: what runs it, and what it needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from loci.code.python_run import ExecutorNow, Ran, Stored
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import TypeScriptJob

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
ToolCall = Callable[[str, JsonObject], Json]
"""Calls the tool with this id and returns its answer. Raises `LociError` if the tool fails."""
Cancelled = Callable[[], bool]
"""True if nobody waits for the answer any more: what still runs for it may be ended."""


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


def never() -> bool:
    """Somebody always waits."""
    return False


class Sandbox(Protocol):
    """Runs callers' TypeScript where it can reach nothing. The code is hostile, and anything it says may be false."""

    def run(self, owner: Owner, job: TypeScriptJob, call: ToolCall, cancelled: Cancelled = never) -> Completed | Failed:
        """Run the job. Owners share nothing that one of them could change.

        Calls `call`, from other threads, only for tools of the job's clients.

        Raises `Unavailable` if no code can run safely now.
        """
        ...

    def close(self) -> None:
        """End every run."""
        ...


class Jobs(Protocol):
    """Starts jobs: work that goes on after the request that asked for it has ended."""

    def send(self, job: JsonObject) -> None:
        """Have the job done, perhaps more than once. Raises `Unavailable` if nobody takes it."""
        ...


class StoredFiles(Protocol):
    """Stored files, for code that computes on them."""

    def read(self, owner: Owner, id: str) -> Stored:
        """Read the file as it is now. Raises `NotFound` if the owner has no file with this id."""
        ...


class Executors(Protocol):
    """Python behind a wall. Each executor keeps its variables and its work folder from run to run."""

    def open(self, owner: Owner) -> str:
        """Open a new executor and return its id, which nobody can guess.

        Raises `Unavailable` if code cannot run behind a wall here.
        """
        ...

    def run(
        self,
        owner: Owner,
        id: str,
        code: str,
        files: StoredFiles,
        keep_until: float,
        cancelled: Cancelled = never,
        *,
        seconds: float | None = None,
    ) -> Ran:
        """Run the code, and return as soon as it ends or has to be ended, after `seconds` or what an operator has set.

        The run begins with the variables of the last one, wherever that ran; the answer names those that are gone.
        They are kept until `keep_until`. An executor runs one thing at a time: a second run is `Refused`.
        """
        ...

    def read_file(self, owner: Owner, id: str, name: str, most: int) -> bytes:
        """A file of the executor's work folder, as its last run left it.

        Raises `NotFound`, with the reason, if there is none, or if it is no plain file or has more bytes than `most`.
        """
        ...

    def look(self, owner: Owner, id: str) -> ExecutorNow:
        """How it is with the executor. Waits for no code. One that does not exist is new."""
        ...

    def forget(self, owner: Owner, id: str) -> None:
        """Remove everything of the executor. An id that does not exist is no error."""
        ...

    def close(self) -> None:
        """Save what is not saved yet, and end every run: the server stops."""
        ...
