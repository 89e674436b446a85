"""The answers of runs as callers read them: now, in a tool's result, or later, in the scratchpad.

TypeScript's has the reference's fields, and beside them ours if they say something.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from loci.code.packages import WHEN_NOT_STARTED
from loci.code.ports import Completed, Failed, Fault, Measured
from loci.code.python_run import Ran, RunFailure, Value
from loci.core.errors import LociError, Refused
from loci.core.json import Json, JsonObject

LONGEST_WITH_ERROR = 4000
"""Characters of each text beside an error: tool results never shorten errors, so what was printed has to fit."""
MOST_NAMED = 500
"""Variables that an answer names in each list."""
MOST_LOST = 20
"""Names of lost variables in an error's text."""
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


def python_answer(ran: Ran) -> JsonObject:
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
    return {"result": None, "status": "running", "scratchpad_id": scratchpad_id, "hint": _read_later(scratchpad_id)}


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
    """The answer for a run of TypeScript that goes on and has taken so many milliseconds."""
    return {
        "result": None,
        "logs": [],
        "metrics": {"execution_time_ms": round(ms, 1), "memory_used_mb": 0.0},
        "status": "running",
        "scratchpad_id": scratchpad_id,
        "hint": _read_later(scratchpad_id),
    }


def late_failure(error: LociError) -> JsonObject:
    """The error of a run, as the scratchpad keeps it."""
    told: JsonObject = {"code": error.code, "message": error.what, "resolution": error.resolution}
    return {"error": told, **error.details}


def whole_characters(text: str) -> str:
    """The text without half characters (lone surrogates), which callers' code can write and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _read_later(scratchpad_id: str) -> str:
    return f"The code is still running. Read its answer with scratchpad_read('{scratchpad_id}') when it is done"


def _run_view(ran: Ran) -> JsonObject:
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


def _failure_text(ran: Ran, failure: RunFailure) -> str:
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
