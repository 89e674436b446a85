"""A machine that refuses system calls, as a function's may: this process and all that it starts are judged."""

import errno
import struct
from collections.abc import Collection

from loci.sandbox.wall import kernel
from loci.sandbox.wall.seccomp import ALLOW, EQUAL, FAIL, LOAD, NUMBER, RETURN

FIRST_ARGUMENT = 16
ERRORS = {"EPERM": errno.EPERM, "ENOSYS": errno.ENOSYS}


def refuse(calls: Collection[str], error: str) -> None:
    """From now on these calls fail so. `PDEATHSIG` is the one of `prctl` that asks for a signal."""
    refusal = FAIL | ERRORS[error]
    steps = [_step(LOAD, NUMBER)]
    for name in calls:
        if name != "PDEATHSIG":
            steps += [_step(EQUAL, kernel.numbers()[name], 0, 1), _step(RETURN, refusal)]
    if "PDEATHSIG" in calls:
        steps += [_step(EQUAL, kernel.numbers()["prctl"], 0, 3), _step(LOAD, FIRST_ARGUMENT)]
        steps += [_step(EQUAL, kernel.PR_SET_PDEATHSIG, 0, 1), _step(RETURN, refusal)]
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.set_filter(b"".join([*steps, _step(RETURN, ALLOW)]))


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand & 0xFFFFFFFF)
