"""TypeScript on this machine: Deno, behind the strongest wall that there is."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from loci.code.deno import found
from loci.errors import LociError, Unavailable
from loci.model.code import Completed, Failed, Fault, Job, LogLine, Measured
from loci.model.identity import Owner
from loci.model.values import Json, JsonObject
from loci.ports import ToolCall
from loci.sandbox_programs.deno.ending import Broken, Ended, Order, Why
from loci.sandbox_programs.deno.host import Host
from loci.sandbox_programs.deno.messages import Returned, Thrown
from loci.sandbox_programs.walls.layers import Layer

MB = 1 << 20
FAULTS: Mapping[Why, Fault] = {
    "timeout": "SANDBOX_TIMEOUT",
    "memory": "SANDBOX_MEMORY",
    "stuck": "CODE_ERROR",
    "exited": "SANDBOX_EXITED",
    "output": "SANDBOX_OUTPUT",
    "protocol": "SANDBOX_PROTOCOL",
    "start": "SANDBOX_START",
}
AWAIT = "Await only what something settles"
REACHES = "The code reaches neither network, environment nor programs, and no files but those of allowedReadPaths"


class DenoSandbox:
    """Runs each job in a process of its own. Nothing is started before the first."""

    def __init__(self, deno: Path | None, wall: Callable[[], frozenset[Layer]], spares: int = 2) -> None:
        self._deno = deno
        self._wall = wall
        self._spares = spares
        self._turn = threading.Lock()
        self._host: Host | None = None
        self._layers: frozenset[Layer] = frozenset()

    def run(self, owner: Owner, job: Job, call: ToolCall) -> Completed | Failed:  # noqa: ARG002 (a process a job)
        host = self._ready()
        if job.limits.read_paths and not self._layers & {Layer.LANDLOCK, Layer.NAMESPACES}:
            raise Unavailable(
                "Without a wall code can read no files here: links would lead it out of its folders",
                "Send what it needs as `context`",
                code="SANDBOX_UNAVAILABLE",
            )
        ended = host.run(_order(job), lambda tool, arguments: _called(call, tool, arguments))
        return _outcome(ended)

    def close(self) -> None:
        with self._turn:
            if self._host is not None:
                self._host.close()
            self._host = None

    def _ready(self) -> Host:
        with self._turn:
            if self._host is None:
                deno, self._layers = found(self._deno), self._wall()
                self._host = Host(str(deno), self._layers, self._spares)
            return self._host


def _order(job: Job) -> Order:
    servers: list[Mapping[str, Json]] = [
        {
            "names": list(client.names),
            "tools": [{"id": id, "spellings": list(spellings)} for id, spellings in client.tools],
        }
        for client in job.clients
    ]
    return Order(
        code=job.code,
        context=job.context,
        servers=tuple(servers),
        tools=frozenset(id for client in job.clients for id, _ in client.tools),
        timeout_ms=job.limits.timeout_ms,
        memory_mb=job.limits.memory_mb,
        read=job.limits.read_paths,
    )


def _called(call: ToolCall, tool: str, arguments: Json) -> dict[str, Json]:
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


def _outcome(ended: Ended) -> Completed | Failed:
    account = ended.account
    measured = Measured(
        logs=tuple(LogLine(line.level, line.text) for line in account.logs),
        logs_dropped=account.dropped,
        ms=ended.ms,
        memory_mb=ended.peak_bytes / MB,
        calls=account.asked,
        denied=account.denied,
    )
    match ended.outcome:
        case Returned(value, kind, seen):
            return Completed(value, kind, steady=not seen and not account.asked, measured=measured)
        case Thrown() as thrown:
            return _thrown(thrown, measured)
        case Broken(why, message):
            return Failed(FAULTS[why], message, AWAIT if why == "stuck" else None, measured=measured)


def _thrown(thrown: Thrown, measured: Measured) -> Failed:
    where = f" (line {thrown.line}, column {thrown.column})" if thrown.line else ""
    advice = thrown.advice or (REACHES if thrown.name == "NotCapable" else None)
    stack = [{"name": name or "(top level)", "line": line, "column": column} for name, line, column in thrown.stack]
    return Failed("CODE_ERROR", f"{thrown.name}: {thrown.message}{where}", advice, stack, measured)
