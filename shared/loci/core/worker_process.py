"""A process beside this one that answers requests, one after the other.

Both sides are Loci's own programs, so their messages are pickled.
"""

import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from select import select
from typing import Any, BinaryIO, cast
from weakref import finalize

LENGTH = struct.Struct(">Q")
READY = "ready"


class WorkerProcess:
    """The process, as the one that asks it sees it."""

    end: Callable[[], object]
    """Ends the process; this happens by itself when nobody holds this object."""

    def __init__(self, program: str) -> None:
        """Start a module of Loci that calls `answer_requests`. Raises `OSError` if no process starts."""
        self._process = subprocess.Popen(  # noqa: S603 (this interpreter, and a module of this program)
            [sys.executable, "-P", "-m", program],  # -P: never with modules of the folder that it is called in
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)
        self.end = finalize(self, _end, self._process)

    def is_ready(self) -> bool:
        """Wait until a process that says so is ready; False if it ended before."""
        return _received(self._answers) == READY

    def ask(self, request: object) -> object:
        """The answer; None if the process ended before it. Raises `OSError` if it had ended before it was asked."""
        _send(self._requests, request)
        return _received(self._answers)

    def kill(self) -> None:
        """Let who waits for an answer get None."""
        self._process.kill()


def answer_requests(
    answer: Callable[[Any], object], *, says_ready: bool = False, idle_seconds: float | None = None
) -> None:
    """In the process: answer until nobody asks any more, or until nobody has asked for so long."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is interrupted ends this process
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may write where the answers go
    with suppress(BrokenPipeError):
        if says_ready:
            _send(answers, READY)
        while select([source], [], [], idle_seconds)[0] and (request := _received(source)) is not None:
            _send(answers, answer(request))


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # what it did not read is still in the buffer
            if pipe:
                pipe.close()


def _send(to: BinaryIO, message: object) -> None:
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    to.write(LENGTH.pack(len(content)))
    to.write(content)
    to.flush()


def _received(source: BinaryIO) -> object:
    """The next message; None if the other side ended before its end."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    [length] = LENGTH.unpack(head)
    content = source.read(length)
    return pickle.loads(content) if len(content) == length else None  # noqa: S301 (of our own program)
