"""An executor learns nothing of another owner's process: no call answers for it, and nothing of it can be opened."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from loci.code.ports import RunFailure
from loci.sandbox.wall import kernel
from tests.attack.sandbox.python.test_meters import WALLS
from tests.attack.sandbox.python.test_saved_state import Here
from tests.contract.stores import ANN, BOB

CALLS = """
import ctypes, json, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def raw(name, *given):
    n = libc.syscall(NUMBERS[name], *[ctypes.c_long(one) if isinstance(one, int) else one for one in given])
    return ("done",) if n >= 0 else (ctypes.get_errno(),)
def tried(ask):
    try: return "done", repr(ask())
    except (OSError, ValueError) as e: return type(e).__name__, e.args[0]
def calls(p):
    room = ctypes.create_string_buffer(4096)
    yield from [raw("kill", p, 0), raw("tgkill", p, p, 0), raw("tkill", p, 0), raw("pidfd_open", p, 0)]
    yield from [raw("rt_sigqueueinfo", p, 0, room), raw("getpgid", p), raw("getsid", p), raw("setpgid", p, 0)]
    yield from [raw("sched_getscheduler", p), raw("sched_getparam", p, room), raw("sched_rr_get_interval", p, room)]
    yield from [raw("sched_getaffinity", p, 4096, room), raw("sched_setaffinity", p, 8, room), raw("getpriority", 0, p)]
    yield from [raw("sched_getattr", p, room, 56, 0), raw("setpriority", 0, p, 19), raw("ioprio_get", 1, p)]
    yield from [raw("prlimit64", p, 7, None, room), raw("ptrace", 16, p, 0, 0), raw("kcmp", p, os.getpid(), 0, 0, 0)]
    yield from [raw("move_pages", p, 0, None, None, None, 0), raw("migrate_pages", p, 8, room, room)]
    yield from [raw("get_robust_list", p, room, room), raw("process_vm_readv", p, room, 1, room, 1, 0)]
    yield from [raw("capget", (ctypes.c_int * 2)(0x20080522, p), room), raw("perf_event_open", room, p, -1, -1, 0)]
    yield tried(lambda: os.waitpid(p, os.WNOHANG))
    yield tried(lambda: os.waitid(os.P_PID, p, os.WEXITED | os.WNOHANG))
told = {p: [*calls(p)] for p in (*THERE, NOBODY)}
for p in THERE:
    for number, (one, nobody) in enumerate(zip(told[p], told[NOBODY], strict=True)):
        if one != nobody: print("call", number, one, nobody)
"""
FILES = """
NAMES = '''
attr/current auxv cgroup clear_refs cmdline comm coredump_filter cpuset cwd environ exe fd fd/0 fd/1 fd/10
fdinfo fdinfo/0 io limits loginuid map_files maps mem mountinfo mounts mountstats net net/tcp ns/net ns/pid
ns/user numa_maps oom_adj oom_score oom_score_adj pagemap personality projid_map root sched schedstat
sessionid setgroups smaps smaps_rollup stack stat statm status syscall task timers timerslack_ns uid_map wchan
. ..
'''.split()
for p in THERE:
    for name in [*NAMES, *(f"task/{p}/{one}" for one in NAMES[:-1])]:
        path = f"/proc/{p}/{name}"
        for ask in (lambda: os.open(path, os.O_RDONLY), lambda: os.open(path, os.O_WRONLY), lambda: os.listdir(path),
                    lambda: os.readlink(path), lambda: os.getxattr(path, "user.x")):
            said = tried(ask)
            if said[0] == "done": print(path, said)
    for name in ("cwd", "exe", "root", "fd/0", "fd/1", "fd/10", "ns/net", "map_files"):
        if name != "map_files" and tried(lambda: os.stat(f"/proc/{p}/{name}"))[0] == "done": print("stat", name)
print([one for one in tried(lambda: os.listdir("/proc"))[1:] if str(THERE[0]) in str(one)] or "")
"""


@pytest.fixture(params=WALLS)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Here]:
    made = Here(tmp_path, request.param)
    yield made
    made.executors.close()


def nobody() -> int:
    """An id that no process has, and none gets soon: they are given out in order."""
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    newest = int(Path("/proc/loadavg").read_text().split()[-1])
    return next(one for one in range((newest + most // 2) % most, most) if not Path(f"/proc/{one}").exists())


def ran(here: Here, code: str) -> str:
    """What the code of one owner prints about the processes of another, and about those that started them."""
    other, own = here.executors.open(ANN), here.executors.open(BOB)
    here.ran(ANN, other, "secret = 'of ann'")
    here.ran(BOB, own, "1")
    [theirs] = [one._executor for one in here.executors.sessions() if one.owner == ANN]  # pyright: ignore[reportPrivateUsage]
    assert theirs is not None
    server = here.executors._starter._forks._server  # pyright: ignore[reportPrivateUsage]
    assert server is not None
    there = (theirs.id, server._process.pid, os.getpid())  # pyright: ignore[reportPrivateUsage]
    known = f"THERE, NOBODY, NUMBERS = {there!r}, {nobody()}, {kernel.numbers()!r}\n"
    done = here.ran(BOB, own, known + code)
    assert not isinstance(done.outcome, RunFailure), done.outcome
    return done.stdout


def test_no_call_tells_it_from_one_that_is_not_there(here: Here) -> None:
    assert ran(here, CALLS) == ""


def test_nothing_of_it_can_be_opened(here: Here) -> None:
    assert ran(here, CALLS.partition("told = ")[0] + FILES).strip() == ""


def test_only_without_namespaces_it_is_known_that_its_id_is_in_use(here: Here, request: pytest.FixtureRequest) -> None:
    """Known to be open there (docs/security.md): Landlock does not judge who asks if a path exists."""
    told = ran(here, "import os\nprint(*(os.path.exists(f'/proc/{p}') for p in (*THERE, NOBODY)))")
    is_shown = "unprivileged" in request.node.name
    assert told.split() == [*[str(is_shown)] * 3, "False"]
