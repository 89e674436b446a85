"""A language model's server on loopback. It speaks OpenAI's chat completions and Bedrock's Converse."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Literal, cast

from loci.core.json import JsonObject

TOKENS = 700
"""The tokens that each answer says it cost."""


@dataclass(frozen=True, slots=True)
class Says:
    """An answer: a text, or what the prompt is turned into."""

    text: str | Callable[[str], str]
    ends: Literal["well", "cut", "refused"] = "well"


@dataclass(frozen=True, slots=True)
class Fails:
    """An error, its text and its code as the provider would word them."""

    status: int
    code: str
    text: str = "it failed"


@dataclass(frozen=True, slots=True)
class Hangs:
    """No answer for as long as the stub is there; with `drips` a byte of one every now and then."""

    drips: bool = False


@dataclass(frozen=True, slots=True)
class Gives:
    """These bytes, whatever they are."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])


Reply = Says | Fails | Hangs | Gives


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        content = self.body["messages"][0]["content"]
        return cast("str", content if isinstance(content, str) else content[0]["text"])


@dataclass(slots=True)
class StubModel:
    """Gives the replies in turn, the last again and again; keeps what it was asked."""

    url: str
    replies: list[Reply] = field(default_factory=list[Reply])
    requests: list[Request] = field(default_factory=list[Request])
    over: threading.Event = field(default_factory=threading.Event)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def will(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def says(self, value: JsonObject) -> None:
        self.will(Says(json.dumps(value)))

    def next(self, request: Request) -> Reply:
        with self.turn:
            self.requests.append(request)
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Door(BaseHTTPRequestHandler):
    stub: ClassVar[StubModel]
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # who asked has gone
            super().handle()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self._reply(request, self.stub.next(request))

    def _reply(self, request: Request, reply: Reply) -> None:
        converse = request.path.endswith("/converse")
        match reply:
            case Says(text, ends):
                said = text if isinstance(text, str) else text(request.prompt)
                self._send(200, json.dumps((_converse if converse else _completion)(said, ends)).encode())
            case Fails(status, code, text):
                fault = {"message": text} if converse else {"error": {"message": text, "code": code}}
                self._send(status, json.dumps(fault).encode(), {"x-amzn-ErrorType": code})
            case Hangs(drips):
                self._hang(drips)
            case Gives(content, status, headers):
                self._send(status, content, headers)

    def _hang(self, drips: bool) -> None:
        if drips:
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
        while not self.stub.over.wait(0.02):
            if drips:
                self.wfile.write(b" ")
        self.close_connection = True

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        usual = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in {**usual, **(headers or {})}.items():
            self.send_header(name, value)
            self.close_connection |= name == "Content-Length" and value != str(len(body))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def stub_model() -> Generator[StubModel, None, None]:
    """A stub that is served until the end."""
    door = type("Door", (_Door,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), door) as server:
        stub = StubModel(f"http://127.0.0.1:{server.server_port}")
        door.stub = stub
        serving = threading.Thread(target=server.serve_forever, args=(0.02,))
        serving.start()
        try:
            yield stub
        finally:
            stub.over.set()
            server.shutdown()
            serving.join()


def _completion(text: str, ends: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": "no" if ends == "refused" else None}
    reason = {"well": "stop", "cut": "length", "refused": "stop"}[ends]
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": TOKENS - 100, "completion_tokens": 100, "total_tokens": TOKENS},
    }


def _converse(text: str, ends: str) -> dict[str, Any]:
    """An object is the tool's argument; anything else is text beside it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    used = isinstance(value, dict)
    part: dict[str, Any] = (
        {"toolUse": {"toolUseId": "t1", "name": "answer", "input": value}} if used else {"text": text}
    )
    reason = {"well": "tool_use" if used else "end_turn", "cut": "max_tokens", "refused": "content_filtered"}[ends]
    return {
        "output": {"message": {"role": "assistant", "content": [part]}},
        "stopReason": reason,
        "usage": {"inputTokens": TOKENS - 100, "outputTokens": 100, "totalTokens": TOKENS},
        "metrics": {"latencyMs": 1},
    }
