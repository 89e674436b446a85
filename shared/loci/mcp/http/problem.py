"""Failures of the routes beside the endpoints: each has a status, and `{"error": {"code", "message"}}`."""

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.types import Scope, Send

from loci.core.errors import LociError, NoSpace, NotFound, Refused
from loci.core.json import JsonObject
from loci.core.scopes import INSUFFICIENT
from loci.core.telemetry import Telemetry
from loci.mcp.http.gatekeeper import closing
from loci.mcp.http.refusal import JSON_TYPE, Refusal, respond

CODES: Final = {
    401: "UNAUTHORISED",
    403: "FORBIDDEN",
    405: "METHOD_NOT_ALLOWED",
    408: "TOO_SLOW",
    413: "TOO_LARGE",
    503: "UNAVAILABLE",
}
"""Of refusals, by their status. All others are `BAD_REQUEST`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A failure, as the sender of the request learns of it."""

    status: int
    code: str
    message: str
    reason: str | None = None
    """For the log, which says more than who is perhaps not yet known. None: there is nothing to log."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def body(self) -> JsonObject:
        """The answer."""
        return error_body(self.code, self.message)


def problem_of(error: Refusal | LociError) -> Problem:
    """The problem that the error is to the sender."""
    match error:
        case Refusal():
            code = CODES.get(error.status, "BAD_REQUEST")
            return Problem(error.status, code, error.message, error.message, error.headers)
        case NotFound():
            return Problem(404, error.code, str(error))
        case Refused():
            return Problem(403 if error.code == INSUFFICIENT else 400, error.code, str(error))
        case NoSpace():
            message = "The disk of this Loci is full. Free some space there, then try again"
            return Problem(507, error.code, message, str(error))
        case _:
            message = "Loci cannot answer now. Try again in a minute"
            return Problem(503, error.code, message, str(error), {"Retry-After": "5"})


def error_body(code: str, message: str) -> JsonObject:
    """An error on the wire."""
    return {"error": {"code": code, "message": message}}


async def answer_json(
    scope: Scope, send: Send, work: Awaitable[Mapping[str, object]], telemetry: Telemetry, path: str
) -> None:
    """Send what the work gives, or its problem. `path`: the route, as the log names it."""
    status, headers, more = 200, dict[str, str](), list[tuple[bytes, bytes]]()
    try:
        body = await work
    except (Refusal, LociError) as error:
        problem = problem_of(error)
        status, body, more = problem.status, problem.body, closing(scope)
        headers.update(problem.headers)
        if problem.reason is not None:
            telemetry.refused(path=path, status=status, reason=problem.reason)
    own = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await respond(send, status, json.dumps(body).encode(), [JSON_TYPE, (b"cache-control", b"no-store"), *own, *more])
