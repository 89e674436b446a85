"""A command that stands still on its way: its standard error has room for some lines, and nobody reads them.

Whoever ends it then ends it on its way, however slow the machine is.
"""

import fcntl
import os
import struct
import subprocess
import termios
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.polling import until
from tests.support.serving import LOCI, PATIENCE

PAGE = 4096
SET_SIZE = getattr(fcntl, "F_SETPIPE_SZ", None)
"""On Linux only: elsewhere the command may go on."""


@dataclass(frozen=True)
class Standing:
    """The command, and the end of the pipe where its standard error arrives behind what filled it."""

    process: subprocess.Popen[str]
    pipe: int
    filled: int

    def rest(self) -> str:
        """What it said, and says until its end."""
        with os.fdopen(self.pipe, encoding="utf-8", closefd=False) as pipe:
            return pipe.read()[self.filled :]


@contextmanager
def standing_still(
    *arguments: str, environment: Mapping[str, str], room: int, said: int = 1, stdout: int = subprocess.DEVNULL
) -> Generator[Standing]:
    """Start it, and wait until it has said so many bytes; it can say no more than it has room for."""
    ours, theirs = os.pipe()
    try:
        with os.fdopen(theirs, "wb", buffering=0) as end:
            size = fcntl.fcntl(theirs, SET_SIZE, PAGE) if SET_SIZE else room
            end.write(b"\n" * (size - room))
            process = subprocess.Popen([*LOCI, *arguments], env=environment, stdout=stdout, stderr=theirs, text=True)
        with process:
            try:
                until(lambda: _waiting(ours) >= size - room + said or process.poll() is not None, PATIENCE)
                yield Standing(process, ours, size - room)
            finally:
                process.kill()
    finally:
        os.close(ours)


def _waiting(pipe: int) -> int:
    """The bytes in it."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]
