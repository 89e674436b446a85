"""Lambda's Invoke API on loopback: boto3 calls a function's handler that runs in this process."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.moto_aws import credentials

LARGEST = 6 * 1024 * 1024
Handler = Callable[[dict[str, Any], object], object]


@dataclass
class InvokeApi:
    """Functions by name, and what they were asked."""

    functions: dict[str, Handler] = field(default_factory=dict[str, Handler])
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tenants: list[str] = field(default_factory=list[str])
    throttled: set[str] = field(default_factory=set[str])
    """Functions for which Lambda has no room."""
    refusals: dict[str, int] = field(default_factory=dict[str, int])
    """So many calls of a function are refused before there is room for it."""
    under_way: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def later(self, name: str, body: bytes) -> None:
        """Call it though nobody waits."""
        thread = threading.Thread(target=self.answer, args=(name, body))
        self.under_way.append(thread)
        thread.start()

    def answer(self, name: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and payload, as Lambda has them."""
        if name not in self.functions:
            return 404, {"x-amzn-ErrorType": "ResourceNotFoundException"}, b'{"Message": "Function not found"}'
        if left := self.refusals.get(name, 0):
            self.refusals[name] = left - 1
        if left or name in self.throttled:
            return 429, {"x-amzn-ErrorType": "TooManyRequestsException"}, b'{"Reason": "ReservedFunctionConcurrent"}'
        if len(body) > LARGEST:
            return 413, {"x-amzn-ErrorType": "RequestTooLargeException"}, b'{"Message": "Too large"}'
        event = json.loads(body)
        self.events.append(event)
        try:
            said = json.dumps(self.functions[name](event, None)).encode()
        except Exception as error:  # noqa: BLE001 (Lambda catches whatever a handler raises, too)
            told = {"errorMessage": str(error), "errorType": type(error).__name__}
            return 200, {"X-Amz-Function-Error": "Unhandled"}, json.dumps(told).encode()
        if len(said) > LARGEST:
            return 200, {"X-Amz-Function-Error": "Unhandled"}, b'{"errorMessage": "Response payload size exceeded"}'
        return 200, {}, said


@contextmanager
def invoke_api() -> Generator[InvokeApi, None, None]:
    """The API, which boto3 uses in here."""
    api = InvokeApi()

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            # /2015-03-31/functions/NAME/invocations
            body = self.rfile.read(int(self.headers["Content-Length"]))
            name = unquote(self.path.split("/")[3])
            if tenant := self.headers.get("X-Amz-Tenant-Id"):
                api.tenants.append(tenant)
            if self.headers.get("X-Amz-Invocation-Type") == "Event":
                api.later(name, body)
                status, headers, payload = 202, dict[str, str](), b""
            else:
                status, headers, payload = api.answer(name, body)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(payload))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as environment:
            credentials(environment)
            environment.setenv("AWS_ENDPOINT_URL_LAMBDA", f"http://127.0.0.1:{server.server_port}")
            yield api
            for one in api.under_way:
                one.join()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
