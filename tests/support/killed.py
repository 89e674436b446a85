"""A process that writes until it is killed."""

import signal
import subprocess
import sys
from pathlib import Path


def killed_writer(program: str, *arguments: Path | str, after: int) -> int:
    """The last number that the writer had acknowledged, one a line, when it was killed: `after` at the earliest."""
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= after:
                break
        writer.send_signal(signal.SIGKILL)
        unread = writer.stdout.read().split("\n")[:-1]  # acknowledged before the kill, read after it
    assert writer.returncode == -signal.SIGKILL
    return int(unread[-1]) if unread else after
