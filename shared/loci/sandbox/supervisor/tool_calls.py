"""Tool calls out of a run: limited in number, and only to tools that the run was given."""

import contextlib
import json
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.sandbox.supervisor.deno_messages import Json, RunLog, ToolRequest, TypeScriptJob

MOST_CALLS = 200
AT_ONCE = 16
LARGEST_CALL = 1 << 20
LARGEST_ANSWER = 6 << 20

Call = Callable[[str, Json], dict[str, Json]]
"""Calls a tool: `{"ok": true, "value"}`, or `{"ok": false, "error": {"code", "message"}}`. What it raises is a bug."""


class ToolCalls:
    """The tool calls of one run. Answers come from other threads; `descriptors` wake whoever waits for them."""

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
