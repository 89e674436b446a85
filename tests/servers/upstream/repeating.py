"""A tool server that repeats the secrets it was given, over standard input and output or over HTTP.

It runs as a program of its own, and imports nothing that takes time.
"""

import base64
import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


def percent(text: str) -> str:
    """Each sign that is no letter and no digit of ASCII as addresses have it."""
    return "".join(
        one if one.isalnum() and one.isascii() else "".join(f"%{b:02X}" for b in one.encode()) for one in text
    )


SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "url": percent,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a pair": lambda text: base64.b64encode(f"me:{text}".encode()).decode(),
    "base64 in url": lambda text: base64.urlsafe_b64encode(f"m:{text}".encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "repr": repr,
}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def results(said: str) -> dict[str, dict[str, Any]]:
    """A result or an error for each place in which a server can say something."""
    block = {"uri": f"file:///{said}", "text": said, "blob": base64.b64encode(said.encode()).decode()}
    image = {"type": "image", "data": base64.b64encode(b"\x89PNG" + said.encode()).decode(), "mimeType": "image/png"}
    asks = {"a": {"method": "elicitation/create", "params": {"message": said}}}
    return {
        "text": {"content": [text(said)]},
        "error text": {"content": [text(said)], "isError": True},
        "structure": {"content": [], "structuredContent": {"deep": [{"is": said}], said: 1}},
        "blocks": {"content": [{"type": "resource", "resource": block}, image]},
        "link": {"content": [{"type": "resource_link", "uri": f"file:///{said}", "name": said}]},
        "meta": {"content": [], "_meta": {"said": said}},
        "question": {"resultType": "input_required", "inputRequests": asks},
        "error": {"code": -32603, "message": said, "data": said},
        "long error": {"code": -32603, "message": f"{'x' * 400}{said}{'y' * 290}"},
        "no result": {"content": said},
    }


def tools(said: str) -> dict[str, Any]:
    hint = {"title": said}
    schema = {"type": "object", "properties": {said: {"description": said, "default": said}}}
    first = {"name": "say", "description": f"Says {said}.", "inputSchema": {"type": "object"}}
    return {"tools": [first, {"name": f"of {said}"[:100], "title": said, "inputSchema": schema, "annotations": hint}]}


def answer(message: dict[str, Any], secret: str) -> dict[str, Any]:
    """The answer to a message; `say` says the secret in the place and the spelling that its arguments name."""
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        about = {"name": "repeating", "version": "0"}
        version = params["protocolVersion"]
        result: dict[str, Any] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "server/discover":
        result = {"code": -32601, "message": "Method not found"}
    elif method == "tools/list":
        result = tools(secret)
    else:
        wanted = params["arguments"]
        result = results(SPELLINGS[wanted.get("spelling", "raw")](secret))[wanted["place"]]
    kind = "error" if "code" in result else "result"
    return {"jsonrpc": "2.0", "id": message["id"], kind: result}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    secret = os.environ["GIVEN"]
    for line in sys.stdin:
        message = json.loads(line)
        place = message.get("params", {}).get("arguments", {}).get("place")
        if "id" not in message:
            continue
        if place == "stderr":
            sys.stderr.write(f"{'x' * 5000}\nCannot log in with {secret}{'y' * 290}\n")
            sys.stderr.flush()
            os._exit(3)
        if place == "progress":
            token = message["params"]["_meta"]["progressToken"]
            params = {"progressToken": token, "progress": 1, "message": f"as {secret}"}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            message["params"]["arguments"]["place"] = "text"
        send(answer(message, secret))


class Requests(BaseHTTPRequestHandler):
    """Repeats a header."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        secret, place = self.headers["X-Given"], message.get("params", {}).get("arguments", {}).get("place", "")
        match place:
            case "location":
                self.say(307, "", "", {"Location": f"http://127.0.0.2:9/{secret}"})
            case "scope":
                wanted = f'Bearer error="insufficient_scope", scope="{secret}"'
                self.say(403, "", "", {"WWW-Authenticate": wanted})
            case "400" | "500":
                self.say(int(place), f"<p>{'x' * 1900}{secret}{'y' * 290}{'z' * 3000}</p>", "text/html")
            case "json 400":
                self.say(400, json.dumps({"error": f"No account of {secret}"}), "application/json")
            case "json-rpc 400":
                error = {"jsonrpc": "2.0", "id": message["id"], "error": results(secret)["error"]}
                self.say(400, json.dumps(error), "application/json")
            case _ if "id" in message:
                self.say(200, json.dumps(answer(message, secret)), "application/json")
            case _:
                self.say(202, "", "")

    def do_GET(self) -> None:
        self.say(405, "", "")

    def do_DELETE(self) -> None:
        self.say(405, "", "")

    def say(self, status: int, body: str, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def repeating_http() -> Generator[str]:
    """The address of a server over HTTP that repeats a header, until the block ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Requests) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    main()
