"""A tool server over HTTP that misbehaves. The path says how."""

import itertools
import json
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class HostileHttp(ThreadingHTTPServer):
    """Keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.received: list[tuple[str, dict[str, str]]] = []
        self.sessions: set[str] = set()
        self.released = threading.Event()
        """Lets the slow answers go on."""

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class _Requests(BaseHTTPRequestHandler):
    server: HostileHttp  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        self._answer(405, b"")

    def do_DELETE(self) -> None:
        self._answer(405, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append((message.get("method", ""), dict(self.headers)))
        way = self.path.removeprefix("/")
        with suppress(ConnectionError):
            if way == "refusing":
                self._answer(401, b'{"error": "invalid_token"}', {"WWW-Authenticate": "Bearer"})
            elif way == "redirecting":
                self._answer(307, b"", {"Location": "http://127.0.0.2:9/mcp"})
            elif way == "failing":
                self._answer(503, b"The database\nis gone", {"Content-Type": "text/plain"})
            elif "id" not in message:
                self._answer(202, b"")
            elif message["method"] == "server/discover":
                self._answer(400, b"")
            elif message["method"] == "initialize":
                self._initialize(message)
            else:
                self._call(way, message)

    def _initialize(self, message: dict[str, Any]) -> None:
        session = f"session-{len(self.server.sessions)}"
        self.server.sessions.add(session)
        server = {"name": "hostile", "version": "0"}
        version = message["params"]["protocolVersion"]
        result: dict[str, Any] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        self._json(message["id"], result, {"Mcp-Session-Id": session})

    def _call(self, way: str, message: dict[str, Any]) -> None:
        name = message["params"].get("name")
        if self.headers.get("Mcp-Session-Id") not in self.server.sessions:
            self._answer(404, b"")
        elif name == "forget":
            self.server.sessions.clear()
            self._json(message["id"], {"content": []})
        elif name == "slow":
            self.server.released.wait(30)
            self._json(message["id"], {"content": []})
        elif name == "huge":
            self._json(message["id"], {"content": [{"type": "text", "text": "x" * 11_000_000}]})
        elif name == "compressed":
            self._answer(200, b"x", {"Content-Type": "application/json", "Content-Encoding": "gzip"})
        elif name == "cut":
            self._begin(200, {"Content-Type": "application/json", "Content-Length": "1000"})
            self.wfile.write(b"{")
            self.close_connection = True
        elif name == "chatter":
            self._begin(200, {"Content-Type": "text/event-stream"})
            for number in itertools.count():
                said = {"method": "notifications/message", "params": {"level": "info", "data": number}}
                self._event(said)
        elif name == "endless":
            self._begin(200, {"Content-Type": "text/event-stream"})
            self._event({"method": "notifications/message", "params": {"level": "info", "data": "wait"}})
            self.server.released.wait(30)
        else:
            self._json(message["id"], {"content": [{"type": "text", "text": way}]})

    def _event(self, message: dict[str, Any]) -> None:
        self.wfile.write(b"event: message\ndata: " + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n\n")
        self.wfile.flush()

    def _json(self, request: Any, result: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": request, "result": result}).encode()
        self._answer(200, body, {"Content-Type": "application/json", **(headers or {})})

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._begin(status, {"Content-Length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def hostile_http(secured: ssl.SSLContext | None = None) -> Generator[HostileHttp]:
    """Serve until the end of the block: over HTTPS, if it is secured."""
    with HostileHttp() as server:
        if secured is not None:
            server.socket = secured.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()
