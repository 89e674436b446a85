"""The Python runner: each owner's executors, and the code that runs in them."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from loci.code.bridge import calls_by_name
from loci.code.lineage import flow_of, inputs_of
from loci.code.packages import NOT_STARTED
from loci.code.ports import (
    Cancelled,
    Executors,
    ExecutorStatus,
    PythonResult,
    RunFailure,
    StoredContent,
    StoredFiles,
    Value,
    never,
    no_tools,
)
from loci.code.runs import LocalRun, RunQueue, read_later
from loci.core import tracing
from loci.core.errors import LociError, NoSpace, NotFound, Refused
from loci.core.full_disk import freeing
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject, iso
from loci.core.stores import Record, RecordStore, every, read_or_none, update
from loci.core.telemetry import Telemetry
from loci.core.trust import Origin, Readings, few, gathered, saw
from loci.files.file import id_and_version

if TYPE_CHECKING:
    from loci.gateway.api import Tools

LONGEST_WITH_ERROR = 4000
"""Characters of each text beside an error: tool results never shorten errors, so what was printed has to fit."""
MOST_NAMED = 500
"""Variables that an answer names in each list."""
MOST_LOST = 20
"""Names of lost variables in an error's text."""
RUN_KIND = "executor-run"
LONGEST_CODE = 20_000
"""Characters of a run's code that are kept. The hash that is kept is the hash of all of the code."""
MOST_INPUTS = 100
KIND = "executor"
TOOL = "run_memory_code"
BESIDE = 240.0
"""Seconds that a run in another process may take beyond the code's own."""
ID = re.compile(r"executor-[0-9a-f]{32}")
LARGEST_CODE = 1_000_000
"""Bytes of UTF-8."""
KEPT_SECONDS = 7 * 24 * 3600.0
"""Seconds that an executor lives after its last run."""
MARKED_SECONDS = 60.0
"""Seconds between two marks that an executor was used."""
AT_ONCE = 4
"""Runs of one owner at a time; the others wait."""
MOST = 100
"""Executors of an owner. One more takes the place of the one that was idle for longest."""


@dataclass(frozen=True, slots=True)
class NotedFiles:
    """Stored files, and a note of each that was read."""

    files: StoredFiles
    read_ones: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    foreign: dict[str, None] = field(default_factory=dict[str, None])

    def read(self, owner: Owner, id: str) -> StoredContent:
        """Read the file, and note its version, and the texts of others in it."""
        with gathered() as seen:
            stored = self.files.read(owner, id)
        self.foreign.update(seen)
        self.read_ones[f"{id}/{stored.version}"] = {
            "id": id_and_version(id)[0],
            "name": stored.name,
            **({} if stored.path is None else {"path": stored.path}),
            "version": stored.number,
            "sha256": stored.version,
        }
        return stored


@dataclass(frozen=True, slots=True)
class LivingExecutor:
    """An executor of an owner."""

    id: str
    created_at: float | None
    used_at: float
    now: ExecutorStatus


class PythonRun(LocalRun):
    """A run of Python. Its call waits for it to the end: its own limit is short."""


class Runner:
    """Makes executors and runs code in them."""

    def __init__(
        self,
        records: RecordStore,
        executors: Executors,
        files: StoredFiles,
        clock: Callable[[], float],
        telemetry: Telemetry,
        *,
        tools: "Callable[[], Tools] | None" = None,
        seconds: float = 60.0,
        readings: Readings | None = None,
    ) -> None:
        """`tools`: those that code may call; None: it calls no tools. `readings`: what each session has read."""
        self._readings = readings
        self._records = records
        self._executors = executors
        self._files = files
        self._clock = clock
        self._telemetry = telemetry
        self._tools = tools
        self._queue = RunQueue(AT_ONCE)
        self.longest = seconds + BESIDE
        """Seconds that a run in another process takes at most."""

    def create(self, owner: Owner) -> str:
        """Create an executor and return its id."""
        id = self._executors.open(owner)
        now = self._clock()
        try:
            self._records.put(
                owner, KIND, id, {"created_at": now, "used_at": now}, expires_at=now + KEPT_SECONDS, durable=False
            )
        except LociError:
            self._executors.forget(owner, id)
            raise
        self._make_room(owner, id)
        return id

    def run(self, caller: Caller, id: str, code: str, cancelled: Cancelled = never) -> PythonResult:
        """Run the code in the executor. Raises `NotFound` if the owner has none with this id."""
        return self._run(caller, self.check(caller.owner, id, code), code, cancelled)

    def start(self, caller: Caller, id: str, code: str, cancelled: Cancelled = never) -> PythonRun:
        """Run the code on a thread of its own, as soon as its turn comes. Raises `LociError` if it may not begin."""
        record = self.check(caller.owner, id, code)
        run = PythonRun(cancelled)
        self.enter(caller.owner, run, lambda: python_answer(self._run(caller, record, code, run.was_cancelled)))
        return run

    def enter(self, owner: Owner, run: PythonRun, work: Callable[[], JsonObject]) -> None:
        """Bring a run to its end by this work, on a thread of its own, as soon as its turn comes."""
        self._queue.enter(owner.key, partial(self._drive, run, work))

    def once(
        self,
        owner: Owner,
        code: str,
        file: str,
        most: int,
        cancelled: Cancelled = never,
        *,
        files: StoredFiles | None = None,
        seconds: float | None = None,
    ) -> tuple[PythonResult, bytes, list[JsonObject]]:
        """Run code by itself, without tools, in an executor that ends with it.

        Returns the result, the file of that name which the code left, empty if it failed, and the stored files that it
        read. Raises `LociError` if it left no such file, or one of more bytes than `most`.
        """
        id, read = self._executors.open(owner), NotedFiles(files or self._files)
        try:
            with tracing.span("sandbox python"):
                until = self._clock() + KEPT_SECONDS
                ran = self._executors.run(owner, id, code, read, until, cancelled, seconds=seconds)
            saw(read.foreign)
            failed = isinstance(ran.outcome, RunFailure)
            content = b"" if failed else self._executors.read_file(owner, id, file, most)
            return ran, content, [*read.read_ones.values()]
        finally:
            self._executors.forget(owner, id)

    def all(self, owner: Owner) -> list[LivingExecutor]:
        """The owner's executors, the one that was used last first."""
        records = sorted(every(self._records, owner, KIND), key=_used_at, reverse=True)
        return [
            LivingExecutor(
                one.key, read_or_none(one, created_at), _used_at(one), self._executors.status(owner, one.key)
            )
            for one in records
        ]

    @freeing()
    def end(self, owner: Owner, id: str) -> None:
        """Remove the executor with all that is kept of it, and interrupt its run. `NotFound` if it is unknown."""
        self.check(owner, id, "")
        self._records.remove(owner, KIND, id)
        self._executors.forget(owner, id)

    def made_file(self, owner: Owner, id: str, name: str, most: int) -> tuple[bytes, JsonObject]:
        """A file that code left in the work folder, and where it comes from."""
        record = self.check(owner, id, "")
        name = name.removeprefix("./")
        content = self._executors.read_file(owner, id, name, most)
        runs = (one.value for one in every(self._records, owner, RUN_KIND, prefix=f"{id}/"))
        origin = Origin(few(_foreign(record))).lineage() or {}
        return content, {"executor_id": id, "file": name, **inputs_of(name, runs), **origin}

    def check(self, owner: Owner, id: str, code: str) -> Record:
        """The executor's record. Raises `LociError` if it does not exist, or if the code is too large."""
        record = self._records.get(owner, KIND, id) if ID.fullmatch(id) else None
        if record is None:
            raise NotFound(
                f"There is no executor {id[:80]!r}",
                "Create one with create_memory_code_runner(), and run the code that sets up your variables again",
                code="EXECUTOR_NOT_FOUND",
            )
        size = len(code.encode("utf-8", "replace"))
        if size > LARGEST_CODE:
            raise Refused(
                f"The code has {size:,} bytes; the most is {LARGEST_CODE:,}",
                "Run it in parts, and read long values from a file",
                code="CODE_TOO_LARGE",
            )
        return record

    def _run(self, caller: Caller, record: Record, code: str, cancelled: Cancelled) -> PythonResult:
        owner, id, now = caller.owner, record.key, self._clock()
        if now - _used_at(record) >= MARKED_SECONDS:
            value = record.value | {"used_at": now}
            with suppress(NoSpace):  # the code may run all the same
                self._records.put(owner, KIND, id, value, expires_at=now + KEPT_SECONDS, durable=False)
        self._mark(caller, id, _foreign(record))
        files = NotedFiles(self._files)
        call = no_tools if self._tools is None else calls_by_name(self._tools, caller)
        with tracing.span("sandbox python"):
            until, call = now + KEPT_SECONDS, tracing.bound(call)
            ran = self._executors.run(owner, id, code, files, until, cancelled, call=call)
        self._mark(caller, id, files.foreign)
        with suppress(NoSpace):  # the answer is not to be lost
            self._note(owner, id, code, [*files.read_ones.values()], ran, now)
        if isinstance(ran.outcome, RunFailure) and ran.outcome.code == NOT_STARTED:
            self._telemetry.not_started(language="Python", reason=ran.outcome.what)
        return ran

    def note(self, caller: Caller, read: Iterable[str]) -> None:
        """Note what the session has read of others, before it gets the result."""
        if self._readings is not None:
            self._readings.note(caller, read)

    def _mark(self, caller: Caller, id: str, read: Iterable[str]) -> None:
        """Note what the session has read, and mark the executor with all that: a later run finds it in variables."""
        if self._readings is None:
            return
        self.note(caller, read)
        sources = self._readings.sources(caller)

        def change(held: Record | None) -> JsonObject | None:
            if held is None or set(sources) <= set(_foreign(held)):
                return None
            return {**held.value, "foreign": [*few([*_foreign(held), *sources])]}

        if sources:
            until = self._clock() + KEPT_SECONDS
            update(self._records, caller.owner, KIND, id, change, expires_at=until, durable=False)

    def _note(self, owner: Owner, id: str, code: str, read: list[JsonObject], ran: PythonResult, now: float) -> None:
        """Record a run that read stored files, wrote files or set variables, for as long as its executor lives."""
        inputs: list[Json] = [*read[:MOST_INPUTS]]
        files: list[Json] = [one.name for one in ran.files]
        flow = flow_of(code[:LONGEST_CODE])
        if inputs or files or flow is None or flow.gives:
            value: JsonObject = {
                "code": code[:LONGEST_CODE],
                "code_sha256": hashlib.sha256(code.encode("utf-8", "replace")).hexdigest(),
                "made_at": iso(now),
                "inputs": inputs,
                "files": files,
            }
            until = now + KEPT_SECONDS
            self._records.put(owner, RUN_KIND, f"{id}/{now:017.4f}", value, expires_at=until, durable=False)

    def _drive(self, run: PythonRun, work: Callable[[], JsonObject]) -> None:
        """Bring a run to its end. Its call, if it still waits, raises whatever is raised here."""
        try:
            answer = work()
        except BaseException as error:  # noqa: BLE001
            if not (run.was_cancelled() and isinstance(error, LociError)):
                run.future.set_exception(error)
        else:
            run.future.set_result(answer)

    @freeing()
    def _make_room(self, owner: Owner, new: str) -> None:
        records = sorted((one for one in every(self._records, owner, KIND) if one.key != new), key=_used_at)
        for record in records[: max(0, len(records) + 1 - MOST)]:
            self._records.remove(owner, KIND, record.key)
            self._executors.forget(owner, record.key)


def _foreign(record: Record) -> list[str]:
    """The sources of the texts of others that may be in the variables and files of an executor."""
    held = record.value.get("foreign")
    return [str(one) for one in held] if isinstance(held, list) else []


def used_at(record: Record) -> float:
    """The time when an executor was last used."""
    return float(str(record.value["used_at"]))


def created_at(record: Record) -> float:
    """The time when an executor was created."""
    return float(str(record.value["created_at"]))


def _used_at(record: Record) -> float:
    """The same; long ago if the record is damaged."""
    return read_or_none(record, used_at) or 0.0


def python_answer(ran: PythonResult) -> JsonObject:
    """The answer of a run of Python, with its figures as `images`.

    A failed run adds its `error`, and a `text` with what a model needs to correct the code.
    """
    images: list[Json] = [base64.b64encode(image).decode() for image in ran.figures]
    if not isinstance(ran.outcome, RunFailure):
        return {"result": _run_view(ran), "images": images}
    failure = ran.outcome
    stdout, stderr = _end(ran.stdout), _end(ran.stderr)
    printed = {"stdout": stdout, "stderr": stderr}
    truncated = ran.truncated or (stdout, stderr) != (ran.stdout, ran.stderr)
    return {
        "result": {**_run_view(ran), **printed, "truncated": truncated},
        "error": {"code": failure.code, "message": failure.what, "resolution": failure.resolution},
        "text": _failure_text(ran, failure),
        "images": images,
    }


def python_under_way(_: float, scratchpad_id: str) -> JsonObject:
    """The answer for a run of Python that goes on."""
    return {"result": None, "status": "running", "scratchpad_id": scratchpad_id, "hint": read_later(scratchpad_id)}


def _run_view(ran: PythonResult) -> JsonObject:
    value = ran.outcome if isinstance(ran.outcome, Value) else None
    error = ran.outcome if isinstance(ran.outcome, RunFailure) else None
    shown, more = ran.condition.lost[:MOST_NAMED], len(ran.condition.lost) - MOST_NAMED
    lost: list[Json] = [{"name": one.name, "reason": one.reason} for one in shown]
    if more > 0:
        lost.append({"name": f"(and {more:,} more)", "reason": "they are lost, too"})
    figures: list[Json] = [
        {"kind": "figure", "name": f"figure-{number}.png", "size_bytes": len(image)}
        for number, image in enumerate(ran.figures, start=1)
    ]
    files: list[Json] = [{"kind": "file", "name": one.name, "size_bytes": one.size_bytes} for one in ran.files]
    return {
        "stdout": ran.stdout,
        "stderr": ran.stderr,
        "value": value.text if value else None,
        "value_type": value.type if value else None,
        "error": {
            "code": error.code,
            "message": error.what,
            "resolution": error.resolution,
            "traceback": error.traceback,
        }
        if error
        else None,
        "truncated": ran.truncated,
        "elapsed_ms": ran.elapsed_ms,
        "memory_mb": ran.memory_mb,
        "executor": {
            "state": ran.condition.state,
            "kept": [*_named(ran.condition.kept, MOST_NAMED)],
            "lost": lost,
            "older": [*_named(ran.condition.older, MOST_NAMED)],
            "persisted": ran.condition.unsaved is None,
            "reason": ran.condition.unsaved,
        },
        "artifacts": [*figures, *files],
    }


def _failure_text(ran: PythonResult, failure: RunFailure) -> str:
    parts = [f"{failure.code}: {LociError(failure.what, failure.resolution)}"]
    shown = {"stdout": ran.stdout, "stderr": ran.stderr, "traceback": failure.traceback or ""}
    parts += [f"{name}:\n{_end(text.rstrip())}" for name, text in shown.items() if text.strip()]
    if ran.condition.lost:
        lost = [f"{one.name} ({one.reason})" for one in ran.condition.lost]
        parts.append("lost: " + "; ".join(_named(lost, MOST_LOST)))
    if ran.condition.older:
        parts.append("older: " + ", ".join(_named(ran.condition.older, MOST_LOST)))
    return "\n\n".join(parts)


def _named(names: Sequence[str], most: int) -> list[str]:
    """The first of the names, and how many more there are."""
    more = len(names) - most
    return [*names[:most], f"(and {more:,} more)"] if more > 0 else [*names]


def _end(text: str) -> str:
    """The last part of a long text: that is where it says what went wrong."""
    return text if len(text) <= LONGEST_WITH_ERROR else f"…{text[-LONGEST_WITH_ERROR:]}"
