"""The doors that attacks go through: uvicorn by a socket, Lambda by API Gateway's events."""

import asyncio
import http.client
import socket
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import uvicorn
from starlette.applications import Starlette

from loci.mcp.http.connection import uvicorn_config
from loci.mcp.lambda_handler import keep_alive
from tests.attack.wire import Answer, Ask
from tests.support.api_events import Request, Version, event, response

PATIENCE = 60
"""Seconds after which an answer counts as none."""

NO_CONTEXT: Any = None
T = TypeVar("T")


class Door(Protocol):
    def ask(self, ask: Ask) -> Answer: ...


@dataclass(frozen=True, slots=True)
class UvicornDoor:
    """A server on the loopback."""

    port: int
    host: str = "127.0.0.1"

    def ask(self, ask: Ask) -> Answer:
        answer = self.send(on_the_wire(ask), ask.method)
        assert answer is not None, "the server closed the connection without an answer"
        return answer

    def send(self, raw: bytes, method: str = "POST", *, ends: bool = False) -> Answer | None:
        """What comes back for these bytes; None where the server hangs up. `ends`: no more is sent after them."""
        with socket.create_connection((self.host, self.port), timeout=PATIENCE) as connection:
            try:
                connection.sendall(raw)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it may have been refused before all of it was sent
            try:
                with http.client.HTTPResponse(connection, method=method) as reply:
                    reply.begin()
                    return Answer(reply.status, tuple(reply.getheaders()), reply.read())
            except (ConnectionError, http.client.BadStatusLine):
                return None


class LambdaDoor:
    """A Lambda handler behind a REST API (v1) or an HTTP API (v2)."""

    def __init__(self, version: Version, invoke: Callable[[dict[str, Any]], object]) -> None:
        self._version: Version = version
        self._invoke = invoke

    def ask(self, ask: Ask) -> Answer:
        return self.send(self.event_of(ask))

    def event_of(self, ask: Ask) -> dict[str, Any]:
        """The event that API Gateway makes of the request."""
        return event(Request(ask.method, ask.target, ask.headers, ask.body, "192.0.2.1", 443), self._version)

    def send(self, event: dict[str, Any]) -> Answer:
        """What the client sees of the handler's answer to the event."""
        reply = response(self._invoke(event), self._version)
        return Answer(reply.status, reply.headers, reply.body)


@contextmanager
def uvicorn_door(application: Starlette, port: int = 0, host: str = "127.0.0.1") -> Generator[UvicornDoor]:
    """The application, served as `loci serve` does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind((host, port))
    listener.listen(1024)
    config = uvicorn_config(application, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield UvicornDoor(listener.getsockname()[1], host)
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def lambda_doors(application: Starlette) -> Generator[tuple[LambdaDoor, LambdaDoor]]:
    """The application as the deployed handler has it: behind a REST API, and behind an HTTP API."""
    # Mangum uses the loop of the thread it was made in, as in a sandbox; here that thread must not be the tests'.
    with ThreadPoolExecutor(1) as sandbox:

        def there(work: Callable[[], T]) -> T:
            return sandbox.submit(work).result(PATIENCE)

        handler = there(lambda: keep_alive(application))

        def invoke(event: dict[str, Any]) -> object:
            return there(lambda: handler(event, NO_CONTEXT))

        try:
            yield LambdaDoor("v1", invoke), LambdaDoor("v2", invoke)
        finally:
            there(lambda: _leave(application))


def on_the_wire(ask: Ask) -> bytes:
    """The bytes of a request; its length is declared where it does not say otherwise."""
    named = {name.lower() for name, _ in ask.headers}
    declared = ask.body and not named & {"content-length", "transfer-encoding"}
    headers = (*ask.headers, ("Content-Length", str(len(ask.body)))) if declared else ask.headers
    lines = [f"{ask.method} {ask.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1") + ask.body


def _leave(application: Starlette) -> None:
    """End what the end of a sandbox would just cut off, and what would complain about it here."""
    loop: asyncio.AbstractEventLoop = application.state.lifespan.get_loop()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.wait(tasks))
    loop.close()
    asyncio.set_event_loop(None)
