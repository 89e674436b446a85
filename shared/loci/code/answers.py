"""Runs of TypeScript as callers read them: the reference's fields, and ours beside them where they say something."""

from collections.abc import Mapping
from dataclasses import asdict

from loci.code.run import Completed, Failed, Fault, Measured
from loci.core.errors import LociError, Refused
from loci.core.json import Json, JsonObject

NOTHING_RETURNED = "The code gave no value: end it with an expression, or say return"
WHAT_TO_DO: Mapping[Fault, str] = {
    "SANDBOX_TIMEOUT": "Simplify the code, or raise sandbox_config.timeout",
    "SANDBOX_MEMORY": "Reduce the data, or raise sandbox_config.memoryLimit",
    "CODE_ERROR": "Correct the code and call again",
    "SANDBOX_EXITED": "Return the value, and leave it to the sandbox to end",
    "SANDBOX_OUTPUT": "Return a part of it, or a summary",
    "SANDBOX_PROTOCOL": "Return plain values, and write nothing to standard output but with console",
    "SANDBOX_START": "Try again; if it stays, run: loci doctor",
    "SANDBOX_CANCELLED": "Call again, and wait for the answer",
}


def answer(completed: Completed, *, cached: bool = False) -> JsonObject:
    """What a run gave."""
    told: JsonObject = {"result": completed.value, **_measured(completed.measured)}
    if completed.kind is not None:
        told["result_type"] = completed.kind
    if completed.kind == "undefined":
        told["hint"] = NOTHING_RETURNED
    if cached:
        told["cached"] = True
    return told


def under_way(ms: float, scratchpad_id: str) -> JsonObject:
    """What is said of a run that goes on."""
    return {
        "result": None,
        "logs": [],
        "metrics": {"execution_time_ms": round(ms, 1), "memory_used_mb": 0.0},
        "status": "running",
        "scratchpad_id": scratchpad_id,
        "hint": f"The code goes on. Read its answer with scratchpad_read('{scratchpad_id}') when it is done",
    }


def failure(failed: Failed) -> LociError:
    """Why a run gave nothing, with what it printed until then."""
    details: JsonObject = _measured(failed.measured)
    if failed.stack:
        details["stack"] = [dict(frame) for frame in failed.stack]
    advice = failed.advice or WHAT_TO_DO[failed.code]
    return Refused(failed.message, advice, code=failed.code, details=details)


def as_kept(error: LociError) -> JsonObject:
    """A failure, for who reads it later."""
    told: JsonObject = {"code": error.code, "message": error.what, "resolution": error.resolution}
    return {"error": told, **error.details}


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
