"""Parses documents within a limit of time: large ones, and those that failed before, in a process that can be ended.

A pattern holds the interpreter until it is done, so no thread could stop it.
"""

import math
import resource
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from loci.core.errors import Unavailable
from loci.core.worker_process import WorkerProcess, answer_requests
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


@dataclass(slots=True)
class Tries:
    """The number of times that a document was tried already."""

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
        self._idle: list[WorkerProcess] = []
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
        request = (path, content, seconds)
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = _started()
        try:
            parsed = _asked(worker, request, seconds)
        except OSError:  # it had ended for want of work
            worker = _started()
            parsed = _asked(worker, request, seconds)
        if parsed is None:
            worker.end()
        else:
            self._idle.append(worker)
        return cast("ParsedDocument | None", parsed)


def _started() -> WorkerProcess:
    """A worker that is ready, so that its start takes nothing of a document's time."""
    try:
        worker = WorkerProcess(PROGRAM)
    except OSError as error:
        raise _not_started(error.strerror) from error
    with _killed_after(worker, START_SECONDS):
        is_ready = worker.is_ready()
    if not is_ready:
        raise _not_started("it ended at once")
    return worker


def _asked(worker: WorkerProcess, request: object, seconds: float) -> object:
    with _killed_after(worker, seconds):
        return worker.ask(request)


@contextmanager
def _killed_after(worker: WorkerProcess, seconds: float) -> Generator[None]:
    """End the worker if the block takes longer."""
    timer = threading.Timer(seconds, worker.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _not_started(why: str | None) -> Unavailable:
    what = f"The process that parses large documents did not start ({why})"
    return Unavailable(what, "Try again when the machine has room for another process", code="NO_PARSER")


def main() -> None:
    """Answer each request with its parsed document."""
    answer_requests(_parsed, says_ready=True, idle_seconds=IDLE_SECONDS)


def _parsed(request: tuple[str, bytes, float]) -> ParsedDocument:
    path, content, seconds = request
    _end_after_processor_time(seconds)
    return parse(path, content)


def _end_after_processor_time(seconds: float) -> None:
    """Let the kernel end this process, in case whoever waits for it is gone by then."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used.ru_utime + used.ru_stime + seconds) + 1, most))


if __name__ == "__main__":
    main()
