"""An executor behind the wall: one process, one namespace, run after run. The supervisor trusts nothing it says."""

import builtins
import contextlib
import json
import os
import pathlib
import signal
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NoReturn

from loci.sandbox.inside import frames, notebook, pickled_variables
from loci.sandbox.inside.notebook import Notebook, raised

MOST_NAMES = 500
LARGEST_STATE = 2 << 30

Answer = dict[str, Any]


class Executor:
    """Reads a request, does it, and says what came of it."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._is_running = False
        self._was_interrupted = False
        self._asking = threading.Lock()
        # The caller's code is `__main__`, so that its functions and classes are saved by value, as in a notebook.
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self._namespace: dict[str, Any] = main.__dict__
        self._namespace.update(__builtins__=builtins, get_memory_path=self.get_memory_path)
        self._own = frozenset(self._namespace)
        self._notebook = Notebook(self._namespace)
        self._operations: dict[str, Callable[[Any], Answer]] = {
            "run": self._run,
            "save": self._save,
            "restore": self._restore,
        }

    def serve(self) -> NoReturn:
        """Serve until the supervisor closes its end."""
        signal.signal(signal.SIGINT, self._interrupt)
        self._say({"t": "ready"})
        while True:
            try:
                kind, payload = frames.read(self._requests)
                asked = _message(kind, payload)
                operation = self._operations.get(asked.get("op", ""))
                if operation is not None:
                    self._say({"t": "done", "id": asked["id"], **self._done(operation, asked)})
            except KeyboardInterrupt:
                continue
            except (EOFError, BrokenPipeError):
                os._exit(0)

    def get_memory_path(self, memory_id: str, memory_name: str = "") -> pathlib.Path:
        """The path of a stored file or a document, for reading: get_memory_path("ds-abc123", "sales.xlsx").

        get_memory_path("notes/") is a file with all documents of that folder, as JSON lines: id, path, title, date,
        date_from, tags, text, error.
        """
        with self._asking:
            self._say({"t": "memory", "memory_id": str(memory_id), "memory_name": str(memory_name)})
            while True:
                kind, payload = frames.read(self._requests)
                answer = _message(kind, payload)
                if "path" in answer:
                    return pathlib.Path(answer["path"])
                if "missing" in answer:
                    raise FileNotFoundError(answer["missing"])

    def _done(self, operation: Callable[[Any], Answer], asked: Any) -> Answer:
        try:
            answer = operation(asked)
        except MemoryError:
            answer = {"ok": False, "memory": True}
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the caller's code may have put anything there
                stream.flush()
        return answer

    def _interrupt(self, *_: object) -> None:
        self._was_interrupted = True
        if self._is_running:
            raise KeyboardInterrupt

    def _run(self, asked: Any) -> Answer:
        value: Any = None
        failure: Answer | None = None
        try:
            self._is_running = True
            result = self._notebook.run(asked["code"])
            value = notebook.described(result)
            if result is not None:
                self._namespace["_"] = result
        except SystemExit as error:
            failure = None if error.code in (None, 0) else {"exit": str(error.code)[:200]}
        except KeyboardInterrupt as error:
            failure = {"interrupted": True, **asdict(raised(error))}
        except MemoryError as error:
            failure = {"memory": True, **asdict(raised(error))}
        except BaseException as error:  # noqa: BLE001 (it is the caller's)
            failure = asdict(raised(error))
        finally:
            self._is_running = False
        drawn = notebook.figures()
        for figure in drawn:
            frames.write(self._replies, frames.BYTES, figure)
        answer = {"ok": failure is None, "value": value, "figures": len(drawn), "names": self._names()[:MOST_NAMES]}
        return answer if failure is None else {**answer, "failure": failure}

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
        return {"ok": True, **asdict(saved)}

    def _restore(self, _: Any) -> Answer:
        held = bytearray()
        ended = False

        def read(length: int) -> bytes:
            nonlocal ended
            while len(held) < length and not ended:
                kind, payload = frames.read(self._requests)
                ended = kind == frames.JSON
                held.extend(payload if not ended else b"")
            part = bytes(memoryview(held)[:length])
            del held[:length]
            return part

        kept, lost = pickled_variables.restore(self._namespace, read)
        while not ended:
            read(1)
        return {"ok": True, "kept": kept, "lost": lost}

    def _names(self) -> list[str]:
        # The caller's code can put anything in it as a name.
        named = [one for one in list[Any](self._namespace) if isinstance(one, str) and one not in self._own]
        return [one for one in named if one != "_" and not one.startswith("__")]

    def _say(self, what: Answer) -> None:
        frames.write(self._replies, frames.JSON, json.dumps(what).encode("utf-8", "replace"))


def _message(kind: bytes, payload: bytes) -> Answer:
    return json.loads(payload) if kind == frames.JSON else {}
