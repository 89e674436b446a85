"""An HTTP server that takes notices, as an operator's own, Slack's or Teams' does."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.support.polling import until


@dataclass(frozen=True, slots=True)
class Received:
    """A request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass
class Receiver:
    """Keeps what came. It answers with these in turn, and then takes everything."""

    url: str
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list[tuple[int, dict[str, str]]])
    came: list[Received] = field(default_factory=list[Received])

    def wait(self, count: int = 1) -> list[Received]:
        """All that came, as soon as these are so many."""
        return until(lambda: self.came if len(self.came) >= count else None)


class _Post(BaseHTTPRequestHandler):
    receiver: ClassVar[Receiver]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = {name.lower(): value for name, value in self.headers.items()}
        status, headers = self.receiver.answers.pop(0) if self.receiver.answers else (204, {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.receiver.came.append(Received(self.path, told, body))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def receiver() -> Generator[Receiver]:
    """One that serves."""
    post = type("Post", (_Post,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), post) as server:
        post.receiver = made = Receiver(f"http://127.0.0.1:{server.server_port}")
        serving = threading.Thread(target=server.serve_forever, args=(0.02,))
        serving.start()
        try:
            yield made
        finally:
            server.shutdown()
            serving.join()
