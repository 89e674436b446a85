"""A command at a terminal of its own, where somebody types."""

import fcntl
import os
import pty
import subprocess
import termios
from collections.abc import Mapping, Sequence

PATIENCE = 60


def at_terminal(command: Sequence[str], environment: Mapping[str, str], *typed: str) -> tuple[int, str]:
    """The exit code of the command, and all that its terminal showed. One line is typed at each question for a PIN."""
    master, slave = pty.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [*command], stdin=slave, stdout=slave, stderr=slave, env={**environment}, preexec_fn=take_terminal
    )
    os.close(slave)
    shown, left, asked = "", list(typed), 0
    try:
        while True:
            try:
                read = os.read(master, 4096).decode("utf-8", "replace")
            except OSError:  # Linux, when the other side has closed
                break
            if not read:
                break
            shown += read
            if shown.count(": ") > asked and shown.endswith(": ") and left:
                asked = shown.count(": ")
                os.write(master, left.pop(0).encode() + b"\n")
        return process.wait(PATIENCE), shown.replace("\r\n", "\n")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)
