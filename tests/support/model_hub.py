"""A model hub and a package index on loopback, which answer as the real ones do, or as badly as a test wants."""

import hashlib
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGE = 10_000
"""From so many bytes on the hub stores a file outside git, and sends whoever wants it elsewhere."""


@dataclass
class ModelHub:
    """Files by path, and how they are sent."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    sent_instead: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """The bytes that come although the headers promise the file."""
    cuts: list[int] = field(default_factory=list[int])
    """After how many bytes the next large answers break off."""
    ranges: bool = True
    pages: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Method, path and range of each request."""
    gate: threading.Event | None = None
    """Large answers wait for it."""

    def put(self, repository: str, path: str, content: bytes, revision: str = "main") -> None:
        self.files[f"/{repository}/resolve/{revision}/{path}"] = content

    def brought(self) -> list[tuple[str, str]]:
        """Path and range of what was sent from where large files lie."""
        return [(path, wanted) for method, path, wanted in self.asked if method == "GET" and path.startswith("/cdn/")]


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: ModelHub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.hub.asked.append((self.command, self.path, self.headers.get("Range", "")))
        if self.path in self.hub.pages:
            self._send(200, {"Content-Type": "text/html"}, self.hub.pages[self.path].encode(), body=body)
        elif self.path.startswith("/cdn/"):
            self._send_large(self.path.removeprefix("/cdn"), body=body)
        elif (content := self.hub.files.get(self.path)) is None:
            self._send(404, {}, b"Entry not found", body=body)
        elif len(content) >= LARGE:
            linked = {"X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Linked-Size": str(len(content))}
            elsewhere = self.hub.url.replace("127.0.0.1", "localhost")  # within a host the hub's client would go there
            where = {"Location": f"{elsewhere}/cdn{self.path}", "X-Repo-Commit": "c0ffee"}
            self._send(302, linked | where, b"Found. Redirecting", body=body)
        else:
            git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
            sent = self.hub.sent_instead.get(self.path, content)
            self._send(200, {"ETag": f'"{git}"', "X-Repo-Commit": "c0ffee"}, sent, body=body)

    def _send_large(self, path: str, *, body: bool) -> None:
        content = self.hub.sent_instead.get(path, self.hub.files[path])
        wanted = self.headers.get("Range", "") if self.hub.ranges else ""
        if self.hub.gate:
            self.hub.gate.wait(30)
        if wanted:
            first = int(wanted.removeprefix("bytes=").removesuffix("-"))
            ranged = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"}
            self._send(206, ranged, content[first:], body=body)
        else:
            self._send(200, {"ETag": '"0123"'}, content, body=body)

    def _send(self, status: int, headers: dict[str, str], content: bytes, *, body: bool) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if not body:
            return
        if len(content) >= LARGE // 2 and self.hub.cuts:
            self.wfile.write(content[: self.hub.cuts.pop(0)])
            self.close_connection = True
        else:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def model_hub() -> Generator[ModelHub, None, None]:
    """A hub without any files."""
    hub = ModelHub()

    class Requests(_Requests):
        pass

    Requests.hub = hub
    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
