"""One execution environment of a function: a child process, and the Runtime API that it asks for work."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass

from werkzeug import Request, Response
from werkzeug.serving import make_server

from bare_host.program import Program


@dataclass(frozen=True, slots=True)
class Answer:
    """What one invocation gave."""

    body: bytes
    is_error: bool


@dataclass(frozen=True, slots=True)
class Invocation:
    id: str
    function: str
    trace: str
    payload: str
    seconds: float


class InitFailed(Exception):
    """The program never asked for work; `body` is what a caller gets."""

    def __init__(self, body: bytes, output: str) -> None:
        super().__init__(f"{body.decode(errors='replace')}\n{output}")
        self.body = body


class Environment:
    """A child that has asked for work. It takes one invocation at a time, and ends with the first that times out."""

    def __init__(self, program: Program, variables: Mapping[str, str], patience: float) -> None:
        self._ready, self._ended = threading.Event(), threading.Event()
        self._init_error: bytes | None = None
        self._work: queue.SimpleQueue[Response] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this object)
        self._told = 0
        self._api = make_server("127.0.0.1", 0, Request.application(self._serve), threaded=True)
        self._child = subprocess.Popen(
            program.command,
            cwd=program.folder,
            env={
                **variables,
                **program.variables,
                "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._api.port}",
                "LAMBDA_TASK_ROOT": str(program.folder),
            },
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            process_group=0,  # to end with it what it has started; the session stays LocalStack's
        )
        _running.add(self)
        for work in (self._api.serve_forever, self._watch):
            threading.Thread(target=work, daemon=True).start()
        if not self._ready.wait(patience):
            self._init_error = error("Runtime.InitTimeout", f"the program did not ask for work in {patience} seconds")
        if self._init_error is not None:
            self.kill()
            raise InitFailed(self._init_error, self.output())

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def invoke(self, invocation: Invocation) -> Answer:
        """What the function answers; where its time is up, the child is killed."""
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + invocation.seconds) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": invocation.function,
            "Lambda-Runtime-Trace-Id": invocation.trace,
        }
        self._work.put(Response(invocation.payload, content_type="application/json", headers=headers))
        try:
            return self._answers.get(timeout=invocation.seconds)
        except queue.Empty:
            self.kill()
            message = f"RequestId: {invocation.id} Error: Task timed out after {invocation.seconds:.2f} seconds"
            return Answer(error("Sandbox.Timedout", message), is_error=True)

    def output(self) -> str:
        """What the child has written since this was asked last."""
        size = os.fstat(self._log.fileno()).st_size
        start, self._told = self._told, size
        return os.pread(self._log.fileno(), size - start, start).decode(errors="replace")

    def kill(self) -> None:
        """End the child, and whatever it has started, at once."""
        if not self._ended.is_set():
            self._kill_group()
            self._ended.wait()

    def _serve(self, request: Request) -> Response:
        *_, subject, call = request.path.split("/")
        if call == "next":
            self._ready.set()
            return self._work.get()
        if subject == "init":
            self._init_error = request.get_data()
            self._ready.set()
        else:
            self._answers.put(Answer(request.get_data(), is_error=call == "error"))
        return Response('{"status":"OK"}', 202, content_type="application/json")

    def _watch(self) -> None:
        """Free whoever waits for the child once it is killed or dies by itself."""
        os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        self._kill_group()  # until it is waited for, its number cannot be another's
        body = error("Runtime.ExitError", f"Runtime exited with error: exit status {self._child.wait()}")
        self._ended.set()
        if not self._ready.is_set():
            self._init_error = body
            self._ready.set()
        self._answers.put(Answer(body, is_error=True))
        self._work.put(Response(status=410))  # for a thread that still waits in "next"
        self._api.shutdown()
        self._api.server_close()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)


_running: weakref.WeakSet[Environment] = weakref.WeakSet()


def kill_all() -> None:
    """End every child of this process."""
    for environment in list(_running):
        environment.kill()


def error(kind: str, message: str) -> bytes:
    """The body of an invocation that failed outside of the function."""
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()
