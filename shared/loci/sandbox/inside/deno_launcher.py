"""A small program that starts Deno behind the wall: it has no threads, no secrets, and little to copy at a fork.

Requests come over its standard input, a socket: four bytes of length, together with descriptors, then JSON. It ends
when the other end is closed, and everything that it started ends with it.
"""

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
from types import FrameType
from typing import Any

from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.restrictions import close_others
from loci.sandbox.wall.wall import ProcessLimits, SystemCallRules, View, put_up

COULD_NOT_START = 97


def main(_: list[str]) -> None:
    """Serve until the other end is closed."""
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, _wake)
    _Launcher(requests, reading).serve()


class _Launcher:
    def __init__(self, requests: socket.socket, woken: int) -> None:
        self._requests = requests
        self._woken = woken
        self._started: dict[int, tuple[int, int]] = {}
        """The number of the request, and the descriptor for the report of its end, by process id."""

    def serve(self) -> None:
        while True:
            for ready in select.select([self._requests, self._woken], [], [])[0]:
                if ready is self._woken:
                    os.read(self._woken, 4096)
                    self._reap()
                elif not self._serve_request():
                    self._kill(None)
                    return

    def _serve_request(self) -> bool:
        """Serve the next request. False if the other end is closed."""
        head, descriptors, _, _ = socket.recv_fds(self._requests, 4, 4)
        size = struct.unpack("<I", head)[0] if len(head) == 4 else 0
        text = b""
        while len(text) < size:
            part = self._requests.recv(size - len(text))
            if not part:
                return False
            text += part
        if not text:
            return False
        request = json.loads(text)
        if "kill" in request:
            self._kill(request["kill"])
        else:
            self._start(request, descriptors)
        return True

    def _start(self, request: dict[str, Any], descriptors: list[int]) -> None:
        reports = descriptors[3]
        request["parent"] = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                _become(request, descriptors)
            except OSError as error:
                os.write(2, f"the wall could not be put up: {error}\n".encode())
            os._exit(COULD_NOT_START)
        for one in descriptors[:3]:
            os.close(one)
        self._started[child] = (request["start"], reports)

    def _kill(self, number: int | None) -> None:
        """Kill a child, or all. A child that was waited for is left alone: its id may be in use again."""
        for child, (whose, _) in self._started.items():
            if number is None or whose == number:
                os.kill(child, signal.SIGKILL)

    def _reap(self) -> None:
        while self._started:
            child, status, used = os.wait4(-1, os.WNOHANG)
            if child == 0:
                return
            _, reports = self._started.pop(child)
            peak = used.ru_maxrss if sys.platform == "darwin" else used.ru_maxrss * 1024
            _report(reports, {"ended": os.waitstatus_to_exitcode(status), "peak": peak})
            os.close(reports)


def _wake(_: int, __: FrameType | None) -> None:
    """Do nothing: Python writes to the descriptor by itself, if there is a handler."""


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Turn the forked child into Deno behind the wall."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.setsid()
    os.chdir("/")
    reports = os.dup(descriptors[3])
    for target, one in enumerate(descriptors[:3]):
        os.dup2(one, target)
    os.set_inheritable(reports, False)  # it is closed when Deno starts

    def outside(id: int) -> None:
        _report(reports, {"pid": id})

    if layers := frozenset(Layer(one) for one in request["layers"]):
        view = View(**{name: tuple(paths) for name, paths in request["view"].items()})
        rules = SystemCallRules(request["rules"]["may_exec"], tuple(request["rules"]["extra"]))
        put_up(layers, view, ProcessLimits(**request["limits"]), rules, (0, 1, 2, reports), outside, request["parent"])
    else:  # the operator accepts that Deno's own permissions are the only wall
        outside(os.getpid())
        close_others((0, 1, 2, reports))
    os.execve(request["command"][0], request["command"], request["environment"])  # noqa: S606 (there is no shell)


def _report(descriptor: int, news: dict[str, int]) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        os.write(descriptor, json.dumps(news).encode() + b"\n")
