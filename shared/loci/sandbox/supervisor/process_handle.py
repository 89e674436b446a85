"""A process that is not our child: how it is signalled."""

import contextlib
import errno
import os
import signal


class ProcessHandle:
    """Signals a process that is not our child.

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
