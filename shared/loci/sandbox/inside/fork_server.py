"""Imports all packages once, with no secrets in its memory, then forks confined executors, one after the other."""

import contextlib
import fcntl
import gc
import importlib
import json
import os
import random
import signal
import socket
import sys
from typing import Any, NoReturn

from loci.sandbox.inside import notebook
from loci.sandbox.inside.executor import Executor
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.wall import ProcessLimits, SystemCallRules, View, put_up

REQUESTS, REPLIES, ANNOUNCED = 10, 11, 12
UP, FORKED = b"U", b"F"
LARGEST = 1 << 16


def main(arguments: list[str]) -> NoReturn:
    """Serve on the socket with the given number, until the other end is closed."""
    supervisor = socket.socket(fileno=int(arguments[0]))
    # Code that imports a missing package gets the error.
    for name in arguments[1].split(","):
        _import(name)
    notebook.show_widely()
    notebook.prepare_figures()
    notebook.explain_programs()
    threads = _thread_pools()
    signal.signal(signal.SIGCHLD, _reap)
    gc.collect()
    own = os.getpid()
    gc.freeze()  # otherwise the collector writes to every page, and none stays shared
    supervisor.sendall(UP)
    while True:
        message, descriptors, _, _ = socket.recv_fds(supervisor, LARGEST, 8)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            supervisor.close()
            _become({**json.loads(message), "parent": own}, threads, *descriptors)
        for one in descriptors:
            os.close(one)
        supervisor.sendall(FORKED)


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        sys.stderr.write(f"{name} is not installed\n")


def _thread_pools() -> Any:
    """Sets how many threads the libraries use. Finding them takes too long to do it in each executor."""
    module: Any = sys.modules.get("threadpoolctl")
    return None if module is None else module.ThreadpoolController()


def _reap(*_: object) -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _become(
    asked: dict[str, Any], threads: Any, requests: int, replies: int, output: int, errors: int, announced: int
) -> NoReturn:
    """Turn the forked child into an executor behind its wall, or end it."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open("/dev/null", os.O_RDONLY)
        wanted = {0: nothing, 1: output, 2: errors, REQUESTS: requests, REPLIES: replies, ANNOUNCED: announced}
        # First move all of them out of the way: one may lie where another must go.
        away = {target: fcntl.fcntl(source, fcntl.F_DUPFD, 64) for target, source in wanted.items()}
        for target, source in away.items():
            os.dup2(source, target)
        os.chdir(asked["work"])
        _confine(asked)
        os.close(ANNOUNCED)
        _settle(asked, threads)
    except BaseException as error:  # noqa: BLE001 (a forked child must not go on as its parent)
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    Executor(REQUESTS, REPLIES).serve()


def _confine(asked: dict[str, Any]) -> None:
    view = View(tuple(asked["readable"]), tuple(asked["writable"]))
    layers = frozenset(Layer(one) for one in asked["layers"])
    keep = (0, 1, 2, REQUESTS, REPLIES, ANNOUNCED)
    put_up(layers, view, ProcessLimits(**asked["limits"]), SystemCallRules(), keep, _announce, asked["parent"])


def _announce(executor: int) -> None:
    """Hand the supervisor a handle on the process: its id alone may become another's."""
    handle: list[int] = []
    with contextlib.suppress(AttributeError, OSError):  # macOS has none, and a function's machine may refuse it
        handle.append(os.pidfd_open(executor))
    with socket.socket(fileno=os.dup(ANNOUNCED)) as supervisor:
        socket.send_fds(supervisor, [str(executor).encode()], handle)
    for one in handle:
        os.close(one)


def _settle(asked: dict[str, Any], threads: Any) -> None:
    """Make this executor's own what the fork left the same in all of them."""
    random.seed()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    if threads is not None:
        # Not BLAS: each of its threads takes memory at once, and they keep the processor busy while they wait.
        threads.limit(limits={"openmp": asked["threads"]})
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
    sys.argv = [""]
    # The caller's own modules come last, so that none of them can take another one's place.
    sys.path.append(asked["work"])
    for name in asked["refused"]:
        for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[loaded]
        sys.modules[name] = None  # type: ignore[assignment]
