"""A real `loci watch` as a child process, ended with the test."""

import os
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.polling import until
from tests.support.serving import PATIENCE, Process, clean_environment, started


@dataclass(frozen=True)
class Watching:
    """A running `loci watch`."""

    process: Process
    lines: list[str]
    reader: threading.Thread

    def said(self, part: str) -> str:
        """Wait for the first line that contains it, and return that line."""
        return until(lambda: next((line for line in [*self.lines] if part in line), None), PATIENCE)

    def stop(self, with_signal: signal.Signals = signal.SIGINT) -> int:
        """Send Ctrl-C and return the exit code. After that all lines are complete."""
        self.process.send_signal(with_signal)
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return code


@contextmanager
def watching(
    data: Path, *arguments: Path | str, until_said: str = "Watching ", **environment: str
) -> Generator[Watching, None, None]:
    """Start a watcher, and wait until it watches. Its lines include standard error."""
    unbuffered = {**clean_environment(data, **environment), "PYTHONUNBUFFERED": "1"}
    process = started(["watch", *map(str, arguments)], unbuffered, subprocess.STDOUT)
    lines: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        lines.extend(iter(process.stdout.readline, ""))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    watcher = Watching(process, lines, reader)
    try:
        until(lambda: any(until_said in line for line in lines) or process.poll() is not None, PATIENCE)
        assert process.poll() is None, lines
        yield watcher
    finally:
        process.kill()
        process.wait()
        reader.join(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()


def atomic_save(file: Path, text: str) -> None:
    """As many editors save: the new text beside the file, then into its place."""
    beside = file.with_name(f".{file.name}.tmp~")
    beside.write_text(text, "utf-8")
    os.replace(beside, file)  # noqa: PTH105


def vim_save(file: Path, text: str) -> None:
    """As vim does by default: the old file aside, a new one, the old one away."""
    aside = file.with_name(f"{file.name}~")
    file.rename(aside)
    file.write_text(text, "utf-8")
    aside.unlink()
