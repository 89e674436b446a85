"""TypeScript in a function. Its virtual machine serves one owner, and reaches only the rows of its run."""

import json
from dataclasses import asdict
from typing import Any, cast, get_args

from loci.adapters.aws.sandbox.machine import Machine, MachineError
from loci.adapters.aws.sandbox.run_credentials import Lender, answering
from loci.adapters.run_results import clean_text, tool_answer, typescript_result
from loci.code.ports import Cancelled, Completed, Failed, ToolCall, never
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import (
    DID_NOT_START,
    BadResultError,
    Broken,
    FinishedRun,
    Logged,
    Returned,
    RunLog,
    Thrown,
    TypeScriptJob,
    WhyBroken,
    parsed,
)
from loci.sandbox.supervisor.deno_runs import MOST_CALLS

GRACE = 30.0
"""Seconds besides a run's own: its machine may have to be started."""
REASONS: tuple[WhyBroken, ...] = get_args(WhyBroken)
NOT_ANSWERED: JsonObject = {"ok": False, "error": {"code": "TOOL_FAILED", "message": "Loci failed on this call"}}


class LambdaSandbox:
    """Runs each job in its owner's machine."""

    def __init__(self, machine: Machine, lender: Lender) -> None:
        self._machine = machine
        self._lender = lender

    def run(
        self,
        owner: Owner,
        job: TypeScriptJob,
        call: ToolCall,
        cancelled: Cancelled = never,  # noqa: ARG002 (an invoked function cannot be ended)
    ) -> Completed | Failed:
        if not job.tools:
            return typescript_result(self._ended(owner, job, None))
        loan = self._lender.lend(job.limits.timeout_ms / 1000 + GRACE)
        try:
            with answering(loan.rows, lambda asked: _answer(call, job, asked), MOST_CALLS, NOT_ANSWERED):
                return typescript_result(self._ended(owner, job, loan.where))
        finally:
            loan.rows.remove()

    def close(self) -> None:
        """Do nothing: no process runs here."""

    def _ended(self, owner: Owner, job: TypeScriptJob, where: JsonObject | None) -> FinishedRun:
        try:
            return _judged(self._machine.ask(owner, "typescript", {"order": asdict(job), "line": where}))
        except MachineError as error:
            if error.is_start:
                return FinishedRun(Broken("start", clean_text(f"{DID_NOT_START}: {error.why}", 500)), RunLog(), 0.0, 0)
            why: WhyBroken = "timeout" if error.is_time else "memory" if error.is_memory else "exited"
            return FinishedRun(Broken(why, clean_text(f"The code ended the sandbox ({error.why})")), RunLog(), 0.0, 0)
        except (BadResultError, ValueError, TypeError, KeyError, AttributeError):
            return FinishedRun(Broken("protocol", "The sandbox gave a result that makes no sense"), RunLog(), 0.0, 0)


def _answer(call: ToolCall, job: TypeScriptJob, asked: Any) -> dict[str, Json]:
    question = cast("dict[str, Any]", asked) if isinstance(asked, dict) else {}
    tool = str(question.get("tool"))
    if tool not in job.tools:
        refusal: JsonObject = {"code": "TOOL_DENIED", "message": f"This run was not given the tool {tool[:80]!r}"}
        return {"ok": False, "error": refusal}
    return tool_answer(call, tool, question.get("arguments"))


def _judged(answer: dict[str, Any]) -> FinishedRun:
    """The run as the function tells it. It is believed only where the code could decide by itself anyway."""
    log = RunLog(dropped=_count(answer["dropped"]), asked=_count(answer["asked"]), denied=_count(answer["denied"]))
    for level, printed in answer["logs"]:
        line = parsed(json.dumps({"t": "log", "level": level, "text": printed}).encode())
        if isinstance(line, Logged):
            log.add(line)
    return FinishedRun(_outcome(answer), log, float(_count(answer["ms"])), _count(answer["peak"]))


def _outcome(answer: dict[str, Any]) -> Returned | Thrown | Broken:
    if "broken" in answer:
        why, message = answer["broken"]
        return Broken(REASONS[REASONS.index(why)], clean_text(message, 500))
    line = parsed(str(answer["said"]).encode("utf-8", "replace"))
    if not isinstance(line, Returned | Thrown):
        raise BadResultError("no result")
    return line


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1 << 48 else 0
