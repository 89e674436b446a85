"""A program that runs a server no longer than its parent lives: `python leash.py SCRATCH COMMAND…`.

Its standard input is a pipe that the parent holds. The system closes it when the parent dies, even by `kill -9`;
then the server is stopped. SIGTERM kills it at once. The folder SCRATCH goes with the server, however that ended.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from types import FrameType

PATIENCE = 10


def main(scratch: str, *command: str) -> int:
    """Run the command; its exit code."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def kill(_signal: int, _frame: FrameType | None) -> None:
        server.kill()

    signal.signal(signal.SIGTERM, kill)
    threading.Thread(target=_stop_with_parent, args=[server], daemon=True).start()
    code = server.wait()
    shutil.rmtree(scratch, ignore_errors=True)
    return code


def _stop_with_parent(server: subprocess.Popen[bytes]) -> None:
    os.read(0, 1)  # comes back when the pipe is closed: nobody writes to it
    server.terminate()
    try:
        server.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
