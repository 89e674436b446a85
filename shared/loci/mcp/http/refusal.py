"""Refusals of requests that never become calls: JSON-RPC at the endpoints, `{"error": …}` at the routes beside them."""

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR
from starlette.types import Scope, Send

from loci.core.errors import LociError, NoSpace, NotFound, Refused
from loci.core.json import JsonObject
from loci.core.scopes import INSUFFICIENT
from loci.core.telemetry import Telemetry

JSON_TYPE = (b"content-type", b"application/json")
CHECK_JSON = "Check the format of the request: it must be one JSON text in UTF-8"
SESSION = b"mcp-session-id"
LONGEST_UNREAD = 64 * 1024
CODES: Final = {
    401: "UNAUTHORISED",
    403: "FORBIDDEN",
    405: "METHOD_NOT_ALLOWED",
    408: "TOO_SLOW",
    413: "TOO_LARGE",
    503: "UNAVAILABLE",
}
"""The codes of refusals, by status. All others are `BAD_REQUEST`."""


class Refusal(Exception):
    """The reason, with status, code and headers."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: int = INVALID_REQUEST,
        id: str | int | None = None,
        data: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.id = id
        self.data = data
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The refusal as a JSON-RPC message."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}

    def text(self) -> str:
        """The message as JSON."""
        return json.dumps(self.body(), separators=(",", ":"))

    async def send(self, send: Send, extra: list[tuple[bytes, bytes]]) -> None:
        """Answer the request with the refusal."""
        raw = self.text().encode()
        headers = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in self.headers.items()]
        await respond(send, self.status, raw, [JSON_TYPE, *headers, *extra])


def not_json(message: str) -> Refusal:
    """Refuse a body that cannot be parsed."""
    return Refusal(400, f"Parse error: {message}. {CHECK_JSON}", code=PARSE_ERROR)


async def respond(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """Send a whole response in one go."""
    # 204 has no body, and so no length.
    length = [] if status == 204 else [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
    await send({"type": "http.response.body", "body": body})


def closing(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Close the connection after a refusal if the body is long or endless: else it would be read to its end."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"0")
    is_long = b"transfer-encoding" in headers or not length.isdigit() or int(length[:20]) > LONGEST_UNREAD
    return [(b"connection", b"close")] if is_long else []


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """A failure, as the sender of the request learns of it."""

    status: int
    code: str
    message: str
    reason: str | None = None
    """The reason for the log, which may say more than a stranger may learn. None: there is nothing to log."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def body(self) -> JsonObject:
        """The answer."""
        return error_body(self.code, self.message)


def error_answer(error: Refusal | LociError) -> ErrorAnswer:
    """The problem that the error is to the sender."""
    match error:
        case Refusal():
            code = CODES.get(error.status, "BAD_REQUEST")
            return ErrorAnswer(error.status, code, error.message, error.message, error.headers)
        case NotFound():
            return ErrorAnswer(404, error.code, str(error))
        case Refused():
            return ErrorAnswer(403 if error.code == INSUFFICIENT else 400, error.code, str(error))
        case NoSpace():
            message = "The disk of this Loci is full. Free some space there, then try again"
            return ErrorAnswer(507, error.code, message, str(error))
        case _:
            message = "Loci cannot answer now. Try again in a minute"
            return ErrorAnswer(503, error.code, message, str(error), {"Retry-After": "5"})


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
        problem = error_answer(error)
        status, body, more = problem.status, problem.body, closing(scope)
        headers.update(problem.headers)
        if problem.reason is not None:
            telemetry.refused(path=path, status=status, reason=problem.reason)
    own = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await respond(send, status, json.dumps(body).encode(), [JSON_TYPE, (b"cache-control", b"no-store"), *own, *more])
