"""Runs of TypeScript, between callers and the sandbox that runs them."""

from collections.abc import Mapping

from loci.code.ports import Completed, Failed, Fault, LogLine, Measured, ToolCall
from loci.core.errors import LociError
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import Broken, FinishedRun, Returned, Thrown, WhyBroken

MB = 1 << 20
FAULTS: Mapping[WhyBroken, Fault] = {
    "timeout": "SANDBOX_TIMEOUT",
    "memory": "SANDBOX_MEMORY",
    "stuck": "CODE_ERROR",
    "too deep": "CODE_ERROR",
    "no workers": "CODE_ERROR",
    "exited": "SANDBOX_EXITED",
    "output": "SANDBOX_OUTPUT",
    "protocol": "SANDBOX_PROTOCOL",
    "start": "SANDBOX_START",
    "given up": "SANDBOX_CANCELLED",
}
ADVICE: Mapping[WhyBroken, str] = {
    "stuck": "Await only promises that something settles",
    "too deep": "Write it in more and shorter statements, and send large data as `context`",
    "no workers": "Do the work in the code itself, without node:worker_threads; several calls run at once",
}
REACHES = "The code has no network, environment or programs, and reads only files in allowedReadPaths"


def called(call: ToolCall, tool: str, arguments: Json) -> dict[str, Json]:
    """Call the tool. Return its answer as the code gets it."""
    if not isinstance(arguments, dict):
        return _refusal("INVALID_PARAMS", "A tool is called with one object")
    try:
        return {"ok": True, "value": call(tool, arguments)}
    except LociError as error:
        return _refusal(error.code, str(error))


def _refusal(code: str, message: str) -> dict[str, Json]:
    error: JsonObject = {"code": code, "message": message}
    return {"ok": False, "error": error}


def run_result(run: FinishedRun) -> Completed | Failed:
    """The run's result."""
    log = run.log
    measured = Measured(
        logs=tuple(LogLine(line.level, line.text) for line in log.lines),
        logs_dropped=log.dropped,
        ms=run.ms,
        memory_mb=run.peak_bytes / MB,
        calls=log.asked,
        denied=log.denied,
    )
    match run.outcome:
        case Returned(value, kind, seen):
            return Completed(value, kind, steady=not seen and not log.asked, measured=measured)
        case Thrown() as thrown:
            return _thrown(thrown, measured)
        case Broken(why, message):
            return Failed(FAULTS[why], message, ADVICE.get(why), measured=measured)


def _thrown(thrown: Thrown, measured: Measured) -> Failed:
    where = f" (line {thrown.line}, column {thrown.column})" if thrown.line else ""
    advice = thrown.advice or (REACHES if thrown.name == "NotCapable" else None)
    stack = [{"name": name or "(top level)", "line": line, "column": column} for name, line, column in thrown.stack]
    parts = "".join(f"\n{one}" for one in thrown.parts)
    return Failed("CODE_ERROR", f"{thrown.name}: {thrown.message}{where}{parts}", advice, stack, measured)
