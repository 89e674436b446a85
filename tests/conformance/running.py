"""A server in a process of its own, for as long as a test needs it."""

import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from os import environ

from tests.support.event_front import ROOT


@contextmanager
def served(command: Sequence[str], env: Mapping[str, str] | None = None) -> Generator[str]:
    """Run a command that prints its URL as its first line; the URL. The process ends with the block."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**environ, **(env or {})},
        stdin=subprocess.PIPE,  # closed by the system if this process dies: the server ends with it
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = "" if process.stdout is None else process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the server did not start: {' '.join(command)}")
        yield url
    finally:
        process.kill()
        process.communicate()
