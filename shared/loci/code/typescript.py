"""TypeScript that callers bring: checked, run in the sandbox, remembered, and kept for later if it takes long."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from loci.code.bridge import UNDEFINED, Bridge, PastRuns, clients
from loci.code.packages import NOT_STARTED, WHEN_NOT_STARTED
from loci.code.ports import Cancelled, Completed, Failed, Fault, Measured, Sandbox, never
from loci.code.runs import LocalRun, RunQueue, late_failure, read_later
from loci.core import tracing
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject
from loci.core.telemetry import Telemetry
from loci.sandbox.supervisor.deno_messages import RunLimits, TypeScriptJob
from loci.scratchpad.api import Scratchpad

if TYPE_CHECKING:
    from loci.gateway.api import Tools

NOTHING_RETURNED = "The code returned no value: end it with an expression, or use return"
WHAT_TO_DO: Mapping[Fault, str] = {
    "SANDBOX_TIMEOUT": "Simplify the code, or raise sandbox_config.timeout",
    "SANDBOX_MEMORY": "Reduce the data, or raise sandbox_config.memoryLimit",
    "CODE_ERROR": "Correct the code and call again",
    "SANDBOX_EXITED": "Return the value, and do not end the process: the sandbox does that",
    "SANDBOX_OUTPUT": "Return a part of it, or a summary",
    "SANDBOX_PROTOCOL": "Return plain values, and print only with console",
    "SANDBOX_START": WHEN_NOT_STARTED,
    "SANDBOX_CANCELLED": "Call again, and wait for the answer",
}
# Nothing below them is a file, and some of it shows other processes.
NO_FILES = (Path("/proc"), Path("/sys"), Path("/dev"))
ENTRIES = 100
OWNERS = 64
LARGEST = 256 * 1024
TOOL = "pml_execute_code"
LARGEST_CODE = 100 * 1024
"""Bytes of UTF-8."""
FENCE = "```"
GRACE = 900.0
"""Seconds beyond a run's own time, in which it may wait for its turn. After that nobody expects its result any more."""


@dataclass(frozen=True, slots=True)
class Readable:
    """The paths that a run asked for, sorted."""

    allowed: tuple[str, ...]
    """The allowed paths, with links resolved."""
    refused: tuple[str, ...]
    """The refused paths, as the run named them. A missing path is refused like one that is not allowed."""


def readable(asked: Sequence[str], roots: Iterable[Path], private: Path | None) -> Readable:
    """Sort the paths by what both sides say. If a path holds an allowed folder, that folder is allowed.

    Nothing private is ever allowed.
    """
    real_roots = [real for root in roots if (real := _real(root)) is not None and _may_be(real, private)]
    allowed: dict[str, None] = {}
    refused: list[str] = []
    for path in asked:
        real = _real(Path(path)) if path.startswith("/") and "\0" not in path else None
        found = [] if real is None else [both for root in real_roots if (both := _both(real, root)) is not None]
        found = [one for one in found if _may_be(one, private)]
        if not found:
            refused.append(path)
        allowed |= dict.fromkeys(map(str, found))
    return Readable(tuple(allowed), tuple(refused))


def _both(one: Path, other: Path) -> Path | None:
    if one.is_relative_to(other):
        return one
    return other if other.is_relative_to(one) else None


def _may_be(path: Path, private: Path | None) -> bool:
    if "," in str(path) or any(path.is_relative_to(one) for one in NO_FILES) or path == Path("/"):
        return False
    return private is None or (_both(path, private.resolve()) is None)


def _real(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):  # a loop of links
        return None


class ResultsCache:
    """The last hundred results of each owner, while the server runs."""

    def __init__(self, owners: int = OWNERS) -> None:
        self._owners = owners
        self._kept: OrderedDict[str, OrderedDict[str, Completed]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, owner: Owner, key: str) -> Completed | None:
        """The result of an earlier run; None if no run is remembered."""
        with self._lock:
            mine = self._kept.get(owner.key)
            found = None if mine is None else mine.get(key)
            if mine is not None and found is not None:
                mine.move_to_end(key)
            return found

    def keep(self, owner: Owner, key: str, completed: Completed) -> None:
        """Remember the result, unless it is large or may differ next time."""
        measured = completed.measured
        if not completed.steady or measured.calls or _size(completed) > LARGEST:
            return
        with self._lock:
            mine = self._kept.setdefault(owner.key, OrderedDict())
            mine[key] = completed
            mine.move_to_end(key)
            self._kept.move_to_end(owner.key)
            if len(mine) > ENTRIES:
                mine.popitem(last=False)
            if len(self._kept) > self._owners:
                self._kept.popitem(last=False)


def key_of(job: TypeScriptJob) -> str:
    """A key that is the same for the same code, context, limits and tools. Code sees the order of keys: it counts."""
    limits = [job.limits.timeout_ms, job.limits.memory_mb, *job.limits.read_paths]
    seen = (job.context, limits, [asdict(one) for one in job.clients], job.listing)
    return content_id(job.code, *map(json.dumps, seen), length=32)


def _size(completed: Completed) -> int:
    return len(json.dumps(completed.value)) + sum(len(line.text) for line in completed.measured.logs)


@dataclass(frozen=True, slots=True)
class TypeScriptRequest:
    """The code that a caller wants to run, and with what."""

    code: str
    intent: str | None = None
    context: JsonObject = field(default_factory=dict[str, Json])
    timeout_ms: int = 30_000
    memory_mb: int = 512
    read_paths: Sequence[str] = ()
    tools: Sequence[str] = ()
    """The tools that the caller names: ids, or patterns such as `server:*`."""

    def as_json(self) -> JsonObject:
        """The request as a run's record keeps it."""
        return asdict(self)

    @staticmethod
    def from_json(value: JsonObject) -> "TypeScriptRequest":
        """The request of a run's record."""
        return TypeScriptRequest(**cast("dict[str, Any]", value))


class TypeScriptRun(LocalRun):
    """A run of TypeScript.

    Its answer comes as `future`'s result or as a scratchpad entry, never both.
    """

    def __init__(self, caller: Caller, seconds: float, scratchpad: Scratchpad, cancelled: Cancelled) -> None:
        super().__init__(cancelled)
        self._caller = caller
        self._seconds = seconds
        self._scratchpad = scratchpad
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._promised: str | None = None

    def later(self) -> JsonObject:
        """Stop waiting, and return the answer that the run goes on, or its own answer if it has just come."""
        with self._lock:
            if not self.future.done():
                self._promised = self._scratchpad.promise(self._caller.owner, TOOL, self._seconds + GRACE)
                return typescript_under_way((time.monotonic() - self._began) * 1000, self._promised)
        return self.future.result()

    def done(self, end: JsonObject | LociError) -> None:
        """Give the end to the call, or to the scratchpad if it was promised there. Drop it if nobody waits."""
        if self.was_cancelled():
            return
        with self._lock:
            if self._promised is None:
                if isinstance(end, LociError):
                    self.future.set_exception(end)
                else:
                    self.future.set_result(end)
                return
        text = json.dumps(late_failure(end) if isinstance(end, LociError) else end, ensure_ascii=False)
        self._scratchpad.keep(self._caller.owner, TOOL, text, id=self._promised)


class TypeScript:
    """Runs TypeScript in this process's sandbox. Each run has its own process, tools and quota."""

    def __init__(
        self,
        sandbox: Sandbox,
        tools: "Callable[[], Tools]",
        scratchpad: Scratchpad,
        telemetry: Telemetry,
        *,
        cache: ResultsCache | None,
        read_roots: Sequence[Path] = (),
        private: Path | None = None,
    ) -> None:
        self._past_runs = PastRuns(tools)
        self._sandbox = sandbox
        self._tools = tools
        self._scratchpad = scratchpad
        self._telemetry = telemetry
        self._cache = cache
        self._read_roots = read_roots
        self._private = private
        self._queue = RunQueue()

    def check(self, request: TypeScriptRequest) -> None:
        """Refuse code that is too large."""
        size = len(request.code.encode("utf-8", "replace"))
        if size > LARGEST_CODE:
            raise Refused(
                f"The code has {size:,} bytes; the most is {LARGEST_CODE:,}",
                "Send less code, and data as `context`",
                code="CODE_TOO_LARGE",
            )

    def start(self, caller: Caller, request: TypeScriptRequest, cancelled: Cancelled = never) -> TypeScriptRun:
        """Start a run on a thread of its own, as soon as its turn comes. Raises `LociError` if it may not begin."""
        self.check(request)
        run = TypeScriptRun(caller, request.timeout_ms / 1000, self._scratchpad, cancelled)
        self._queue.enter(caller.owner.key, partial(self._drive, run, caller, request))
        return run

    def run(self, caller: Caller, request: TypeScriptRequest, cancelled: Cancelled = never) -> JsonObject:
        """Run it when its turn comes, and return its answer. Raises `LociError` if it has none."""
        ended: Future[JsonObject | LociError] = Future()
        around = copy_context()

        def drive() -> None:
            try:
                ended.set_result(around.run(self._end, caller, request, cancelled))
            except BaseException as error:
                ended.set_exception(error)
                raise

        self._queue.enter(caller.owner.key, drive)
        end = ended.result()
        if isinstance(end, LociError):
            raise end
        return end

    def finish_learning(self) -> None:
        """Wait until the runs so far are learned from."""
        self._past_runs.finish()

    def close(self) -> None:
        """End every run: the server stops."""
        self._sandbox.close()

    def _drive(self, run: TypeScriptRun, caller: Caller, request: TypeScriptRequest) -> None:
        """Bring a run to its end. A bug ends it, too."""
        end: JsonObject | LociError = Unavailable("Loci failed on this run", "Read its log", code="INTERNAL_ERROR")
        try:
            end = self._end(caller, request, run.was_cancelled)
        finally:
            run.done(end)

    def _end(self, caller: Caller, request: TypeScriptRequest, cancelled: Cancelled) -> JsonObject | LociError:
        """The answer or the error of a run, from memory if the same code has run before."""
        try:
            paths = readable(request.read_paths, self._read_roots, self._private)
            bridge = Bridge(self._tools(), caller, request.intent, request.code, request.tools)
            limits = RunLimits(request.timeout_ms, request.memory_mb, paths.allowed)
            offered = clients(bridge.tools, bridge.down)
            code = whole_characters(unfenced(request.code))
            job = TypeScriptJob(code, request.context, limits, offered, bridge.listing)
            key = key_of(job) if self._cache else ""
            known = self._cache.find(caller.owner, key) if self._cache else None
            offers = self._past_runs.offers(caller, request.intent, bridge)
            if known is not None:
                self._past_runs.ended(caller, code, request.intent, request.context, bridge, known)
                return _with_refused(typescript_answer(known, cached=True) | offers, paths)
            with tracing.span("sandbox typescript"):
                ended = self._sandbox.run(caller.owner, job, tracing.bound(bridge.call), cancelled)
            if cancelled():
                bridge.cancelled.cancel()
        except LociError as error:
            if error.code == NOT_STARTED:
                self._telemetry.not_started(language="TypeScript", reason=error.what)
            return error
        self._report(caller, ended, bridge)
        self._past_runs.ended(caller, code, request.intent, request.context, bridge, ended)
        match ended:
            case Completed():
                if self._cache and not bridge.called:
                    self._cache.keep(caller.owner, key, ended)
                return _with_refused(typescript_answer(ended) | offers, paths)
            case Failed():
                return typescript_failure(_with_advice(ended, paths, bridge))

    def _report(self, caller: Caller, ended: Completed | Failed, bridge: Bridge) -> None:
        self._telemetry.ran(
            owner=caller.owner.key,
            ms=ended.measured.ms,
            outcome="ok" if isinstance(ended, Completed) else ended.code,
            tools=bridge.called,
            denied=ended.measured.denied,
        )
        if isinstance(ended, Failed) and ended.code == NOT_STARTED:
            self._telemetry.not_started(language="TypeScript", reason=ended.message)


def _with_refused(answer: JsonObject, paths: Readable) -> JsonObject:
    refused: list[Json] = [*paths.refused]
    return {**answer, "refused_read_paths": refused} if refused else answer


def _with_advice(failed: Failed, paths: Readable, bridge: Bridge) -> Failed:
    if failed.advice is None and (unknown := UNDEFINED.match(failed.message)) and (near := bridge.nearest(unknown[1])):
        return replace(failed, advice=f"Declare it. If it is meant to be a tool, the nearest are {near}")
    if failed.code != "CODE_ERROR" or not paths.refused or "NotCapable" not in failed.message:
        return failed
    return replace(failed, advice=f"The operator does not allow reading {', '.join(paths.refused)[:300]}")


def typescript_answer(completed: Completed, *, cached: bool = False) -> JsonObject:
    """The answer of a run of TypeScript."""
    answer: JsonObject = {"result": completed.value, **_measured(completed.measured)}
    if completed.kind is not None:
        answer["result_type"] = completed.kind
    if completed.kind == "undefined":
        answer["hint"] = NOTHING_RETURNED
    if cached:
        answer["cached"] = True
    return answer


def typescript_failure(failed: Failed) -> LociError:
    """The error of a run of TypeScript, with what the code printed before it failed."""
    details: JsonObject = _measured(failed.measured)
    if failed.stack:
        details["stack"] = [dict(frame) for frame in failed.stack]
    advice = failed.advice or WHAT_TO_DO[failed.code]
    return Refused(failed.message, advice, code=failed.code, details=details)


def typescript_under_way(ms: float, scratchpad_id: str) -> JsonObject:
    """The answer for a run of TypeScript that goes on, after `ms` milliseconds."""
    return {
        "result": None,
        "logs": [],
        "metrics": {"execution_time_ms": round(ms, 1), "memory_used_mb": 0.0},
        "status": "running",
        "scratchpad_id": scratchpad_id,
        "hint": read_later(scratchpad_id),
    }


def whole_characters(text: str) -> str:
    """The text without half characters (lone surrogates), which callers' code can write and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def unfenced(code: str) -> str:
    """The code without the fence of Markdown around it. Each line keeps its number."""
    inner = code.strip()
    opening, _, rest = inner.partition("\n")
    language = opening.removeprefix(FENCE).strip()
    if not (opening.startswith(FENCE) and rest.endswith(FENCE) and (not language or language.isalnum())):
        return code
    above = code[: len(code) - len(code.lstrip())].count("\n")
    return "\n" * (above + 1) + rest[: -len(FENCE)]


def _measured(measured: Measured) -> JsonObject:
    logs: list[Json] = [{**asdict(line)} for line in measured.logs]
    told: JsonObject = {
        "logs": logs,
        "metrics": {"execution_time_ms": round(measured.ms, 1), "memory_used_mb": round(measured.memory_mb, 1)},
    }
    if measured.logs_dropped:
        told["logs_dropped"] = measured.logs_dropped
    if measured.calls:
        told["tool_calls"] = measured.calls
    return told
