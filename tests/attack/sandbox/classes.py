"""The classes of attacks, how many there are of each, and what stops them: a table of docs/security.md."""

from collections.abc import Sized
from dataclasses import dataclass

from tests.attack.sandbox.deno import attacks, on_limits, on_meters
from tests.attack.sandbox.python import on_the_kernel, on_the_machine, on_the_meters, on_the_supervisor
from tests.attack.sandbox.python.test_after_answer import GOES_ON, NEVER

FILES = "Landlock or a mount namespace shows only what was granted; seccomp refuses links, devices and owners"
NETWORK = "seccomp, an empty network namespace, Landlock on `/proc/net`"
SECRETS = "an empty environment, closed files; seccomp, Landlock and a process namespace hide other processes"
METERS = "refused by seccomp, or counted by the supervisor"
LIMITS = "limits of the kernel and of V8, control groups, and a supervisor that measures and kills"
FORGED = "sizes and counts are limited before parsing"
AFTER = "Python: stopped between runs, and saving has a time limit"


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
    ("privileges", on_the_kernel.PRIVILEGES, "no capabilities, and no way to get them; seccomp"),
    ("exhaustion", on_the_kernel.EXHAUSTION, LIMITS),
    ("what no limit counts", on_the_meters.UNMETERED, METERS),
    ("channels between executors", on_the_meters.CHANNELS, "seccomp refuses calls that show what executors share"),
    ("messages and output", on_the_supervisor.PROTOCOL, FORGED),
    ("saved state", on_the_supervisor.LEFT_BEHIND, "bytes outside; deserialised only behind the wall"),
    ("figures", on_the_supervisor.FIGURES, "only PNG is shown: ten, 4 MB in all"),
    ("code after the answer", GOES_ON, AFTER),
    ("saving that never ends", NEVER, "a time limit; the answer names what is lost"),
)
TYPESCRIPT = (
    ("network", attacks.NETWORK, NETWORK),
    ("secrets", attacks.SECRETS, SECRETS),
    ("files", attacks.FILES, FILES),
    ("programs", attacks.PROGRAMS, "seccomp refuses processes, and signals to others"),
    ("the engine", attacks.ENGINE, "flags that code sets change no limit; memory is measured from outside"),
    ("exhaustion", on_limits.MEMORY, LIMITS),
    ("what no limit counts", on_meters.METERS, METERS),
    ("time", on_limits.TIME, "the host's clock, and SIGKILL"),
    ("ends without an answer", on_limits.ENDS, "the supervisor judges how the process ended"),
    ("messages and output", on_limits.OUTPUT, FORGED),
    ("traces for the next run", on_limits.TRACES, "each run has its own process"),
    ("code after the answer", on_meters.GOES_ON, "TypeScript: the process is killed with its answer"),
)
CLASSES = tuple(
    AttackClass(code, name, tried, stopped_by)
    for code, rows in {"Python": PYTHON, "TypeScript": TYPESCRIPT}.items()
    for name, tried, stopped_by in rows
)


def table() -> str:
    """All classes as a table: a row for each name, with the attacks by Python and by TypeScript."""
    rows = ["| class of attack | Python | TypeScript | what stops it |", "|---|--:|--:|---|"]
    for name in dict.fromkeys(one.name for one in CLASSES):
        found = {one.code: one for one in CLASSES if one.name == name}
        counts = [str(len(found[code].attacks)) if code in found else "" for code in ("Python", "TypeScript")]
        stopped_by = "; ".join(dict.fromkeys(one.stopped_by for one in found.values()))
        rows.append(f"| {name} | {' | '.join(counts)} | {stopped_by} |")
    return "\n".join(rows) + "\n"
