"""Runs of TypeScript between us and their hosts, wherever these are."""

from collections.abc import Mapping

from loci.code.ports import ToolCall
from loci.code.run import Completed, Failed, Fault, Job, LogLine, Measured
from loci.core.errors import LociError
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import Broken, DenoJob, FinishedRun, Returned, Thrown, WhyBroken

MB = 1 << 20
FAULTS: Mapping[WhyBroken, Fault] = {
    "timeout": "SANDBOX_TIMEOUT",
    "memory": "SANDBOX_MEMORY",
    "stuck": "CODE_ERROR",
    "exited": "SANDBOX_EXITED",
    "output": "SANDBOX_OUTPUT",
    "protocol": "SANDBOX_PROTOCOL",
    "start": "SANDBOX_START",
    "given up": "SANDBOX_CANCELLED",
}
AWAIT = "Await only what something settles"
REACHES = "The code reaches neither network, environment nor programs, and no files but those of allowedReadPaths"


def order(job: Job) -> DenoJob:
    """The job, as its host takes it."""
    servers: list[Mapping[str, Json]] = [
        {
            "names": list(client.names),
            "tools": [{"id": id, "spellings": list(spellings)} for id, spellings in client.tools],
        }
        for client in job.clients
    ]
    return DenoJob(
        code=job.code,
        context=job.context,
        servers=tuple(servers),
        tools=frozenset(id for client in job.clients for id, _ in client.tools),
        timeout_ms=job.limits.timeout_ms,
        memory_mb=job.limits.memory_mb,
        read=job.limits.read_paths,
    )


def called(call: ToolCall, tool: str, arguments: Json) -> dict[str, Json]:
    """A tool's answer, as the code gets it."""
    if not isinstance(arguments, dict):
        return _refusal("INVALID_PARAMS", "A tool is called with one object")
    try:
        return {"ok": True, "value": call(tool, arguments)}
    except LociError as error:
        return _refusal(error.code, str(error))


def _refusal(code: str, message: str) -> dict[str, Json]:
    told: JsonObject = {"code": code, "message": message}
    return {"ok": False, "error": told}


def outcome(ended: FinishedRun) -> Completed | Failed:
    """What became of a run, in our words."""
    log = ended.log
    measured = Measured(
        logs=tuple(LogLine(line.level, line.text) for line in log.lines),
        logs_dropped=log.dropped,
        ms=ended.ms,
        memory_mb=ended.peak_bytes / MB,
        calls=log.asked,
        denied=log.denied,
    )
    match ended.outcome:
        case Returned(value, kind, seen):
            return Completed(value, kind, steady=not seen and not log.asked, measured=measured)
        case Thrown() as thrown:
            return _thrown(thrown, measured)
        case Broken(why, message):
            return Failed(FAULTS[why], message, AWAIT if why == "stuck" else None, measured=measured)


def _thrown(thrown: Thrown, measured: Measured) -> Failed:
    where = f" (line {thrown.line}, column {thrown.column})" if thrown.line else ""
    advice = thrown.advice or (REACHES if thrown.name == "NotCapable" else None)
    stack = [{"name": name or "(top level)", "line": line, "column": column} for name, line, column in thrown.stack]
    return Failed("CODE_ERROR", f"{thrown.name}: {thrown.message}{where}", advice, stack, measured)
