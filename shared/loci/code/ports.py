"""The ports of code: what runs it, and what it needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import TypeScriptJob

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
class ExecutorStatus:
    """An executor between and during runs, as far as it is known without asking its code."""

    state: Literal["running", "idle", "saved", "new"]
    """Running: code runs in it now. Idle: it has a process, which waits; on AWS its machine may be gone by now. Saved:
    only what was saved of it is there. New: it has no variables."""
    memory_mb: float | None = None
    """Memory of its process now, or the most of its last run where nobody can look at it; None without a process."""
    variables: tuple[str, ...] = ()
    """The variables that its last run left."""
    unsaved: tuple[str, ...] = ()
    """The variables that runs may have changed since they were saved."""
    saved_bytes: int | None = None
    """Bytes of the variables that were saved last; None if no variables were saved."""


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
class WrittenFile:
    """A file in the work folder that the run wrote."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PythonResult:
    """The result of one run of code. It has what the code printed, however the run ended."""

    outcome: Value | RunFailure | None
    """The value, or the failure; None if the code reached its end and its last statement has no value."""
    stdout: str
    stderr: str
    truncated: bool
    elapsed_ms: float
    memory_mb: float
    condition: ExecutorCondition
    figures: tuple[bytes, ...] = ()
    """PNG images."""
    files: tuple[WrittenFile, ...] = ()


@dataclass(frozen=True, slots=True)
class InBlobs:
    """Content that lies in the blob store. It is copied there if possible, so that it need not pass through here."""

    key: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A stored file, as code may read it. A new version means new content."""

    name: str
    version: str
    content: bytes | InBlobs
    number: int = 0
    """The number of the version, counted from 1; 0 if versions are not counted."""
    path: str | None = None
    """The path of a file, if it says more than the name."""


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


def no_tools(tool: str, arguments: JsonObject) -> Json:  # noqa: ARG001
    """Call nothing: this run has no tools."""
    raise NotFound(f"This run was not given the tool {tool[:80]!r}", "Do without", code="TOOL_DENIED")


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
    """Return False: somebody always waits."""
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

    def read(self, owner: Owner, id: str) -> StoredContent:
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
        call: ToolCall = no_tools,
        seconds: float | None = None,
    ) -> PythonResult:
        """Run the code, and return as soon as it ends or has to be ended, after `seconds` or the operator's limit.

        Calls `call`, from other threads, for each tool that the code calls, whichever it names.

        The run begins with the variables of the last one, wherever that ran; the answer names the lost ones.
        They are kept until `keep_until`. An executor runs one thing at a time: a second run is `Refused`.
        """
        ...

    def read_file(self, owner: Owner, id: str, name: str, most: int) -> bytes:
        """A file of the executor's work folder, as its last run left it.

        Raises `NotFound`, with the reason, if it does not exist, is no plain file or has more bytes than `most`.
        """
        ...

    def status(self, owner: Owner, id: str) -> ExecutorStatus:
        """The state of the executor, without waiting for its code. An executor that does not exist is new."""
        ...

    def forget(self, owner: Owner, id: str) -> None:
        """Remove everything of the executor. An id that does not exist is no error."""
        ...

    def close(self) -> None:
        """Save what is not saved yet, and end every run: the server stops."""
        ...
