"""TypeScript that callers bring: checked, run in the sandbox, remembered, and kept for later where it takes long."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from loci.code.answers import answer, as_kept, failure, under_way
from loci.code.bridge import Bridge, ToolDoor, clients
from loci.code.detached_runs import DetachedRuns, PendingRun
from loci.code.ports import GivenUp, Sandbox, never
from loci.code.read_paths import Readable, readable
from loci.code.results_cache import ResultsCache, key_of
from loci.code.run import Completed, Failed, Job, RunLimits
from loci.code.run_queue import RunQueue
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.core.telemetry import Telemetry
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.scratchpad.api import Scratchpad

TOOL = "pml_execute_code"
LARGEST_CODE = 100 * 1024
"""Bytes of UTF-8."""
PATIENCE = 25.0
"""Seconds that an answer may wait for the code: the front of a deployment on AWS gives up after 29."""
GRACE = 900.0
"""Seconds beside a run's own time until nobody waits for its result any more: it may have to wait for its turn."""


@dataclass(frozen=True, slots=True)
class TypeScriptRequest:
    """What a caller wants to run."""

    code: str
    intent: str | None = None
    context: JsonObject = field(default_factory=dict[str, Json])
    timeout_ms: int = 30_000
    memory_mb: int = 512
    read_paths: Sequence[str] = ()


class TypeScriptRun:
    """One that was begun. Its answer is `future`'s, or the scratchpad's, never both."""

    def __init__(self, caller: Caller, seconds: float, scratchpad: Scratchpad) -> None:
        self.future: Future[JsonObject] = Future()
        self._caller = caller
        self._seconds = seconds
        self._scratchpad = scratchpad
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._promised: str | None = None
        self._is_given_up = threading.Event()

    @property
    def is_given_up(self) -> bool:
        """Whether nobody waits for it."""
        return self._is_given_up.is_set()

    def give_up(self) -> None:
        """Nobody waits for it any more: it is ended soon."""
        self._is_given_up.set()

    def later(self) -> JsonObject:
        """Nobody waits any more: what is said instead, or the answer if it has just come."""
        with self._lock:
            if not self.future.done():
                self._promised = self._scratchpad.promise(self._caller.owner, TOOL, self._seconds + GRACE)
                return under_way((time.monotonic() - self._began) * 1000, self._promised)
        return self.future.result()

    def done(self, ended: JsonObject | LociError) -> None:
        """The run's end, given to who waits, or put where it was promised to be; nowhere where nobody waits."""
        if self.is_given_up:
            return
        with self._lock:
            if self._promised is None:
                if isinstance(ended, LociError):
                    self.future.set_exception(ended)
                else:
                    self.future.set_result(ended)
                return
        text = json.dumps(as_kept(ended) if isinstance(ended, LociError) else ended, ensure_ascii=False)
        self._scratchpad.keep(self._caller.owner, TOOL, text, id=self._promised)


class TypeScript:
    """Runs it. Each run has its own process, tools and quota."""

    def __init__(
        self,
        sandbox: Sandbox,
        tools: ToolDoor,
        scratchpad: Scratchpad,
        telemetry: Telemetry,
        *,
        cache: ResultsCache | None,
        read_roots: Sequence[Path] = (),
        private: Path | None = None,
        patience: float = PATIENCE,
        elsewhere: DetachedRuns | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._tools = tools
        self._scratchpad = scratchpad
        self._telemetry = telemetry
        self._cache = cache
        self._read_roots = read_roots
        self._private = private
        self.patience = patience
        self._elsewhere = elsewhere
        self._places = RunQueue()

    def start(self, caller: Caller, asked: TypeScriptRequest) -> TypeScriptRun | PendingRun:
        """The run, begun: on a thread of its own, or by another process. `LociError` where it may not begin."""
        size = len(asked.code.encode("utf-8", "replace"))
        if size > LARGEST_CODE:
            raise Refused(
                f"The code has {size:,} bytes; {LARGEST_CODE:,} are the most",
                "Send less code, and data as `context`",
                code="CODE_TOO_LARGE",
            )
        if self._elsewhere is not None:
            return self._elsewhere.begin(caller, TOOL, asdict(asked), asked.timeout_ms / 1000, under_way)
        run = TypeScriptRun(caller, asked.timeout_ms / 1000, self._scratchpad)
        self._places.enter(caller.owner.key)
        work = _Work(
            run,
            lambda: self._ended(caller, asked, lambda: run.is_given_up),
            lambda: self._places.leave(caller.owner.key),
        )
        DAEMON_THREADS.start(work.go)
        return run

    def work(self, caller: Caller, asked: JsonObject) -> JsonObject:
        """What a run comes to that another process began; `LociError` where it gives nothing."""
        self._places.enter(caller.owner.key)
        try:
            ended = self._ended(caller, TypeScriptRequest(**cast("dict[str, Any]", asked)))
        finally:
            self._places.leave(caller.owner.key)
        if isinstance(ended, LociError):
            raise ended
        return ended

    def close(self) -> None:
        """The server stops."""
        self._sandbox.close()

    def _ended(self, caller: Caller, asked: TypeScriptRequest, given_up: GivenUp = never) -> JsonObject | LociError:
        """What the run came to; done already where it was remembered."""
        try:
            paths = readable(asked.read_paths, self._read_roots, self._private)
            bridge = Bridge(self._tools, caller, asked.intent)
            limits = RunLimits(asked.timeout_ms, asked.memory_mb, paths.allowed)
            job = Job(_sendable(asked.code), asked.context, limits, clients(bridge.tools))
            key = key_of(job, bridge.tools) if self._cache else ""
            known = self._cache.find(caller.owner, key) if self._cache else None
            if known is not None:
                return _with_refused(answer(known, cached=True), paths)
            with self._places.turn(caller.owner.key):
                ended = self._sandbox.run(caller.owner, job, bridge.call, given_up)
        except LociError as error:
            return error
        self._tell(caller, ended, bridge)
        match ended:
            case Completed():
                if self._cache and not bridge.called:
                    self._cache.keep(caller.owner, key, ended)
                return _with_refused(answer(ended), paths)
            case Failed():
                return failure(_explained(ended, paths))

    def _tell(self, caller: Caller, ended: Completed | Failed, bridge: Bridge) -> None:
        self._telemetry.ran(
            owner=caller.owner.key,
            ms=ended.measured.ms,
            outcome="ok" if isinstance(ended, Completed) else ended.code,
            tools=bridge.called,
            denied=ended.measured.denied,
        )


@dataclass(frozen=True, slots=True)
class _Work:
    """What a run's thread does: it always ends the run, with a bug's exception if need be."""

    run: TypeScriptRun
    ended: Callable[[], JsonObject | LociError]
    leave: Callable[[], None]

    def go(self) -> None:
        end: JsonObject | LociError = Unavailable("Loci failed on this run", "Look at its log", code="INTERNAL_ERROR")
        try:
            end = self.ended()
        finally:
            self.leave()
            self.run.done(end)


def _sendable(code: str) -> str:
    return code.encode("utf-8", "replace").decode()  # half a character is none


def _with_refused(told: JsonObject, paths: Readable) -> JsonObject:
    refused: list[Json] = [*paths.refused]
    return {**told, "refused_read_paths": refused} if refused else told


def _explained(failed: Failed, paths: Readable) -> Failed:
    if failed.code != "CODE_ERROR" or not paths.refused or "NotCapable" not in failed.message:
        return failed
    return replace(failed, advice=f"The operator allows no reading of {', '.join(paths.refused)[:300]}")
