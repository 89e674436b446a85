"""TypeScript in a function: each run a process of its own, in a machine that serves one owner."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from loci.sandbox.lambda_host.packed import packed
from loci.sandbox.lambda_host.question_line import QuestionLine, opened
from loci.sandbox.supervisor.deno_messages import Broken, DenoJob, FinishedRun, Json, Returned, Thrown
from loci.sandbox.supervisor.deno_runs import DenoRunner
from loci.sandbox.wall.probe import offered

TOO_LARGE = Broken("output", "The result and what was written with console are too large together")


class TypeScriptRuns:
    """TypeScriptRuns orders, one after the other. The machine is the wall; the layers that it offers come on top."""

    def __init__(self, deno: str) -> None:
        self._deno = deno
        self._turn = threading.Lock()
        self._host: DenoRunner | None = None

    def answer(self, event: Mapping[str, Any]) -> dict[str, str]:
        """What became of the order."""
        with self._turn:
            if self._host is None:
                self._host = DenoRunner(self._deno, offered().layers, spares=1)
        order = _order(event["order"])
        line = opened(event.get("line"), order.timeout_ms / 1000 + 5)
        try:
            ended = self._host.run(order, lambda tool, arguments: _called(line, tool, arguments))
        finally:
            if line is not None:
                line.close()
        return packed(_told(ended)) or packed(_told(FinishedRun(TOO_LARGE, type(ended.log)(), ended.ms, 0))) or {}

    def close(self) -> None:
        """End all processes."""
        if self._host is not None:
            self._host.close()


def _order(told: Mapping[str, Any]) -> DenoJob:
    return DenoJob(
        code=told["code"],
        context=told["context"],
        servers=tuple(told["servers"]),
        tools=frozenset(told["tools"]),
        timeout_ms=told["timeout_ms"],
        memory_mb=told["memory_mb"],
    )


def _called(line: QuestionLine | None, tool: str, arguments: Json) -> dict[str, Json]:
    answer = line.ask({"tool": tool, "arguments": arguments}) if line else None
    if answer is None:
        return {"ok": False, "error": {"code": "TOOL_FAILED", "message": "Nobody answered this call"}}
    return answer


def _told(ended: FinishedRun) -> dict[str, Any]:
    log = ended.log
    told: dict[str, Any] = {
        "logs": [[line.level, line.text] for line in log.lines],
        "dropped": log.dropped,
        "asked": log.asked,
        "denied": log.denied,
        "ms": ended.ms,
        "peak": ended.peak_bytes,
    }
    match ended.outcome:
        case Broken(why, message):
            return {**told, "broken": [why, message]}
        case Returned(value, kind, seen, _):
            line: dict[str, Any] = {"t": "result", "value": value, "kind": kind, "seen": [1] if seen else []}
        case Thrown() as error:
            stack = [{"name": name, "line": line, "column": column} for name, line, column in error.stack]
            place = {"line": error.line, "column": error.column, "advice": error.advice, "stack": stack}
            line = {"t": "error", "name": error.name, "message": error.message, **place}
    # As the process said it: who reads it judges it once more.
    return {**told, "said": json.dumps(line)}
