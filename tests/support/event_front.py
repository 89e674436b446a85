"""API Gateway and Lambda on the loopback: every HTTP request becomes an event for one of a few sandboxes.

By hand: `python -m tests.support.event_front --handler functions/gateway/handler.py:lambda_handler`.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

from .api_events import Request, Response, Version, event, response, timed_out

ROOT = Path(__file__).resolve().parents[2]
LAMBDA = {
    "AWS_LAMBDA_FUNCTION_NAME": "local",
    "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
}


class Sandbox:
    """One process with the handler in it, which answers one event at a time."""

    def __init__(self, handler: str, env: Mapping[str, str], seconds: float) -> None:
        self._seconds = seconds
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.lambda_worker", handler, str(seconds)],
            cwd=ROOT,
            env={**os.environ, **LAMBDA, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> None:
        """Wait until the handler is imported."""
        if not self._answer():
            raise RuntimeError("the handler could not be imported: its process has ended")

    def ask(self, line: str) -> object:
        """The answer to an event; TimeoutError if it took too long, and if the process ended instead."""
        overdue = threading.Timer(self._seconds, self._process.kill)
        overdue.start()
        try:
            print(line, file=self._process.stdin, flush=True)
            answer = self._answer()
        except (OSError, ValueError):
            answer = ""
        finally:
            overdue.cancel()
        if not answer:
            raise TimeoutError
        return json.loads(answer)

    def end(self) -> None:
        """End the process now, without asking it first; so does Lambda."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # an event that nobody will read any more
                if pipe is not None:
                    pipe.close()

    def _answer(self) -> str:
        return "" if self._process.stdout is None else self._process.stdout.readline()


class Pool:
    """A few sandboxes; each event goes to a free one, by chance."""

    def __init__(self, new: Callable[[], Sandbox], seed: int | None) -> None:
        self._new = new
        self._chance = random.Random(seed)
        self._changed = threading.Condition()
        self._ended = False
        self._all: list[Sandbox] = []
        self._free: list[Sandbox] = []

    def start(self, workers: int) -> None:
        """Start all at once, and wait for all."""
        for _ in range(workers):
            self._all.append(self._new())
        for sandbox in self._all:
            sandbox.ready()
        self._free = [*self._all]

    def ask(self, line: str) -> object:
        """A free sandbox's answer; one that gave none is replaced."""
        with self._changed:
            self._changed.wait_for(lambda: self._free)
            sandbox = self._free.pop(self._chance.randrange(len(self._free)))
        try:
            return sandbox.ask(line)
        except TimeoutError:
            sandbox = self._replace(sandbox)
            raise
        finally:
            with self._changed:
                self._free.append(sandbox)
                self._changed.notify()

    def end(self) -> None:
        """End every process; none is started after this."""
        with self._changed:
            self._ended = True
        for sandbox in self._all:
            sandbox.end()

    def _replace(self, old: Sandbox) -> Sandbox:
        old.end()
        with self._changed:
            if self._ended:
                return old
            new = self._new()
            self._all = [*(each for each in self._all if each is not old), new]
        new.ready()
        return new


class Front(BaseHTTPRequestHandler):
    """One HTTP request: an event on its way in, an answer on its way out."""

    # API Gateway keeps connections open, too. Node's client fails if one ends while it still reads an answer.
    protocol_version = "HTTP/1.1"
    timeout = 20
    wbufsize = -1

    def pass_on(self) -> None:
        if "Transfer-Encoding" in self.headers:
            answer = Response(411, (), b"")
            self.close_connection = True  # its body is not read
        else:
            answer = self._answer(self._request())
        self.send_response(answer.status)
        for name, value in answer.headers:
            if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD" and answer.status not in (204, 304):
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = pass_on  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the sandboxes log for themselves."""

    def _request(self) -> Request:
        # A gateway drops the white space around a value, as HTTP asks; this parser keeps some of it.
        headers = tuple((name, value.strip()) for name, value in self.headers.items())
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        peer, port = self.client_address[0], cast("FrontServer", self.server).server_port
        return Request(self.command, self.path, headers, body, peer, port)

    def _answer(self, request: Request) -> Response:
        front = cast("FrontServer", self.server)
        version = front.version
        try:
            return response(front.pool.ask(json.dumps(event(request, version))), version)
        except TimeoutError:
            return timed_out(version)


class FrontServer(ThreadingHTTPServer):
    """The listening socket, and what its requests need."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pool: Pool, version: Version, port: int) -> None:
        super().__init__(("127.0.0.1", port), Front)
        self.pool = pool
        self.version: Version = version


@contextmanager
def event_front(
    handler: str,
    env: Mapping[str, str],
    workers: int = 3,
    version: Version = "v2",
    *,
    seconds: float = 29,
    seed: int | None = None,
    port: int = 0,
) -> Generator[str]:
    """Serve a Lambda handler over HTTP; the base URL. Paths are relative to the root of the repository."""
    pool = Pool(lambda: Sandbox(handler, env, seconds), seed)
    try:
        pool.start(workers)
        with FrontServer(pool, version, port) as server, _serving(server):
            yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        pool.end()


@contextmanager
def _serving(server: FrontServer) -> Generator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def _by_hand(arguments: list[str]) -> AbstractContextManager[str]:
    options = argparse.ArgumentParser(prog="python -m tests.support.event_front", description=__doc__)
    options.add_argument("--handler", required=True, help="path/to/file.py:name or package.module:name")
    options.add_argument("--version", choices=("v1", "v2"), default="v2", help="REST API or HTTP API")
    options.add_argument("--workers", type=int, default=3)
    options.add_argument("--seconds", type=float, default=29, help="how long a call may take")
    options.add_argument("--seed", type=int, help="repeat the same choice of sandboxes")
    options.add_argument("--port", type=int, default=0)
    given = options.parse_args(arguments)
    return event_front(
        given.handler, {}, given.workers, given.version, seconds=given.seconds, seed=given.seed, port=given.port
    )


if __name__ == "__main__":
    with _by_hand(sys.argv[1:]) as url:
        print(url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
