"""A real `loci serve` as a child process, ended with the test."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tests.support import preloaded

Process = subprocess.Popen[str] | preloaded.Command
LOCI = [sys.executable, "-m", "loci"]
ADDRESS = re.compile(r"Loci serves (http://\S+)/mcp")
PATIENCE = 60


def clean_environment(data: Path, **more: str) -> dict[str, str]:
    """The environment without anything of Loci's, but for the data folder. Nothing is pulled from anywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "AWS_"))}
    own = {"LOCI_DATA": str(data), "LOCI_MODELS": str(data.parent / "models"), "LOCI_PULL_MODELS": "false"}
    return kept | own | more


@dataclass(frozen=True)
class Serving:
    """A server that listens."""

    url: str
    welcome: str
    process: Process

    def stop(self) -> int:
        """Ctrl-C, and the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


def started(arguments: Sequence[str], environment: Mapping[str, str], stderr: int) -> Process:
    """A command with its standard output in a pipe, and nothing to read."""
    if preloaded.is_used and preloaded.can_begin(environment):
        return preloaded.begin(arguments, environment, stderr)
    return subprocess.Popen(
        [*LOCI, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
    )


@contextmanager
def serving(data: Path, *arguments: str, **environment: str) -> Generator[Serving, None, None]:
    """A server on a free port; its standard error goes to `stderr.txt` beside the data folder."""
    log = data.parent / "stderr.txt"
    with log.open("a", encoding="utf-8") as stderr:
        process = started(["serve", "--port", "0", *arguments], clean_environment(data, **environment), stderr.fileno())
        try:
            assert process.stdout is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line)
                if "Ctrl-C" in line:
                    break
            welcome = "".join(lines)
            address = ADDRESS.search(welcome)
            assert address, welcome + log.read_text("utf-8")
            yield Serving(address[1], welcome, process)
        finally:
            process.kill()
            process.communicate()


def loci(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    with TemporaryFile("w+", encoding="utf-8") as stderr:
        process = started(arguments, clean_environment(data, **environment), stderr.fileno())
        late = threading.Timer(PATIENCE, process.kill)
        late.start()
        said, _ = process.communicate()
        late.cancel()
        stderr.seek(0)
        return subprocess.CompletedProcess([*LOCI, *arguments], process.wait(), said, stderr.read())


def piped(data: Path, given: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that reads its standard input."""
    command, told = [*LOCI, *arguments], clean_environment(data, **environment)
    return subprocess.run(command, env=told, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Message
    text: str

    def message(self) -> dict[str, Any]:
        """The JSON-RPC message, whichever form it came in."""
        lines = [line[6:] for line in self.text.splitlines() if line.startswith("data: ")]
        return json.loads(lines[-1] if lines else self.text)


def post(url: str, message: object, headers: Mapping[str, str] | None = None, method: str = "POST") -> Answer:
    """One request, without any MCP library."""
    given = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    request = urllib.request.Request(url, body, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return Answer(answer.status, answer.headers, answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read().decode())


def call(name: str, arguments: dict[str, object] | None = None, **params: object) -> dict[str, object]:
    """A `tools/call` message."""
    params = {"name": name, "arguments": arguments or {}, **params}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}


def initialize(version: str) -> dict[str, object]:
    """An `initialize` message."""
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
