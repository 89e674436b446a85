"""One server of tests: a process that listens on loopback and ends with whoever started it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tests.servers.errors import NotStarted
from tests.servers.java import leash
from tests.servers.ports import is_free

PATIENCE = 120
TAIL = 4000


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has answered."""

    url: str
    process: subprocess.Popen[bytes]  # the leash, which leads a process group of its own

    def wait(self) -> int:
        """The exit code, when the server ends by itself."""
        return self.process.wait()

    def kill(self) -> None:
        """What `kill -9` does to the server."""
        self.process.terminate()
        self.process.wait()

    def stop(self) -> None:
        """Let go of the leash, and wait for the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.wait() < 0:  # somebody killed the leash
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


@contextmanager
def started(
    name: str, port: int, command: Callable[[Path], Sequence[str]], answers: Callable[[], bool]
) -> Generator[Server, None, None]:
    """The server that a command starts. The command is given a folder, which goes with the server."""
    _check_free(name, port)
    scratch = tempfile.mkdtemp(prefix="loci-server-")
    leashed = [sys.executable, leash.__file__, scratch, *command(Path(scratch))]
    # Appended to: its reader may move about in it while the server writes.
    with tempfile.TemporaryFile("a+b") as log:
        process = subprocess.Popen(
            leashed,
            cwd=scratch,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C is for the parent, which then stops the server
        )
        server = Server(f"http://127.0.0.1:{port}", process)
        try:
            _wait(name, process, answers, log)
            yield server
        finally:
            server.stop()


def _check_free(name: str, port: int) -> None:
    if not is_free(port):
        raise NotStarted(f"{name} cannot have port {port}: it is taken. Choose another, or stop what listens there")


def _wait(name: str, process: subprocess.Popen[bytes], answers: Callable[[], bool], log: BinaryIO) -> None:
    until = time.monotonic() + PATIENCE
    while not answers():
        if process.poll() is not None:
            raise NotStarted(f"{name} ended before it answered. Its last words:\n{_tail(log)}")
        if time.monotonic() > until:
            raise NotStarted(f"{name} did not answer in {PATIENCE} seconds. Its last words:\n{_tail(log)}")
        time.sleep(0.1)


def _tail(log: BinaryIO) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL))
    return log.read().decode(errors="replace")
