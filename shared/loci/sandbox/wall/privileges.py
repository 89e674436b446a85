"""What a process may do beyond its user's rights: nothing, and it cannot get it back."""

import contextlib
import errno
import os
import signal

from loci.sandbox.wall import kernel


def die_with_parent(parent: int) -> None:
    """Be killed when the thread that started this process ends, even while stopped."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os.kill(os.getpid(), signal.SIGKILL)


def hide() -> None:
    """Nobody of the same user looks into this process, until it runs another program; if that can be had."""
    with contextlib.suppress(OSError):
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def give_up() -> None:
    """No capability is left, no program that is run gains any, and /proc shows nothing to others of the same user."""
    for capability in range(64):
        try:
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EPERM):  # the last one was before it; or there are none to drop
                break
            raise
    with contextlib.suppress(OSError):  # kernels before 4.3 have none
        kernel.prctl(kernel.PR_CAP_AMBIENT, 4)
    kernel.clear_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
