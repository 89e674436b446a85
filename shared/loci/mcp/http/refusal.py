"""The refusal of a request that never becomes a call: an HTTP status and a JSON-RPC error."""

import json
from collections.abc import Mapping
from typing import Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR
from starlette.types import Send

JSON_TYPE = (b"content-type", b"application/json")
CHECK_JSON = "Check the format of the request: it must be one JSON text in UTF-8"


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
