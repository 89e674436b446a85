"""A process that is not a child of this one: to signal it and to see what it uses."""

import contextlib
import os
import signal

PAGE = os.sysconf("SC_PAGE_SIZE")


class Grip:
    """Holds the process itself where the kernel can (Linux 5.3), so that its id cannot become another's."""

    def __init__(self, id: int, descriptor: int | None) -> None:
        self.id = id
        self._descriptor = descriptor

    def signal(self, number: int) -> None:
        """Send it, if the process is still there."""
        with contextlib.suppress(ProcessLookupError):
            if self._descriptor is None:
                os.kill(self.id, number)
            elif self._descriptor >= 0:
                signal.pidfd_send_signal(self._descriptor, number)

    def release(self) -> None:
        """It is never signalled again."""
        if self._descriptor is not None and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def memory(self) -> int:
        """Bytes in RAM, with what it shares; 0 where the system does not say."""
        return self._number("statm", 1) * PAGE

    def threads(self) -> int:
        """How many threads it has; 0 where the system does not say."""
        try:
            return len(os.listdir(f"/proc/{self.id}/task"))
        except OSError:
            return 0

    def _number(self, file: str, at: int) -> int:
        try:
            with open(f"/proc/{self.id}/{file}", encoding="ascii") as opened:
                return int(opened.read().split()[at])
        except (OSError, IndexError, ValueError):
            return 0
