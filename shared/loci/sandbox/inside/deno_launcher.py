"""A small program that starts Deno behind the wall: it has no threads, no secrets, and little to copy at a fork.

It is told over its standard input, a socket: four bytes of length, which the descriptors come with, then JSON. It ends
with whoever holds the other end, and all that it has started ends with it.
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
from loci.sandbox.wall.limits import close_others
from loci.sandbox.wall.wall import Limits, Rules, View, put_up

COULD_NOT_START = 97


def main(_: list[str]) -> None:
    """Serve until the other end is closed."""
    told = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, _wake)
    _Launcher(told, reading).serve()


class _Launcher:
    def __init__(self, told: socket.socket, woken: int) -> None:
        self._told = told
        self._woken = woken
        self._started: dict[int, tuple[int, int]] = {}
        """By process id: whose it is, and where its end is told."""

    def serve(self) -> None:
        while True:
            for ready in select.select([self._told, self._woken], [], [])[0]:
                if ready is self._woken:
                    os.read(self._woken, 4096)
                    self._reap()
                elif not self._obey():
                    self._kill(None)
                    return

    def _obey(self) -> bool:
        """Do what is asked next; False where nobody is there any more."""
        head, descriptors, _, _ = socket.recv_fds(self._told, 4, 4)
        size = struct.unpack("<I", head)[0] if len(head) == 4 else 0
        text = b""
        while len(text) < size:
            part = self._told.recv(size - len(text))
            if not part:
                return False
            text += part
        if not text:
            return False
        order = json.loads(text)
        if "kill" in order:
            self._kill(order["kill"])
        else:
            self._start(order, descriptors)
        return True

    def _start(self, order: dict[str, Any], descriptors: list[int]) -> None:
        told = descriptors[3]
        child = os.fork()
        if child == 0:
            try:
                _become(order, descriptors)
            except OSError as error:
                os.write(2, f"the wall could not be put up: {error}\n".encode())
            os._exit(COULD_NOT_START)
        for one in descriptors[:3]:
            os.close(one)
        self._started[child] = (order["start"], told)

    def _kill(self, number: int | None) -> None:
        """Only children that were not waited for, so that their ids are theirs."""
        for child, (whose, _) in self._started.items():
            if number is None or whose == number:
                os.kill(child, signal.SIGKILL)

    def _reap(self) -> None:
        while self._started:
            child, status, used = os.wait4(-1, os.WNOHANG)
            if child == 0:
                return
            _, told = self._started.pop(child)
            peak = used.ru_maxrss if sys.platform == "darwin" else used.ru_maxrss * 1024
            _tell(told, {"ended": os.waitstatus_to_exitcode(status), "peak": peak})
            os.close(told)


def _wake(_: int, __: FrameType | None) -> None:
    """Python writes to the descriptor by itself, if there is a handler."""


def _become(order: dict[str, Any], descriptors: list[int]) -> None:
    """Deno, behind the wall."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.setsid()
    os.chdir("/")
    told = os.dup(descriptors[3])
    for target, one in enumerate(descriptors[:3]):
        os.dup2(one, target)
    os.set_inheritable(told, False)  # it ends with the execution

    def outside(id: int) -> None:
        _tell(told, {"pid": id})

    if layers := frozenset(Layer(one) for one in order["layers"]):
        view = View(**{name: tuple(paths) for name, paths in order["view"].items()})
        rules = Rules(order["rules"]["may_exec"], tuple(order["rules"]["extra"]))
        put_up(layers, view, Limits(**order["limits"]), rules, (0, 1, 2, told), outside)
    else:  # where the operator accepts that Deno's own permissions are all there is
        outside(os.getpid())
        close_others((0, 1, 2, told))
    os.execve(order["command"][0], order["command"], order["environment"])  # noqa: S606 (there is no shell)


def _tell(descriptor: int, what: dict[str, int]) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        os.write(descriptor, json.dumps(what).encode() + b"\n")
