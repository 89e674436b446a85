"""The page on this machine to which the browser returns after a login."""

import os
import threading
from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Self
from urllib.parse import parse_qs, urlsplit

from loci.core.errors import Refused, Unavailable

PATH = "/callback"
MINUTES = 5
LONGEST_LINE = 64 * 1024
DONE = "Loci has the answer. You can close this page and go back to the terminal."
NOT_DONE = "The login was not granted. You can close this page: the terminal says more."
STRANGER = "No login is waiting for this page."
PAGE = """<!doctype html><meta charset="utf-8"><title>Loci</title>
<body style="font: 1.1rem system-ui; margin: 4rem auto; max-width: 34rem">{}</body>"""
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Connection": "close",
}
Answer = Mapping[str, str]


class LoginCallback(ThreadingHTTPServer):
    """Listens on loopback until the answer has come, from the browser or from the keyboard."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, port: int | None) -> None:
        """`port`: the port that the authorization server knows; None for any free port."""
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._state: str | None = None
        try:
            super().__init__(("127.0.0.1", port or 0), _Page)
        except OSError as error:
            advice = "End what listens there, then log in again"
            raise Refused(f"Port {port} is not free ({error.strerror})", advice, code="PORT_TAKEN") from None
        self.url = f"http://127.0.0.1:{self.server_port}{PATH}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def expect(self, address: str) -> None:
        """Accept only the answer to the authorization request at this address."""
        self._state = answer_fields(urlsplit(address).query).get("state")

    def listen_to_keyboard(self) -> None:
        """Accept a line of standard input, too: the address that the browser was sent to, or only the code."""
        threading.Thread(target=self._read_line, daemon=True).start()

    def answer(self, seconds: float = MINUTES * 60) -> Answer:
        """Wait for the answer, and return its fields. Raises `Unavailable` after a timeout."""
        try:
            return self._answers.get(timeout=seconds)
        except Empty:
            what = f"Nobody has logged in for {seconds / 60:.0f} minutes"
            raise Unavailable(what, "Log in again when you have the time", code="LOGIN_FAILED") from None

    def accept(self, fields: Answer) -> tuple[int, str]:
        """Check an answer, and return the status and the text of the page."""
        if self._state is None or not compare_digest(fields.get("state", "").encode(), self._state.encode()):
            return 400, STRANGER
        self._state = None  # an answer counts once
        return 200, NOT_DONE if "error" in fields else DONE

    def pass_on(self, fields: Answer) -> None:
        """Pass the answer to the command that waits for it."""
        self._answers.put(fields)

    def _read_line(self) -> None:
        # Not `sys.stdin`: a thread that waits in it prevents Python from ending.
        line = b""
        while b"\n" not in line and len(line) < LONGEST_LINE:
            try:
                part = os.read(0, 4096)
            except OSError:
                return
            if not part:
                break
            line += part
        text = line.decode(errors="replace").strip()
        if "?" in text or text.startswith(("http:", "https:")):
            self.pass_on(answer_fields(urlsplit(text).query))
        elif text:
            self.pass_on({"code": text, "state": self._state or ""})

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: a closed connection does not matter."""


class _Page(BaseHTTPRequestHandler):
    server: LoginCallback  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = 10
    server_version, sys_version = "Loci", ""

    def do_GET(self) -> None:
        here = (f"127.0.0.1:{self.server.server_port}", f"localhost:{self.server.server_port}")
        parts = urlsplit(self.path)
        if self.headers.get("Host") not in here or parts.path != PATH:
            self._say(404, STRANGER)
            return
        fields = answer_fields(parts.query)
        status, text = self.server.accept(fields)
        try:
            self._say(status, text)
        finally:
            if status == HTTPStatus.OK:  # after the page: what waits for the answer may end the program
                self.server.pass_on(fields)

    def _say(self, status: int, text: str) -> None:
        body = PAGE.format(text).encode()
        self.send_response(status)
        for name, value in (HEADERS | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the address contains the code."""


def login_address(url: str) -> str:
    """The address at which a person logs in. Raises `Refused` if it is not safe to open."""
    if not (url.isascii() and url.isprintable() and url.startswith(("https://", "http://"))):
        raise Refused("The address of the login is not safe to open", "Ask the operator of the server to correct it")
    return url


def answer_fields(query: str) -> Answer:
    """The fields of an answer, without fields that appear twice."""
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items() if len(values) == 1}
