"""The classes of attacks, how many there are of each, and what stops them: a table of docs/security.md."""

from collections.abc import Sized
from dataclasses import dataclass

from tests.attack.sandbox.deno import attacks, on_limits, on_meters
from tests.attack.sandbox.python import on_the_kernel, on_the_machine, on_the_meters, on_the_supervisor
from tests.attack.sandbox.python.test_after_answer import GOES_ON, NEVER

FILES = "Landlock or a mount namespace: only what was granted is there; seccomp refuses links, devices and owners"
NETWORK = "seccomp: no sockets but pairs of the process's own; an empty network namespace; Landlock on `/proc/net`"
SECRETS = "an empty environment, closed files, and no look into other processes: seccomp, Landlock, a process namespace"
METERS = "refused by seccomp, or counted by the supervisor (pages and their tables, unlinked and mapped files, buffers)"
LIMITS = "limits of the kernel, control groups, and a supervisor that looks many times a second and kills"
FORGED = "sizes, counts and bytes in all are bounded before parsing; large messages wait for their turn"
AFTER = "the process is stopped between runs; saving has seconds, beside runs, then kills and names what is lost"


@dataclass(frozen=True, slots=True)
class AttackClass:
    """Attacks of one kind by one code, and what stops them."""

    code: str
    name: str
    attacks: Sized
    stopped_by: str


PYTHON = (
    ("network", on_the_machine.NETWORK, NETWORK),
    ("secrets", on_the_machine.SECRETS, SECRETS),
    ("files", on_the_machine.FILES, FILES),
    ("privileges", on_the_kernel.PRIVILEGES, "no capabilities, no way to new ones, a list of system calls"),
    ("exhaustion", on_the_kernel.EXHAUSTION, LIMITS),
    ("what no limit counts", on_the_meters.UNMETERED, METERS),
    ("channels between executors", on_the_meters.CHANNELS, "seccomp refuses calls that show what others share"),
    ("messages to the supervisor", on_the_supervisor.PROTOCOL, FORGED),
    ("saved state", on_the_supervisor.LEFT_BEHIND, "it is bytes outside, and read again only behind a wall"),
    ("figures", on_the_supervisor.FIGURES, "only PNG is shown, ten of 4 MB in all"),
    ("code after the answer", GOES_ON, AFTER),
    ("saving that never ends", NEVER, AFTER),
)
TYPESCRIPT = (
    ("network", attacks.NETWORK, f"Deno's permissions; {NETWORK}"),
    ("secrets", attacks.SECRETS, f"Deno's permissions; {SECRETS}"),
    ("files", attacks.FILES, f"Deno's permissions; {FILES}"),
    ("programs", attacks.PROGRAMS, "Deno's permissions; seccomp refuses processes, and signals to others"),
    ("the engine", attacks.ENGINE, "flags that code sets change no limit; memory is measured from outside, too"),
    ("memory", on_limits.MEMORY, f"V8's limit of the heap; {LIMITS}"),
    ("what no limit counts", on_meters.METERS, METERS),
    ("time", on_limits.TIME, "the host's clock, and SIGKILL"),
    ("ends without an answer", on_limits.ENDS, "the supervisor judges how the process ended"),
    ("output and messages", on_limits.OUTPUT, FORGED),
    ("traces for the next run", on_limits.TRACES, "each run has a process of its own, which is used once"),
    ("code after the answer", on_meters.GOES_ON, "the process is killed with its answer"),
)
CLASSES = tuple(
    AttackClass(code, name, tried, stopped_by)
    for code, rows in {"Python": PYTHON, "TypeScript": TYPESCRIPT}.items()
    for name, tried, stopped_by in rows
)


def table() -> str:
    """All classes as a table."""
    rows = [f"| {one.code} | {one.name} | {len(one.attacks)} | {one.stopped_by} |" for one in CLASSES]
    return "\n".join(["| code | class of attack | | what stops it |", "|---|---|--:|---|", *rows]) + "\n"
