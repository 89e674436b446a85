"""Commands of Loci, forked from a process that has loaded the packages below it, and nothing of Loci itself.

These packages are most of a start, and tests start hundreds of commands and servers. Otherwise a command is as
`python -m loci` makes it: a process of its own, with its own arguments, environment, folder and streams.
"""

import atexit
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "aws_lambda_powertools",
    "itsdangerous",
    "mcp.client",
    "mcp.server.mcpserver",
    "typer",
    "uvicorn",
)
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_")
"""An interpreter reads variables that begin so when it starts."""
UNBUFFERED = "PYTHONUNBUFFERED"
MOST = 1 << 18
ONE_AT_A_TIME = threading.Lock()
is_used = False
"""The benchmarks start all processes as people do; the tests set this."""


class Command:
    """A command that runs, with the part of `Popen` that tests use."""

    def __init__(self, pid: int, ended: socket.socket, stdout: IO[str]) -> None:
        self.pid = pid
        self.stdout = stdout
        self._ended = ended
        self._code: int | None = None

    def poll(self) -> int | None:
        """The exit code; None: it runs."""
        return self._after(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return the exit code."""
        code = self._after(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("loci", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it, unless the command has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def communicate(self) -> tuple[str, None]:
        """Read what is left of its output, and wait for its end."""
        with self.stdout:
            said = "" if self.stdout.closed else self.stdout.read()
        self.wait()
        return said, None

    def _after(self, timeout: float | None) -> int | None:
        if self._code is None and self._has_ended(timeout):
            self._code = os.waitstatus_to_exitcode(int(self._ended.recv(16)))
            self._ended.close()
        return self._code

    def _has_ended(self, timeout: float | None) -> bool:
        waiting = select.poll()  # unlike `select`, it takes any descriptor
        waiting.register(self._ended, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else timeout * 1000))


def can_begin(environment: Mapping[str, str]) -> bool:
    """False: these variables would be read too late."""
    return _read_at_start(environment) == _read_at_start(os.environ)


def begin(arguments: Sequence[str], environment: Mapping[str, str], stderr: int) -> Command:
    """A command with its standard output in a pipe, and nothing to read. `stderr` may be `subprocess.STDOUT`."""
    asked = {"arguments": [*arguments], "environment": dict(environment), "folder": str(Path.cwd())}
    read, write = os.pipe()
    ended, theirs = socket.socketpair()
    with ONE_AT_A_TIME, theirs:
        streams = [write, write if stderr == subprocess.STDOUT else stderr, theirs.fileno()]
        socket.send_fds(_server(), [json.dumps(asked).encode()], streams)
        os.close(write)
        pid = int(ended.recv(16))
    return Command(pid, ended, open(read, encoding="utf-8"))  # noqa: PTH123 (a descriptor)


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: one for name, one in environment.items() if name.startswith(READ_AT_START) and name != UNBUFFERED}


@cache
def _server() -> socket.socket:
    """One for each worker, which ends with it."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([sys.executable, "-m", __name__], cwd=ROOT, stdin=theirs.fileno())

    def end() -> None:
        ours.close()
        process.kill()
        process.wait()

    atexit.register(end)
    return ours


def _serve() -> None:
    """Fork a process for each request, until nobody can ask any more. Returns in that process."""
    sys.modules["watchfiles"] = cast("ModuleType", None)  # uvicorn would load it, which a server of Loci prevents
    for package in PACKAGES:
        importlib.import_module(package)
    del sys.modules["watchfiles"]
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=0)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MOST, 3)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            requests.detach()
            return _become(json.loads(message), *descriptors)
        for one in descriptors:
            os.close(one)


def _become(asked: dict[str, Any], stdout: int, stderr: int, ended: int) -> None:
    """Return in a process that is as a new one would be. Its parent tells its id, and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child:
        os.write(ended, str(child).encode().ljust(16))
        os.closerange(0, ended)
        os.write(ended, str(os.waitpid(child, 0)[1]).encode().ljust(16))
        os._exit(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null = os.open(os.devnull, os.O_RDONLY)
    for at, descriptor in enumerate((null, stdout, stderr)):
        os.dup2(descriptor, at)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path[0] = asked["folder"]
    sys.argv[1:] = asked["arguments"]
    if UNBUFFERED in os.environ:
        cast("io.TextIOWrapper[Any]", sys.stdout).reconfigure(write_through=True)


if __name__ == "__main__":
    _serve()
    runpy.run_module("loci", run_name="__main__", alter_sys=True)
