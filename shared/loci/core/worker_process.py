"""Processes beside this one that answer requests, each one after the other, and calls of functions in them.

Both sides are Loci's own programs, so their messages are pickled.
"""

import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from select import select
from typing import Any, BinaryIO, Literal, TypeVar, TypeVarTuple, cast
from weakref import WeakSet, finalize

from loci.core.errors import LociError, Unavailable

READY = "ready"
PROGRAM = "loci.core.worker_process"
AT_ONCE = 2
PATIENCE = 20
"""Multiple of its processor time that a call may last: other programs may keep the machine busy."""
START_SECONDS = 30.0
IDLE_SECONDS = 60.0
"""After this time a worker without work ends, and gives its memory back."""
OUT_OF_MEMORY = "memory"
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""Signals of a program that is at fault itself. Others come from outside, as at the end of the system."""
Why = Literal["time", "busy", "memory", "killed", "crash"]
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


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
        """Kill the process: a caller that waits for its answer gets None."""
        self._process.kill()

    def is_running(self) -> bool:
        """False if the process has ended."""
        return self._process.poll() is None

    def wait(self) -> int:
        """Wait until the process has ended; return its exit code, or the negative number of its signal."""
        return self._process.wait()


class EndedError(Exception):
    """The process of a call was ended before it answered.

    `why`: it took all its time of the processor; the clock ran out first, because the machine was busy; it needed too
    much memory; somebody killed it, perhaps at the end of this process; or it crashed.
    """

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


class Workers:
    """Calls functions in processes beside this one: what holds the interpreter there holds up nobody here.

    A few calls run at the same time, others wait.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._idle: list[WorkerProcess] = []
        self._every = WeakSet[WorkerProcess]()
        self._room = threading.BoundedSemaphore(at_once)

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
        with self._room:
            while (answer := self._asked(self._worker(), request, seconds)) is None:
                pass  # the worker had just ended, because it was idle
        [result] = answer
        if isinstance(result, LociError):
            raise result
        return cast("Result", result)

    def close(self) -> None:
        """End all processes. A call that waits for one raises `EndedError`."""
        self._idle.clear()
        for worker in [*self._every]:
            worker.end()

    def _worker(self) -> WorkerProcess:
        """A worker that is ready, so that its start takes nothing of the time of its first call."""
        while self._idle:
            with suppress(IndexError):
                worker = self._idle.pop()
                if worker.is_running():
                    return worker
                worker.end()
        try:
            worker = WorkerProcess(PROGRAM)
        except OSError as error:
            raise _not_started(error.strerror) from error
        self._every.add(worker)
        with _killed_after(worker, START_SECONDS):
            is_ready = worker.is_ready()
        if not is_ready:
            raise _not_started("it ended at once")
        return worker

    def _asked(self, worker: WorkerProcess, request: object, seconds: float) -> tuple[object] | None:
        """The answer; None if the worker had ended before."""
        answer: object = None
        with _killed_after(worker, seconds * PATIENCE) as is_late, suppress(OSError, ValueError):  # it has ended
            answer = worker.ask(request)
        if isinstance(answer, tuple):
            self._idle.append(worker)
            return cast("tuple[object]", answer)
        ended = answer or worker.wait()
        worker.end()
        if ended == 0:
            return None
        raise EndedError("busy" if is_late.is_set() else _why(ended))


@contextmanager
def _killed_after(worker: WorkerProcess, seconds: float) -> Generator[threading.Event]:
    """End the worker, and set the event, if the block takes longer."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        worker.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield is_late
    finally:
        timer.cancel()


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
    answer_requests(_called, says_ready=True, idle_seconds=IDLE_SECONDS)


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


def answer_requests(
    answer: Callable[[Any], object], *, says_ready: bool = False, idle_seconds: float | None = None
) -> None:
    """Answer requests, in the process, until its parent has ended or has asked nothing for `idle_seconds`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
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
    pickle.dump(message, to, pickle.HIGHEST_PROTOCOL)  # a file: a large content is then not copied
    to.flush()


def _received(source: BinaryIO) -> object:
    """The next message; None if the other side ended before its end."""
    try:
        return pickle.load(source)  # noqa: S301 (of our own program)
    except (EOFError, pickle.UnpicklingError):
        return None


if __name__ == "__main__":
    answer_calls()
