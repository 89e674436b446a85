"""TypeScript in a function: a process for each run, in a machine that serves one owner."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from loci.sandbox.lambda_host.function_answer import MOST_PARTS_OF_TOOLS, packed_answer, unpacked_answer
from loci.sandbox.lambda_host.questions import QuestionLine, open_line
from loci.sandbox.supervisor.deno_messages import (
    Broken,
    FinishedRun,
    Json,
    Returned,
    RunLimits,
    Thrown,
    ToolClient,
    TypeScriptJob,
)
from loci.sandbox.supervisor.deno_runs import DenoRunner
from loci.sandbox.wall.layers import offered

TOO_LARGE = Broken("output", "The result and what was written with console are too large together")


class TypeScriptRuns:
    """Answers events. The machine is the wall; the layers that it offers come on top."""

    def __init__(self, deno: str) -> None:
        self._deno = deno
        self._turn = threading.Lock()
        self._runner: DenoRunner | None = None

    def answer(self, event: Mapping[str, Any]) -> dict[str, str]:
        """Run the event's code, and say what came of it. A ping has none: this machine has started."""
        if "ping" in event:
            return packed_answer({}) or {}
        if "packed" in event:
            event = unpacked_answer(event, MOST_PARTS_OF_TOOLS)
        with self._turn:
            if self._runner is None:
                self._runner = DenoRunner(self._deno, offered().layers, spares=1)
        job = _job(event["order"])
        line = open_line(event.get("line"), job.limits.timeout_ms / 1000 + 5)
        try:
            run = self._runner.run(job, lambda tool, arguments: _called(line, tool, arguments))
        finally:
            if line is not None:
                line.close()
        too_large = FinishedRun(TOO_LARGE, type(run.log)(), run.ms, 0)
        return packed_answer(_run_to_json(run)) or packed_answer(_run_to_json(too_large)) or {}

    def close(self) -> None:
        """End all processes."""
        if self._runner is not None:
            self._runner.close()


def _job(order: Mapping[str, Any]) -> TypeScriptJob:
    clients = tuple(
        ToolClient(tuple(one["names"]), tuple((id, tuple(names)) for id, names in one["tools"]), one.get("failure", ""))
        for one in order["clients"]
    )
    limits = order["limits"]
    bounds = RunLimits(limits["timeout_ms"], limits["memory_mb"])
    return TypeScriptJob(order["code"], order["context"], bounds, clients, tuple(order.get("listing", ())))


def _called(line: QuestionLine | None, tool: str, arguments: Json) -> dict[str, Json]:
    answer = line.ask({"tool": tool, "arguments": arguments}) if line else None
    if answer is None:
        return {"ok": False, "error": {"code": "TOOL_FAILED", "message": "Nobody answered this call"}}
    return answer


def _run_to_json(run: FinishedRun) -> dict[str, Any]:
    log = run.log
    answer: dict[str, Any] = {
        "logs": [[line.level, line.text] for line in log.lines],
        "dropped": log.dropped,
        "asked": log.asked,
        "denied": log.denied,
        "ms": run.ms,
        "peak": run.peak_bytes,
    }
    match run.outcome:
        case Broken(why, message):
            return {**answer, "broken": [why, message]}
        case Returned(value, kind, seen, _):
            line: dict[str, Any] = {"t": "result", "value": value, "kind": kind, "seen": [1] if seen else []}
        case Thrown() as error:
            stack = [{"name": name, "line": line, "column": column} for name, line, column in error.stack]
            place = {
                "line": error.line,
                "column": error.column,
                "advice": error.advice,
                "stack": stack,
                "parts": [*error.parts],
            }
            line = {"t": "error", "name": error.name, "message": error.message, **place}
    # As the process said it: whoever reads this judges it once more.
    return {**answer, "said": json.dumps(line)}
