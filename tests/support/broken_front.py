"""A proxy in front of a server, which breaks one thing on the way."""

import http.client
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

UNSAID = ("connection", "content-length", "transfer-encoding", "keep-alive", "date", "server")


@dataclass(frozen=True, slots=True)
class Passed:
    """A request and its answer, on the way back."""

    method: str
    path: str
    asked: dict[str, str]
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def answers(self, status: int, body: bytes = b"", **headers: str) -> "Passed":
        """Another answer."""
        told = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return replace(self, status=status, body=body, headers=told)

    def without(self, name: str) -> "Passed":
        """The answer without that header."""
        return replace(self, headers=tuple(pair for pair in self.headers if pair[0].lower() != name))


Break = Callable[[Passed], Passed]


@contextmanager
def front(port: int) -> Generator["Front"]:
    """A proxy of a free port in front of that one."""
    with Front(port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behind: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.behind = behind
        self.breaks: Break = lambda passed: passed
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Passing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        front = cast("Front", self.server)
        connection = http.client.HTTPConnection("127.0.0.1", front.behind, timeout=30)
        try:
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            told = tuple(pair for pair in answer.getheaders() if pair[0].lower() not in UNSAID)
            asked = {name.lower(): value for name, value in self.headers.items()}
            passed = Passed(self.command, self.path.partition("?")[0], asked, answer.status, told, answer.read())
        finally:
            connection.close()
        passed = front.breaks(passed)
        self.send_response(passed.status)
        for name, value in passed.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(passed.body)))
        self.end_headers()
        self.wfile.write(passed.body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
