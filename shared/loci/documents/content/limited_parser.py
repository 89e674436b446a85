"""Parses documents within a limit of time: large ones, and those that failed before, in a process that can be ended.

A pattern holds the interpreter until it is done, so no thread could stop it.
"""

import math
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from select import select
from typing import BinaryIO, cast
from weakref import finalize

from loci.core.errors import Unavailable
from loci.documents.content.markdown import ParsedDocument, parse, parse_as_plain_text
from loci.documents.document import UNLIMITED_BYTES

MOST_TRIES = 2
MEGABYTE = 2**20
WORKERS = 2
"""Documents that are parsed at the same time; others wait."""
START_SECONDS = 30.0
IDLE_SECONDS = 60.0
"""A worker without work ends after so long, and gives its memory back."""
PROGRAM = "loci.documents.content.limited_parser"
READY = b"+"
LENGTH = struct.Struct(">Q")


@dataclass(slots=True)
class Tries:
    """How often a document has been tried already."""

    before: int = 0
    save: Callable[[int], None] = field(default=lambda _: None)
    """Keeps the number of the try that begins, for the case that this process ends during it."""
    is_careful: bool = False
    """True: not in this process, because another one may have ended over it."""

    def again(self) -> bool:
        """Count one more try; False if there were enough."""
        if self.before >= MOST_TRIES:
            return False
        self.before += 1
        self.save(self.before)
        return True


class LimitedParser:
    """Parses documents, each within so many seconds for every megabyte that it has or begins."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._idle: list[_Worker] = []
        self._room = threading.BoundedSemaphore(WORKERS)

    def parse(self, path: str, content: bytes, tries: Tries | None = None) -> ParsedDocument:
        """Parse the document. If that fails twice, it becomes plain text, with a problem that says so."""
        tries = tries or Tries()
        if len(content) <= UNLIMITED_BYTES and not tries.before and not tries.is_careful:
            return parse(path, content)
        seconds = self._seconds * max(1.0, len(content) / MEGABYTE)
        is_first = not tries.before
        while tries.again():
            try:
                with self._room:
                    parsed = self._in_worker(path, content, seconds)
            except Unavailable:  # no process starts here: there is no limit then, so no second try
                return parse(path, content) if is_first else parse_as_plain_text(path, content)
            if parsed is not None:
                return parsed
        return parse_as_plain_text(path, content)

    def _in_worker(self, path: str, content: bytes, seconds: float) -> ParsedDocument | None:
        """None if the worker did not get to the end."""
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = _Worker()
        try:
            parsed = worker.parse(path, content, seconds)
        except _WorkerLeft:
            worker = _Worker()
            parsed = worker.parse(path, content, seconds)
        if parsed is None:
            worker.end()
        else:
            self._idle.append(worker)
        return parsed


class _WorkerLeft(Exception):
    """The worker had ended for want of work before it was asked."""


class _Worker:
    """A process that parses one document after another, until it is ended or has nothing to do."""

    end: Callable[[], object]
    """Ends the process; this happens by itself when nobody holds this object."""

    def __init__(self) -> None:
        try:
            process = subprocess.Popen(  # noqa: S603 (this interpreter, on this file)
                [sys.executable, "-P", "-m", PROGRAM],  # -P: never with modules of the folder that it is called in
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError as error:
            raise _not_started(error.strerror) from error
        self._process = process
        self._asked = cast("BinaryIO", process.stdin)
        self._answers = cast("BinaryIO", process.stdout)
        self.end = finalize(self, _end, process)
        with self._ended_after(START_SECONDS):
            is_ready = self._answers.read(1) == READY
        if not is_ready:
            self.end()
            raise _not_started("it ended at once")

    def parse(self, path: str, content: bytes, seconds: float) -> ParsedDocument | None:
        """None if it took too long, or the worker ended."""
        with self._ended_after(seconds):
            try:
                _send(self._asked, pickle.dumps((path, content, seconds)))
            except OSError:
                self.end()
                raise _WorkerLeft from None
            answer = _receive(self._answers)
        return None if answer is None else cast("ParsedDocument", pickle.loads(answer))  # noqa: S301 (of our own code)

    def _ended_after(self, seconds: float) -> "_Ended":
        return _Ended(threading.Timer(seconds, self._process.kill))


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdout, process.stdin):
        with suppress(OSError):  # what it did not read is still in the buffer
            if pipe:
                pipe.close()


def _not_started(why: str | None) -> Unavailable:
    what = f"The process that parses large documents did not start ({why})"
    return Unavailable(what, "Try again when the machine has room for another process", code="NO_PARSER")


@dataclass(frozen=True, slots=True)
class _Ended:
    """A context that a timer ends."""

    timer: threading.Timer

    def __enter__(self) -> None:
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()


def _send(to: BinaryIO, message: bytes) -> None:
    to.write(LENGTH.pack(len(message)))
    to.write(message)
    to.flush()


def _receive(source: BinaryIO) -> bytes | None:
    """The next message; None if the other side ended before its end."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    [length] = LENGTH.unpack(head)
    message = source.read(length)
    return message if len(message) == length else None


def main() -> None:
    """Answer each request with its parsed document."""
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may write where the answers go
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is interrupted closes the pipe
    answers.write(READY)
    answers.flush()
    while select([source], [], [], IDLE_SECONDS)[0] and (asked := _receive(source)) is not None:
        path, content, seconds = cast("tuple[str, bytes, float]", pickle.loads(asked))  # noqa: S301 (of our own server)
        _end_after_processor_time(seconds)
        _send(answers, pickle.dumps(parse(path, content)))


def _end_after_processor_time(seconds: float) -> None:
    """Let the kernel end this process, in case whoever waits for it is gone by then."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used.ru_utime + used.ru_stime + seconds) + 1, most))


if __name__ == "__main__":
    main()
