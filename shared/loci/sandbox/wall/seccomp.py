"""Seccomp: an allow-list of system calls, as a classic BPF program."""

import errno
from dataclasses import dataclass

from loci.sandbox.wall import kernel
from loci.sandbox.wall.call_lists import ABSENT, ALLOWED, IGNORED, UNSUPPORTED
from loci.sandbox.wall.judged_calls import (
    ALLOW,
    ARCHITECTURE,
    AT_LEAST,
    EQUAL,
    KILL,
    LOAD,
    NO_SUPPORT,
    NUMBER,
    PRETEND,
    REFUSE,
    RETURN,
    UNKNOWN,
    judged,
    step,
)

X32 = 0x40000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


@dataclass(frozen=True, slots=True)
class Rules:
    """System calls that are allowed besides the base list."""

    may_exec: bool = False
    extra: tuple[str, ...] = ()


def program(rules: Rules) -> bytes:
    """The filter for this process. It names the process's id, the only one that may be signalled or asked about."""
    numbers = kernel.numbers()
    if kernel.MACHINE not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"seccomp: no rules for {kernel.MACHINE}")
    # Another calling convention (int 0x80, x32) has other numbers, and would get around the list.
    steps = [step(LOAD, ARCHITECTURE), step(EQUAL, ARCHITECTURES[kernel.MACHINE], 1, 0), step(RETURN, KILL)]
    steps.append(step(LOAD, NUMBER))
    if kernel.MACHINE == "x86_64":
        steps += [step(AT_LEAST, X32, 0, 1), step(RETURN, KILL)]
    for name, body in judged().items():
        if name in numbers:
            steps += [step(EQUAL, numbers[name], 0, len(body)), *body]
    for name, verdict in _verdicts(rules).items():
        if name in numbers:
            steps += [step(EQUAL, numbers[name], 0, 1), step(RETURN, verdict)]
    steps.append(step(RETURN, REFUSE))
    return b"".join(steps)


def _verdicts(rules: Rules) -> dict[str, int]:
    """Calls that are judged by their name alone. All others are refused."""
    verdicts = dict.fromkeys(IGNORED, PRETEND) | dict.fromkeys(ABSENT, UNKNOWN) | dict.fromkeys(UNSUPPORTED, NO_SUPPORT)
    allowed = (*ALLOWED, *rules.extra, *(("execve", "execveat") if rules.may_exec else ()))
    return verdicts | dict.fromkeys(allowed, ALLOW)


def judge(rules: Rules) -> None:
    """Allow only these system calls from now on."""
    kernel.set_filter(program(rules))
