"""Processes, looked up in /proc, where they and their threads may end at any moment."""

import time
from contextlib import suppress
from pathlib import Path


def children(process: int) -> list[int]:
    """Those that it has started, from any thread."""
    found = list[int]()
    for task in threads(process):
        with suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def descendants(process: int) -> list[int]:
    """The children, and theirs."""
    found = children(process)
    for one in found:  # it grows
        found += children(one)
    return found


def threads(process: int) -> list[Path]:
    """The folders of its threads. None if it has ended."""
    with suppress(OSError):
        return [*Path(f"/proc/{process}/task").iterdir()]
    return []


def command_line(process: int) -> bytes:
    """Return what it was started with. Empty if it has ended, also if nobody has asked yet how.

    For a moment, a process that starts has its program and not yet its arguments, and one that ends has none left.
    """
    while True:
        with suppress(OSError):
            if found := Path(f"/proc/{process}/cmdline").read_bytes():
                return found
        if not is_alive(process):
            return b""
        time.sleep(0.001)


def is_alive(process: int) -> bool:
    """False if it has ended, also if nobody has asked yet how."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    return False
