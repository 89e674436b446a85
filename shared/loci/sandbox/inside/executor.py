"""An executor behind the wall: one process, one namespace, run after run. The supervisor trusts nothing it says."""

import builtins
import contextlib
import ctypes
import os
import pathlib
import signal
import sys
import threading
import types
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from loci.sandbox.inside import frames, messages, notebook, pickled_variables
from loci.sandbox.inside.notebook import Notebook, raised

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
NUMBERS = tuple(int(one) for one in signal.valid_signals())
MOST_RAISED = 10_000
"""Errors that the caller's code may raise outside of its run: threads that it left may do so for ever."""
# The caller's code may replace each of these while it runs. The module behind Python's own is all in C.
_c: Any = sys.modules["_signal"]
_set_timer, _get, _set = _c.setitimer, _c.getsignal, _c.signal
LONGEST_NAME = 120
NOT_LISTED = frozenset({"_", "__annotations__", "__warningregistry__"})
"""Names that Python sets, not the code. They are saved, but named only if they are lost."""
NOT_TOLD = {"type": "Error", "message": "(what the code did cannot be told)", "traceback": ""}
LARGEST_STATE = 2 << 30
LARGEST_CALL = 256 << 10
"""Bytes of the arguments of a tool."""
GIVE_BACK: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
"""Gives the system what the C library keeps for later. Takes less than 0.1 ms; not every C library has it."""
Answer = dict[str, Any]
# The caller's code may replace each of these while it runs.
_exit, _AnyError = os._exit, BaseException


class ToolError(Exception):
    """A tool failed, or may not be called: `code` says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class ToolAnswer:
    """The answer of a tool, which is there: `await` and `result()` return it."""

    def __init__(self, name: str, value: object) -> None:
        self._name = name
        self._value = value

    def result(self) -> Any:
        """Return the answer."""
        return self._value

    def __await__(self) -> Generator[None, None, Any]:
        yield from ()
        return self._value

    def __repr__(self) -> str:
        return f"<answer of {self._name}: await it>"


class RestingSignals:
    """Handlers that the code has set, as long as it does not run."""

    def __init__(self, interrupt: Callable[..., None]) -> None:
        self._own: dict[int, Callable[..., None]] = {int(signal.SIGINT): interrupt}
        self._resting: dict[int, Any] = {}
        _set(int(signal.SIGINT), interrupt)

    def rest(self) -> None:
        """Stop the timers, and put the handlers aside. Errors that they raise meanwhile are dropped."""
        for _ in range(MOST_RAISED):
            try:
                for timer in TIMERS:
                    _set_timer(timer, 0)
                for number in NUMBERS:
                    self._put_aside(number)
                return
            except BaseException:  # noqa: BLE001, S112 (it is the caller's)
                continue

    def go_on(self) -> None:
        """Give the code its handlers back."""
        for number, handler in self._resting.items():
            _set(number, handler)
        self._resting = {}

    def _put_aside(self, number: int) -> None:
        found, ours = _get(number), self._own.get(number, _ignore)
        is_default = found in (0, 1) and number not in self._own
        if found is None or is_default or found is ours:
            return
        self._resting[number] = found
        _set(number, ours)


def _ignore(*_: object) -> None:
    """Take the place of the code's handler."""


@dataclass
class _RequestProgress:
    """The progress of a request, which goes on there whatever is raised meanwhile."""

    got: bytearray = field(default_factory=bytearray)
    asked: Answer | None = None
    has_begun: bool = False
    frame: bytes | None = None
    sent: list[int] = field(default_factory=list[int])
    raised: int = 0


class Executor:
    """Reads a request, does it, and says what came of it."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._is_running = False
        self._was_interrupted = False
        self._asking = threading.Lock()
        self._calls = 0
        self._request = _RequestProgress()
        self._signals = RestingSignals(self._interrupt)
        # The caller's code is `__main__`, so that its functions and classes are saved by value, as in a notebook.
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self._namespace: dict[str, Any] = main.__dict__
        self._namespace.update(__builtins__=builtins, get_memory_path=self.get_memory_path, tool=self.tool)
        self._own = dict(self._namespace)
        self._notebook = Notebook(self._namespace)
        self._operations: dict[str, Callable[[Any], Answer]] = {
            "run": self._run,
            "save": self._save,
            "restore": self._restore,
        }

    def serve(self) -> NoReturn:
        """Serve until the supervisor closes its end."""
        try:
            self._say({"t": "ready"})
            while True:
                try:
                    # Another error may come while one is being caught.
                    self._serve_requests()
                except _AnyError:
                    continue
        finally:
            os._exit(1)

    def _serve_requests(self) -> None:
        while True:
            try:
                while True:
                    self._go_on()
            except _AnyError:
                self._request.raised += 1  # each time, if the supervisor has closed its end
                if self._request.raised > MOST_RAISED:
                    _exit(1)

    def _go_on(self) -> None:
        """Do what is left of the request."""
        one = self._request
        if one.asked is None:
            one.asked = _message(*frames.read(self._requests, one.got))
        operation = self._operations.get(one.asked.get("op", ""))
        if operation is not None:
            if one.frame is None:
                # Nothing runs twice.
                answer = {"ok": False, "failure": dict(NOT_TOLD)} if one.has_begun else {}
                one.has_begun = True
                answer = answer or self._done(operation, one.asked)
                told = messages.encoded({"t": "done", "id": one.asked["id"], **answer})
                one.frame = frames.packed(frames.JSON, told)
            frames.send(self._replies, one.frame, one.sent)
        self._request = _RequestProgress()

    def get_memory_path(self, memory_id: str, memory_name: str = "", version: int | None = None) -> pathlib.Path:
        """The path of a stored file or a document, for reading: get_memory_path("ds-abc123", "sales.xlsx").

        An older version of a file: get_memory_path("ds-abc123", "sales.xlsx", version=2).

        get_memory_path("notes/") is a file with all documents of that folder, as JSON lines: id, path, title, date,
        date_from, tags, text, error.
        """
        asked = str(memory_id) if version is None else f"{memory_id}@{int(version)}"
        with self._asking:
            self._say({"t": "memory", "memory_id": asked, "memory_name": str(memory_name)})
            while True:
                kind, payload = frames.read(self._requests)
                answer = _message(kind, payload)
                if "path" in answer:
                    return pathlib.Path(answer["path"])
                if "missing" in answer:
                    raise FileNotFoundError(answer["missing"])

    def tool(self, name: str, arguments: dict[str, Any] | None = None) -> ToolAnswer:
        """Call a tool of Loci or of another server: `await tool("github:list_commits", {"limit": 9})`.

        Without await: `tool(…).result()`. It raises an error with a `code` if the tool fails.
        """
        given = messages.encoded({} if arguments is None else arguments)
        if len(given) > LARGEST_CALL:
            raise ToolError("TOOL_DENIED", f"The arguments of a call have at most {LARGEST_CALL // 1024} KB")
        with self._asking:
            self._calls += 1
            self._say({"t": "tool", "n": self._calls, "tool": str(name), "arguments": given.decode()})
            answer: Answer = {}
            while answer.get("n") != self._calls:  # that of a call that was interrupted may still come
                answer = _message(*frames.read(self._requests))
        if answer.get("ok") is not True:
            error: Answer = answer.get("error") or {}
            raise ToolError(error.get("code", "TOOL_FAILED"), error.get("message", "Nobody answered this call"))
        return ToolAnswer(str(name), answer["value"])

    def _done(self, operation: Callable[[Any], Answer], asked: Any) -> Answer:
        try:
            answer = operation(asked)
        except MemoryError:
            answer = {"ok": False, "memory": True}
        except _AnyError:
            answer = {"ok": False, "failure": dict(NOT_TOLD)}
        self._signals.rest()
        for name in ("stdout", "stderr"):
            with contextlib.suppress(BaseException):  # the caller's code may have put anything there
                getattr(sys, name).flush()
        if GIVE_BACK is not None:
            GIVE_BACK(0)
        return answer

    def _interrupt(self, *_: object) -> None:
        self._was_interrupted = True
        if self._is_running:
            raise KeyboardInterrupt

    def _run(self, asked: Any) -> Answer:
        value: Any = None
        failure: Answer | None = None
        drawn: list[bytes] = []
        try:
            self._is_running = True
            self._signals.go_on()
            value, failure = self._outcome(asked["code"])
            drawn = notebook.figures()
        except KeyboardInterrupt:
            failure = {"interrupted": True, **NOT_TOLD}
        except MemoryError:
            failure = {"memory": True, **NOT_TOLD}
        except BaseException:  # noqa: BLE001 (telling of it runs the caller's code, too)
            failure = dict(NOT_TOLD)
        finally:
            self._is_running = False
        for figure in drawn:
            frames.write(self._replies, frames.BYTES, figure)
        names = [one[:LONGEST_NAME] for one in self._names() if one not in NOT_LISTED]
        told = messages.fitting(names, messages.MOST_NAMES)
        answer: Answer = {"ok": failure is None, "value": value, "names": told, "more": len(told) < len(names)}
        return answer if failure is None else {**answer, "failure": failure}

    def _outcome(self, code: str) -> tuple[Answer | None, Answer | None]:
        """The value of the code, and how it failed."""
        try:
            try:
                result = self._notebook.run(code)
                value = notebook.described(result)
            finally:
                self._signals.rest()
            if result is not None:
                self._namespace["_"] = result
        except SystemExit as error:
            code_given = error.code
            return None, None if code_given is None or code_given == 0 else {"exit": messages.text_of(code_given)[:200]}
        except KeyboardInterrupt as error:
            return None, {"interrupted": True, **asdict(raised(error))}
        except MemoryError as error:
            if notebook.is_of_parser(error):
                return None, {**asdict(raised(error)), "message": notebook.TOO_DEEP}
            return None, {"memory": True, **asdict(raised(error))}
        except BaseException as error:  # noqa: BLE001 (it is the caller's)
            return None, asdict(raised(error))
        return value, None

    def _save(self, asked: Any) -> Answer:
        held = bytearray()

        def send(*, all_of_it: bool) -> None:
            while len(held) >= frames.PIECE or (held and all_of_it):
                frames.write(self._replies, frames.BYTES, bytes(held[: frames.PIECE]))
                del held[: frames.PIECE]

        def write(content: bytes | memoryview) -> None:
            self._is_running = False  # an interrupt would leave half a frame
            put(content)
            self._is_running = True
            if self._was_interrupted:
                raise KeyboardInterrupt

        def put(content: bytes | memoryview) -> None:
            if len(content) < frames.PIECE:
                held.extend(content)
                send(all_of_it=False)
                return
            send(all_of_it=True)
            for piece in frames.pieces(content):
                frames.write(self._replies, frames.BYTES, piece)

        self._was_interrupted = False
        try:
            self._is_running = True
            saved = pickled_variables.save(self._namespace, self._names(), write, asked.get("most", LARGEST_STATE))
        except KeyboardInterrupt:
            return {"ok": False}
        finally:
            self._is_running = False
        send(all_of_it=True)
        return {"ok": True, **_fates(saved.kept, saved.lost), "too_large": saved.too_large}

    def _restore(self, _: Any) -> Answer:
        held = memoryview(b"")
        ended = False

        def read(buffer: memoryview) -> int:
            nonlocal held, ended
            if not held and not ended:
                kind, payload = frames.read(self._requests)
                ended = kind == frames.JSON
                held = memoryview(b"" if ended else payload)
            length = min(len(buffer), len(held))
            buffer[:length] = held[:length]
            held = held[length:]
            return length

        kept, lost = pickled_variables.restore(self._namespace, read)
        while not ended:
            held = memoryview(b"")
            read(memoryview(bytearray(1)))
        # Restored functions have brought Python's own along.
        self._namespace["__builtins__"] = builtins
        return {"ok": True, **_fates(kept, lost)}

    def _names(self) -> list[str]:
        """The names of the code's variables. What is as it was at first is not its own."""
        # The caller's code can put anything in it as a name.
        named = [(one, value) for one, value in list(self._namespace.items()) if type(one) is str]
        return [
            one for one, value in named if one != "__builtins__" and self._own.get(one, messages.MISSING) is not value
        ]

    def _say(self, what: Answer) -> None:
        frames.write(self._replies, frames.JSON, messages.encoded(what))


def _fates(kept: list[str], lost: list[dict[str, str]]) -> Answer:
    """The variables that are kept, and those lost with the reasons: as many as a message has room for."""
    names = [one[:LONGEST_NAME] for one in kept if one not in NOT_LISTED]
    told, gone = messages.fitting(names, messages.MOST_NAMES), messages.fitting(lost, messages.MOST_LOST)
    return {"kept": told, "lost": gone, "more": len(told) < len(names), "more_lost": len(gone) < len(lost)}


def _message(kind: bytes, payload: bytes) -> Answer:
    return messages.decoded(payload) if kind == frames.JSON else {}
