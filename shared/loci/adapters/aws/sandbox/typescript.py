"""TypeScript in a function: a virtual machine serves one owner, and reaches nothing but its run's rows."""

import json
from dataclasses import asdict
from typing import Any, cast

from loci.adapters.aws.sandbox.lent_rows import Lender
from loci.adapters.aws.sandbox.machine import Machine, MachineError
from loci.adapters.aws.sandbox.run_questions import answering
from loci.adapters.sandbox.typescript_results import called, order, outcome
from loci.code.ports import GivenUp, ToolCall, never
from loci.code.run import Completed, Failed, Job
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import (
    BadResultError,
    Broken,
    DenoJob,
    FinishedRun,
    Logged,
    Returned,
    RunLog,
    Thrown,
    WhyBroken,
    parsed,
)
from loci.sandbox.supervisor.tool_calls import MOST_CALLS

GRACE = 30.0
"""Seconds that a run may take beside its own: a machine may have to be started."""
WHYS: tuple[WhyBroken, ...] = ("timeout", "memory", "stuck", "exited", "output", "protocol", "start")

UNANSWERED: JsonObject = {"ok": False, "error": {"code": "TOOL_FAILED", "message": "Loci failed on this call"}}


class LambdaSandbox:
    """Runs each job in its owner's machine. Whoever calls may be waited for as long as the job takes."""

    def __init__(self, machine: Machine, lender: Lender) -> None:
        self._machine = machine
        self._lender = lender

    def run(
        self,
        owner: Owner,
        job: Job,
        call: ToolCall,
        given_up: GivenUp = never,  # noqa: ARG002 (who invokes a function cannot end it)
    ) -> Completed | Failed:
        wanted = order(job)
        if not wanted.tools:
            return outcome(self._ended(owner, wanted, None))
        loan = self._lender.lend(wanted.timeout_ms / 1000 + GRACE)
        try:
            with answering(loan.rows, lambda asked: _answer(call, wanted, asked), MOST_CALLS, UNANSWERED):
                return outcome(self._ended(owner, wanted, loan.told))
        finally:
            loan.rows.remove()

    def close(self) -> None:
        """Nothing runs here."""

    def _ended(self, owner: Owner, wanted: DenoJob, line: JsonObject | None) -> FinishedRun:
        told = {**asdict(wanted), "tools": sorted(wanted.tools), "read": []}
        try:
            return _judged(self._machine.ask(owner, "typescript", {"order": told, "line": line}))
        except MachineError as error:
            why: WhyBroken = "timeout" if error.is_time else "memory" if error.is_memory else "exited"
            return FinishedRun(Broken(why, f"The code ended the sandbox ({error.why})"), RunLog(), 0.0, 0)
        except (BadResultError, ValueError, TypeError, KeyError, AttributeError):
            return FinishedRun(Broken("protocol", "The sandbox gave a result that is none"), RunLog(), 0.0, 0)


def _answer(call: ToolCall, wanted: DenoJob, asked: Any) -> dict[str, Json]:
    question = cast("dict[str, Any]", asked) if isinstance(asked, dict) else {}
    tool = str(question.get("tool"))
    if tool not in wanted.tools:
        refusal: JsonObject = {"code": "TOOL_DENIED", "message": f"This run was not given the tool {tool[:80]!r}"}
        return {"ok": False, "error": refusal}
    return called(call, tool, question.get("arguments"))


def _judged(told: dict[str, Any]) -> FinishedRun:
    """The end as the function tells it; nothing in it is believed that is more than the code's own doing."""
    log = RunLog(dropped=_count(told["dropped"]), asked=_count(told["asked"]), denied=_count(told["denied"]))
    for level, text in told["logs"]:
        line = parsed(json.dumps({"t": "log", "level": level, "text": text}).encode())
        if isinstance(line, Logged):
            log.add(line)
    return FinishedRun(_outcome(told), log, float(_count(told["ms"])), _count(told["peak"]))


def _outcome(told: dict[str, Any]) -> Returned | Thrown | Broken:
    if "broken" in told:
        why, message = told["broken"]
        return Broken(WHYS[WHYS.index(why)], str(message)[:500])
    line = parsed(str(told["said"]).encode("utf-8", "replace"))
    if not isinstance(line, Returned | Thrown):
        raise BadResultError("no end")
    return line


def _count(told: Any) -> int:
    return int(told) if isinstance(told, int | float) and 0 <= told < 1 << 48 else 0
