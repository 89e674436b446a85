"""Processes that are measured: a warm Lambda function, and a server over HTTP. Each ends with its block."""

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.calls import is_result
from tests.bench.events import Post
from tests.bench.servers import ROOT, Server


@dataclass(frozen=True, slots=True)
class Batch:
    """What one call took, in a batch of equal ones."""

    cpu_seconds: float
    walls: Sequence[float]


class Function:
    """A handler in a process of its own, kept warm."""

    def __init__(self, server: Server, process: "subprocess.Popen[str]") -> None:
        self._server = server
        self._process = process

    def run(self, post: Post, calls: int) -> Batch:
        """Send it so often."""
        print(json.dumps({"event": post.event("v2"), "calls": calls}), file=self._process.stdin, flush=True)
        done = json.loads(self.line())
        answer: dict[str, Any] = done["answer"]
        if not is_result(answer["statusCode"], answer["body"]):
            raise RuntimeError(f"{self._server.name} gave no result: {answer}")
        return Batch(done["cpu_seconds"] / calls, done["walls"])

    def line(self) -> str:
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self._server.name} has ended")
        return line


@contextmanager
def function(server: Server) -> Generator[Function]:
    """The server's handler, imported and ready."""
    with _child(server, [sys.executable, "-m", "tests.bench.worker", server.handler], None) as process:
        warm = Function(server, process)
        warm.line()
        yield warm


class Floor:
    """The floor of searches over a library, in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.took: dict[str, list[float]] = {}
        """Seconds by part of a search."""
        self._line()

    def run(self, questions: Sequence[str]) -> None:
        """Search for each."""
        print(json.dumps(questions), file=self._process.stdin, flush=True)
        for part, seconds in json.loads(self._line()).items():
            self.took.setdefault(part, []).extend(seconds)

    def _line(self) -> str:
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        if not line:
            raise RuntimeError("the floor's process has ended")
        return line


@contextmanager
def floor(data: Path, models: Path) -> Generator[Floor]:
    """The floor of the library in that folder, loaded."""
    # Threads of BLAS wait busily for its next product, on the processors that the model needs.
    beside = Server("the floor", "", (), "", {"OPENBLAS_NUM_THREADS": "1"})
    command = [sys.executable, "-m", "tests.bench.floor", str(data), str(models)]
    with _child(beside, command, None) as process:
        yield Floor(process)


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that listens."""

    server: Server
    port: int
    pid: int

    def resident(self) -> int:
        """Its memory in KiB, as Linux counts it."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


@contextmanager
def serving(server: Server) -> Generator[Serving]:
    """The server over HTTP, on a free port."""
    with _child(server, server.serve, subprocess.DEVNULL) as process:
        first = "" if process.stdout is None else process.stdout.readline()
        _, colon, port = first.strip().removesuffix("/mcp").rpartition(":")
        if not colon:
            raise RuntimeError(f"{server.name} did not start: {first!r}")
        yield Serving(server, int(port), process.pid)


@contextmanager
def _child(server: Server, command: Sequence[str], stderr: int | None) -> Generator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=server.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
