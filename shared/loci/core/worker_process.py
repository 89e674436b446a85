"""Calls of functions in processes beside this one: what holds the interpreter there holds up nobody here.

Both sides are Loci's own programs, so their messages are pickled.
"""

import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Literal, TypeVar, TypeVarTuple, cast
from weakref import finalize

from loci.core.errors import LociError, Unavailable

PROGRAM = "loci.core.worker_process"
AT_ONCE = 2
PATIENCE = 20
"""Multiple of its processor time that a call may last: other programs may keep the machine busy."""
IDLE_SECONDS = 60.0
"""The time after which a worker without work ends, and gives its memory back."""
OUT_OF_MEMORY = "memory"
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""Signals of a program that is at fault itself. Others come from outside, as at the end of the system."""
Why = Literal["time", "busy", "memory", "killed", "crash"]
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")
Process = subprocess.Popen[bytes]


class EndedError(Exception):
    """The process of a call was ended before it answered.

    `why`: it took all its time of the processor; the clock ran out first, because the machine was busy; it needed too
    much memory; somebody killed it, perhaps at the end of this process; or it crashed.
    """

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


class Workers:
    """Calls functions in processes. A few calls run at the same time, others wait. The processes end with this one."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._idle: list[Process] = []
        self._every: set[Process] = set()
        self._room = threading.BoundedSemaphore(at_once)
        finalize(self, _end_all, self._every)

    def call(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        seconds: float,
        memory_bytes: int | None = None,
    ) -> Result:
        """Call a function of a module, which may take `seconds` of processor time.

        Raises the `LociError` of the function; `EndedError` if its process ended; `Unavailable` if no process starts.
        """
        request = (function, arguments, seconds, memory_bytes)
        answer: tuple[object] | None = None
        with self._room:
            while answer is None and (worker := self._idle_one()):
                answer = self._asked(worker, request, seconds)
            answer = answer or self._asked(self._started(), request, seconds)
        if answer is None:
            raise _not_started("it ended at once")
        [result] = answer
        if isinstance(result, LociError):
            raise result
        return cast("Result", result)

    def close(self) -> None:
        """End all processes. A call that waits for one raises `EndedError`."""
        self._idle.clear()
        _end_all(self._every)

    def _idle_one(self) -> Process | None:
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def _started(self) -> Process:
        try:
            worker = subprocess.Popen(  # noqa: S603 (this interpreter, and a module of this program)
                [sys.executable, "-P", "-m", PROGRAM],  # -P: never with modules of the folder that it is called in
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError as error:
            raise _not_started(error.strerror) from error
        self._every.add(worker)
        return worker

    def _asked(self, worker: Process, request: object, seconds: float) -> tuple[object] | None:
        """The answer; None if the worker ended by itself before, because it was idle."""
        requests, answers = cast("BinaryIO", worker.stdin), cast("BinaryIO", worker.stdout)
        answer: object = None
        with suppress(OSError, ValueError, EOFError, pickle.UnpicklingError):  # it has ended
            _send(requests, request)
            if not _can_be_read(answers, seconds * PATIENCE):
                self._end(worker)
                raise EndedError("busy")
            answer = pickle.load(answers)  # noqa: S301 (of our own program)
        if isinstance(answer, tuple):
            self._idle.append(worker)
            return cast("tuple[object]", answer)
        ended = answer or worker.wait()
        self._end(worker)
        if ended == 0:
            return None
        raise EndedError(_why(ended))

    def _end(self, worker: Process) -> None:
        self._every.discard(worker)
        _end_all({worker})


def _end_all(workers: set[Process]) -> None:
    while workers:
        worker = workers.pop()
        worker.kill()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError):  # what it did not read is still in the buffer
                if pipe:
                    pipe.close()


def _why(ended: object) -> Why:
    """The reason why a process ended, by its exit code or the negative number of its signal."""
    if ended in (OUT_OF_MEMORY, -signal.SIGABRT):  # libraries in Rust abort if they get no memory
        return "memory"
    if ended == -signal.SIGPROF:
        return "time"
    is_fault = not isinstance(ended, int) or ended > 0 or -ended in FAULTS
    return "crash" if is_fault else "killed"


def _not_started(why: str | None) -> Unavailable:
    what = f"The process that reads large texts did not start ({why})"
    return Unavailable(what, "Try again when the machine has room for another process", code="NO_PARSER")


def answer_calls() -> None:
    """Answer the calls of `Workers`, as the main function of their processes. What serves callers goes first."""
    os.nice(5)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # threads take much room, and what serves callers wants the cores
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may write where the answers go
    with suppress(BrokenPipeError, EOFError, pickle.UnpicklingError):  # the parent has ended
        while _can_be_read(source, IDLE_SECONDS):
            _send(answers, _called(pickle.load(source)))  # noqa: S301 (of our own program)


def _called(request: tuple[Callable[..., object], tuple[object, ...], float, int | None]) -> object:
    """Call the function; return its result or its `LociError` in a tuple, or `OUT_OF_MEMORY`."""
    function, arguments, seconds, memory_bytes = request
    if memory_bytes is not None:
        with suppress(OSError, ValueError):  # macOS knows no such limit
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
    # The kernel ends this process after that time, even if its parent is gone.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return (function(*arguments),)
    except LociError as error:
        return (error,)
    except MemoryError:
        return OUT_OF_MEMORY
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _send(to: BinaryIO, message: object) -> None:
    pickle.dump(message, to, pickle.HIGHEST_PROTOCOL)  # a file: a large content is then not copied
    to.flush()


def _can_be_read(source: BinaryIO, seconds: float) -> bool:
    """Wait until something comes, or the other side has ended; False if the time is over before."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


if __name__ == "__main__":
    answer_calls()
