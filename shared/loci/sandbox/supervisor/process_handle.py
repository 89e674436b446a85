"""A process that is not our child: signals to it, and what it uses."""

import contextlib
import errno
import os
import signal

PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessHandle:
    """Signals a process that is not our child, and reads what it uses.

    Since Linux 5.3 it holds the process itself, so that its id cannot become another's.
    """

    def __init__(self, id: int, descriptor: int | None) -> None:
        self.id = id
        self._descriptor = descriptor

    def signal(self, number: int) -> None:
        """Send the signal if the process is still there."""
        with contextlib.suppress(ProcessLookupError):
            if self._descriptor is None:
                os.kill(self.id, number)
            elif self._descriptor >= 0:
                try:
                    signal.pidfd_send_signal(self._descriptor, number)
                except OSError as error:
                    if error.errno not in (errno.EPERM, errno.ENOSYS):
                        raise
                    os.kill(self.id, number)  # the machine refuses the call

    def release(self) -> None:
        """Never signal it again."""
        if self._descriptor is not None and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def memory(self) -> int:
        """Bytes in RAM, with what it shares; 0 if the system does not say."""
        try:
            with open(f"/proc/{self.id}/statm", encoding="ascii") as opened:
                return int(opened.read().split()[1]) * PAGE
        except (OSError, IndexError, ValueError):
            return 0

    def threads(self) -> int:
        """The number of its threads; 0 if the system does not say."""
        try:
            return len(os.listdir(f"/proc/{self.id}/task"))
        except OSError:
            return 0
