"""Runs TypeScript: a process for each run, which is not believed. Time, memory and how it ended are judged here."""

import contextlib
import json
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from loci.sandbox.supervisor.bounded_json import TooManyPartsError
from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.sandbox.supervisor.deno_messages import (
    DID_NOT_START,
    BadResultError,
    Broken,
    FinishedRun,
    Json,
    Logged,
    OverLimit,
    Ready,
    Returned,
    RunLog,
    Thrown,
    ToolRequest,
    TypeScriptJob,
    parsed,
)
from loci.sandbox.supervisor.deno_process import DenoProcess, NotStartedError
from loci.sandbox.supervisor.deno_starter import DenoStarter, ProcessShape, SpareProcesses
from loci.sandbox.wall.layers import Layer

MOST_CALLS = 200
AT_ONCE = 16
LARGEST_CALL = 1 << 20
LARGEST_ANSWER = 6 << 20
Call = Callable[[str, Json], dict[str, Json]]
"""Calls a tool: `{"ok": true, "value"}`, or `{"ok": false, "error": {"code", "message"}}`. What it raises is a bug."""
MB = 1 << 20
LOOK_SECONDS = 0.02
LAST_WORDS_SECONDS = 1.0
MOST_WRITTEN = 12 * MB
LARGEST_LINE = 6 * MB
MOST_LINES = 40_000  # each costs us time, however short it is
ATTEMPTS = 3
"""Processes that get a job, if each ends before it has read it."""
BESIDE_HEAP_MB = 400
"""Memory that a process may have besides its heap, seen from outside; RLIMIT_DATA does not count shared memory."""
COMMON_MB = 512
"""The heap that spare processes have. A job with another one waits for a process of its own."""
OUT_OF_MEMORY = re.compile(
    rb"out of memory|heap limit|Fatal process OOM|allocation failed|memory allocation of \d+ bytes failed",
    re.IGNORECASE,
)
NO_ROOM = re.compile(
    r"Array buffer allocation failed|WebAssembly[^\n]{0,200}?(?:could not allocate|out of memory|allocation)"
)
GIVEN_UP = Broken("given up", "The call was cancelled")
TOO_DEEP = Broken("too deep", "The code is nested too deeply for the parser")
NEVER = b"promise never resolved"
NO_STACK = b"has overflowed its stack"
"""The words with which the parser, which is no JavaScript, ends a process."""
NO_WORKER = b"Failed to reserve virtual memory for CodeRange"
NO_WORKERS = "Worker threads are not offered: a run has no memory for the heap of another thread"
BY_SIGNAL = 128
"""Added to a signal's number when it ends a process in a namespace."""


class ToolCalls:
    """The tool calls of a run. Answers come from other threads; `descriptors` wake the thread that waits for them."""

    def __init__(self, job: TypeScriptJob, call: Call, log: RunLog) -> None:
        self._allowed = job.tools
        self._call = call
        self._log = log
        self._waiting: deque[ToolRequest] = deque()
        self._answers: deque[bytes] = deque()
        self._under_way = 0
        self._lock = threading.Lock()
        self._pipe: tuple[int, int] | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """A pipe that can be read when there are answers; none before the first call."""
        return () if self._pipe is None else self._pipe[:1]

    def ask(self, asked: ToolRequest) -> None:
        """Call the tool as soon as its turn comes, or refuse to."""
        self._log.asked += 1
        if self._pipe is None:
            self._pipe = os.pipe()
            os.set_blocking(self._pipe[1], False)
        if refusal := self._refusal(asked):
            self._log.denied += 1
            self._answer(asked.number, {"ok": False, "error": {"code": "TOOL_DENIED", "message": refusal}})
            return
        self._waiting.append(asked)
        self._go_on()

    def answers(self) -> list[bytes]:
        """Answers that have come, as lines for the run."""
        if self._pipe is None:
            return []
        os.read(self._pipe[0], 4096)
        found: list[bytes] = []
        with self._lock:
            while self._answers:
                found.append(self._answers.popleft())
        self._go_on()
        return found

    def close(self) -> None:
        """Drop every answer that comes later."""
        with self._lock:
            pipe, self._pipe = self._pipe, None
        for one in pipe or ():
            os.close(one)

    def _refusal(self, asked: ToolRequest) -> str | None:
        if asked.tool not in self._allowed:
            return f"This run was not given the tool {asked.tool[:80]!r}"
        if self._log.asked > MOST_CALLS:
            return f"A run may call tools {MOST_CALLS} times"
        if asked.size > LARGEST_CALL:
            return f"The arguments of a call have at most {LARGEST_CALL // 1024} KB"
        return None

    def _go_on(self) -> None:
        while self._waiting and self._under_way < AT_ONCE:
            asked = self._waiting.popleft()
            with self._lock:
                self._under_way += 1
            future = in_thread(self._call, asked.tool, asked.arguments)
            future.add_done_callback(lambda done, number=asked.number: self._done(number, done))

    def _done(self, number: int, done: "Future[dict[str, Json]]") -> None:
        with self._lock:
            self._under_way -= 1
        failed: dict[str, Json] = {"ok": False, "error": {"code": "TOOL_FAILED", "message": "Loci failed on this call"}}
        self._answer(number, failed if done.exception() else done.result())

    def _answer(self, number: int, answer: dict[str, Json]) -> None:
        line = json.dumps({"n": number, **answer}).encode()
        if len(line) > LARGEST_ANSWER:
            why: Json = {"code": "TOOL_FAILED", "message": f"The answer has more than {LARGEST_ANSWER >> 20} MB"}
            line = json.dumps({"n": number, "ok": False, "error": why}).encode()
        with self._lock:
            if self._pipe is not None:
                self._answers.append(line)
                with contextlib.suppress(BlockingIOError):  # the pipe is full, so it is read soon
                    os.write(self._pipe[1], b"x")


class DenoRunner:
    """Runs code in Deno, from any number of threads."""

    def __init__(self, deno: str, layers: frozenset[Layer], spares: int = 2) -> None:
        self._starter = DenoStarter(deno, layers)
        self.spares = SpareProcesses(self._starter.start, ProcessShape(COMMON_MB), spares)

    def run(self, job: TypeScriptJob, call: Call, cancelled: Callable[[], bool] = lambda: False) -> FinishedRun:
        """Run the code until it ends, has to end, or nobody waits for it any more. Then its process is killed."""
        began = time.monotonic()
        for attempt in range(ATTEMPTS):
            log = RunLog()
            try:
                child = self.spares.take(ProcessShape(job.limits.memory_mb, job.limits.read_paths), is_new=attempt > 0)
            except NotStartedError as error:
                if error.is_killed and attempt + 1 < ATTEMPTS:
                    continue
                return FinishedRun(Broken("start", f"{DID_NOT_START}: {error}"), log, _ms(began), 0)
            bridge = ToolCalls(job, call, log)
            began = time.monotonic()
            try:
                run = _Run(job, child, bridge, log, began, cancelled)
                outcome = run.outcome()
                child.resident()
            finally:
                bridge.close()
                child.close()
            if not run.has_not_begun:
                return FinishedRun(outcome, log, _ms(began), child.peak)
        return FinishedRun(Broken("start", f"{DID_NOT_START}: it ended before it read its job"), RunLog(), 0.0, 0)

    def close(self) -> None:
        """End all processes. One that is just being started ends with its launcher."""
        self.spares.close()
        self._starter.close()


class _Run:
    def __init__(
        self,
        job: TypeScriptJob,
        child: DenoProcess,
        bridge: ToolCalls,
        log: RunLog,
        began: float,
        cancelled: Callable[[], bool],
    ) -> None:
        self._job = job
        self._child = child
        self._bridge = bridge
        self._log = log
        self._cancelled = cancelled
        self.has_not_begun = False
        """True if the process ended before it had read its job: another one may do it."""
        self._until = began + job.limits.timeout_ms / 1000

    def outcome(self) -> Returned | Thrown | Broken:
        if self._cancelled():
            return GIVEN_UP  # before its turn came
        self._child.send(json.dumps(self._job.message()).encode())
        while (left := self._until - time.monotonic()) > 0:
            if self._child.wait(min(left, LOOK_SECONDS), self._bridge.descriptors):
                for answer in self._bridge.answers():
                    self._child.send(answer)
            if (found := self._judged()) is not None:
                return found
            if self._cancelled():
                return GIVEN_UP
        return Broken("timeout", f"The code was stopped after {self._job.limits.timeout_ms} ms")

    def _judged(self) -> Returned | Thrown | Broken | None:
        """The outcome, if the run has ended."""
        try:
            for line in self._child.lines():
                if (found := self._took(line)) is not None:
                    return found
        except TooManyPartsError as error:
            return Broken("output", f"The result is too large to be read: {error}")
        except BadResultError as error:
            return Broken("protocol", f"The sandbox gave a result that makes no sense ({error})")
        if self._child.written > MOST_WRITTEN or self._child.unfinished > LARGEST_LINE:
            return Broken("output", f"The code gave out more than {MOST_WRITTEN // MB} MB")
        if self._child.line_count > MOST_LINES:
            return Broken("output", f"The code printed more than {MOST_LINES:,} lines")
        if self._child.resident() > (self._job.limits.memory_mb + BESIDE_HEAP_MB) * MB:
            return Broken("memory", f"The code used more than {self._job.limits.memory_mb} MB, array buffers included")
        if self._child.is_silent:
            self._last_words()
            self.has_not_begun = self._child.has_read_nothing
            return _ended_silently(self._child, self._job)
        return None

    def _took(self, line: bytes) -> Returned | Thrown | Broken | None:
        if len(line) > LARGEST_LINE:
            return Broken("output", f"A result has at most {LARGEST_LINE // MB} MB")
        match parsed(line):
            case Logged() as logged:
                self._log.add(logged)
            case ToolRequest() as asked:
                self._bridge.ask(asked)
            case Returned() as returned:
                self._log.dropped += returned.dropped
                return returned
            case Thrown() as error:
                self._log.dropped += error.dropped
                return _thrown(error, self._job)
            case OverLimit(what, message, dropped):
                self._log.dropped += dropped
                return TOO_DEEP if what == "depth" else Broken("output", message)
            case Ready():
                pass
        return None

    def _last_words(self) -> None:
        """Wait for the reason of its end, which comes a moment after its output closes."""
        end = time.monotonic() + LAST_WORDS_SECONDS
        while (self._child.ended is None or self._child.stderr >= 0) and (left := end - time.monotonic()) > 0:
            self._child.wait(left, ())


def _thrown(error: Thrown, job: TypeScriptJob) -> Thrown | Broken:
    """The error that the code threw; or the limit that caused it."""
    if error.name in ("RangeError", "Error") and NO_ROOM.search(error.message):
        return Broken("memory", f"The code used more than the {job.limits.memory_mb} MB that it may ({error.message})")
    return error


def _ended_silently(child: DenoProcess, job: TypeScriptJob) -> Broken:
    """The reason why the process ended without an answer."""
    status, memory_mb = child.ended, job.limits.memory_mb
    by_signal = status is not None and (status < 0 or status > BY_SIGNAL)
    if by_signal and NO_STACK in child.errors:
        return TOO_DEEP
    if by_signal and NO_WORKER in child.errors:
        return Broken("no workers", NO_WORKERS)
    # Or it has no words left.
    if by_signal and (OUT_OF_MEMORY.search(child.errors) or child.was_out_of_memory or child.peak > memory_mb * MB):
        return Broken("memory", f"The code used more than the {memory_mb} MB of heap that it may")
    if NEVER in child.errors:
        return Broken("stuck", "The code waits for something that never comes")
    ended = "it closed its output" if status is None else f"its status was {status}"
    return Broken("exited", f"The code ended the sandbox before it gave a result ({ended})")


def _ms(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)
