"""The trusted side of the launcher: asks for a process behind the wall, and says when it is to end."""

import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from loci.sandbox.supervisor import deno_flags
from loci.sandbox.supervisor.deno_process import Child, NotStartedError
from loci.sandbox.wall.layers import Layer

START = Path(__file__).resolve().parent.parent / "start.py"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a process is started with, and cannot be given later."""

    heap_mb: int
    read: tuple[str, ...] = ()


class Starter:
    """Starts processes, from any thread. Its launcher is started when it is first needed, and again if it ended."""

    def __init__(self, deno: str, layers: frozenset[Layer]) -> None:
        self._deno = deno
        self._layers = layers
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._launcher: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None

    def start(self, shape: Shape) -> Child:
        """A process that is on its way to be ready."""
        number = next(self._numbers)
        order: dict[str, object] = {
            "start": number,
            "command": deno_flags.command(self._deno, shape.heap_mb, shape.read),
            "environment": deno_flags.ENVIRONMENT,
            "layers": sorted(self._layers),
            "view": asdict(deno_flags.view(self._deno, shape.read)),
            "limits": asdict(deno_flags.limits(shape.heap_mb)),
            "rules": asdict(deno_flags.rules()),
        }
        ends = [os.pipe() for _ in range(4)]
        theirs = [ends[0][0], *(writing for _, writing in ends[1:])]
        ours = (ends[0][1], ends[1][0], ends[2][0], ends[3][0])
        try:
            self._tell(order, theirs)
        except OSError as error:
            for one in ours:
                os.close(one)
            raise NotStartedError(f"the launcher cannot be reached: {error}") from None
        finally:
            for one in theirs:
                os.close(one)
        return Child(ours, lambda: self._end(number))

    def close(self) -> None:
        """End the launcher, and all that it has started."""
        with self._lock:
            if self._line is not None:
                self._line.close()
            if self._launcher is not None:
                self._launcher.wait()
            self._line = self._launcher = None

    def _end(self, number: int) -> None:
        with self._lock:
            if self._line is not None:
                try:
                    _send(self._line, {"kill": number}, [])
                except OSError:  # it ended, and all that it had started with it
                    return

    def _tell(self, order: dict[str, object], descriptors: list[int]) -> None:
        with self._lock:
            if self._line is not None:
                try:
                    _send(self._line, order, descriptors)
                except OSError:
                    self._line.close()
                    self._line = None
                else:
                    return
            _send(self._opened(), order, descriptors)

    def _opened(self) -> socket.socket:
        if self._launcher is not None:
            self._launcher.wait()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(START), "inside.deno_launcher"]
        with theirs:
            # Of its own interpreter, with an empty environment: this process has threads and secrets.
            self._launcher = subprocess.Popen(  # noqa: S603
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={}, cwd="/"
            )
        self._line = ours
        return ours


def _send(line: socket.socket, order: dict[str, object], descriptors: list[int]) -> None:
    text = json.dumps(order).encode()
    head = struct.pack("<I", len(text))
    if descriptors:
        socket.send_fds(line, [head], descriptors)
    else:
        line.sendall(head)
    line.sendall(text)
