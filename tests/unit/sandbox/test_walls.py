"""What each layer of the wall refuses, and that what is allowed still works behind all of them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from loci.sandbox.wall import kernel
from loci.sandbox.wall.layers import ALL, BASE, UNPRIVILEGED, Layer, Offered, Unsafe, is_strong, offered, strongest
from loci.sandbox.wall.seccomp import ABSENT, ALLOWED, IGNORED, UNSUPPORTED, judged
from tests.support.each import Test, each
from tests.support.refused_reasons import REFUSED
from tests.support.walled import AS_NOBODY, SHARED, walled

HELD = [
    pytest.param(layers, id=name)
    for name, layers in {"namespaces": BASE | {Layer.NAMESPACES, Layer.SECCOMP}, "unprivileged": UNPRIVILEGED}.items()
    if layers <= offered().layers
]
COUNTED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from loci.sandbox.supervisor.limits import held_files
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.wall import ProcessLimits, SystemCallRules, View, put_up
ids, ready, end = os.pipe(), os.pipe(), os.pipe()
if os.fork() == 0:
    os.chdir(sys.argv[3])
    view = View((sys.prefix, "/usr/lib"), (sys.argv[3],))
    announce = lambda id: os.write(ids[1], str(id).encode())
    layers, keep = frozenset(map(Layer, sys.argv[2].split(","))), (0, 1, 2, ids[1], ready[1], end[0])
    put_up(layers, view, ProcessLimits(), SystemCallRules(), keep, announce)
    opened = os.open("f", os.O_CREAT | os.O_RDWR)
    os.unlink("f")
    os.write(opened, bytes(3 << 20))
    os.write(ready[1], b"x")
    os.read(end[0], 1)
    os._exit(0)
id = int(os.read(ids[0], 20))
os.read(ready[0], 1)
print(held_files(id, (sys.argv[3],), with_mapped=True).unlinked)
os.kill(id, signal.SIGKILL)
"""
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has walls")


def test_each_call_that_is_refused_has_one_reason() -> None:
    """Those that are allowed, answered otherwise or judged by their arguments have none."""
    refused = [name for names in REFUSED.values() for name in names.split()]
    others = {*ALLOWED, *UNSUPPORTED, *ABSENT, *IGNORED, *judged()}
    known = json.loads(Path(kernel.__file__).with_name("syscalls.json").read_text("utf-8"))
    assert sorted(refused) == sorted({name for names in known.values() for name in names} - others)


def behind(rows: Sequence[object]) -> Callable[[Test], Test]:
    """Run the test behind each of these walls: for each, it starts a process."""
    return each("layers", rows) if rows else pytest.mark.skip(reason="this machine has no wall to put around code")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def shared_work() -> Generator[Path]:
    """A folder that another user may enter. The folders of pytest are closed to them by each run that starts."""
    with TemporaryDirectory(prefix="loci-walls-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def said(code: str, layers: Sequence[Layer] | frozenset[Layer], work: Path, *readable: Path) -> str:
    ran = walled(code, sorted(layers), work, readable=readable)
    assert ran.returncode == 0, ran
    return ran.stdout.strip()


def test_descriptors_that_are_not_named_are_closed(work: Path) -> None:
    code = "print(refused(os.fstat, 3), refused(os.fstat, 1))"
    assert said(code, [Layer.DESCRIPTORS], work) == "EBADF done"


def test_nobody_of_the_same_user_looks_into_the_process(work: Path) -> None:
    code = "lines = open('/proc/self/status').read().split(); print(lines[lines.index('NoNewPrivs:') + 1])"
    assert said(code, [Layer.PRIVILEGES], work) == "1"
    assert said(code.replace("NoNewPrivs", "CapEff"), [Layer.PRIVILEGES], work) == "0" * 16
    assert said("import ctypes; print(ctypes.CDLL(None).prctl(3))", [Layer.PRIVILEGES], work) == "0"


def test_limits_hold_and_cannot_be_raised(work: Path) -> None:
    code = """
try:
    bytearray(512 << 20)
except MemoryError:
    print("memory")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
print(refused(lambda: open("big", "wb", 0).write(bytes(2 << 20)) < (2 << 20) or 1))
try:
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, 1 << 40))
except (ValueError, OSError):
    print("not raised")
"""
    lines = said(code, [Layer.PRIVILEGES, Layer.LIMITS], work).split("\n")
    assert (lines[0], lines[-1]) == ("memory", "not raised")
    assert (work / "big").stat().st_size <= 1 << 20


@behind(HELD)
def test_a_file_outside_is_out_of_reach(layers: frozenset[Layer], work: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    code = f"print(refused(open, {str(tmp_path / 'secret')!r}), refused(os.listdir, {str(tmp_path)!r}))"
    assert "done" not in said(code, layers - {Layer.SECCOMP}, work).split()[0]


@behind(HELD)
def test_what_is_readable_is_not_writable(layers: frozenset[Layer], work: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir(exist_ok=True)
    (given / "a.txt").write_text("text")
    code = f"""
print(open({str(given / "a.txt")!r}).read(), refused(open, {str(given / "a.txt")!r}, "a"))
print(refused(open, {str(given / "b.txt")!r}, "w"), refused(os.unlink, {str(given / "a.txt")!r}))
"""
    assert "done" not in said(code, layers, work, given)
    assert [one.name for one in given.iterdir()] == ["a.txt"]


@behind(HELD)
def test_a_link_in_a_readable_folder_leads_nowhere(layers: frozenset[Layer], work: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir(exist_ok=True)
    (tmp_path / "secret").write_text("s")
    (given / "link").unlink(missing_ok=True)
    (given / "link").symlink_to(tmp_path / "secret")
    assert said(f"print(refused(open, {str(given / 'link')!r}))", layers, work, given) in ("EACCES", "ENOENT")


@behind([*HELD, pytest.param(ALL & offered().layers, id="all")])
def test_the_work_folder_is_for_files_only(layers: frozenset[Layer], work: Path) -> None:
    code = """
open("a.txt", "w").write("kept")
print(refused(os.symlink, "/etc/passwd", "link"), refused(os.mkfifo, "pipe"), refused(os.link, "a.txt", "b.txt"))
"""
    assert said(code, layers, work).split() == ["EPERM"] * 3
    assert (work / "a.txt").read_text() == "kept"


@behind(HELD)
def test_there_is_no_network(layers: frozenset[Layer], work: Path) -> None:
    code = """
print(refused(socket.socket, socket.AF_INET), refused(socket.socket, socket.AF_INET, socket.SOCK_DGRAM))
print(refused(socket.socket, socket.AF_UNIX), refused(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW))
"""
    assert said(code, layers, work).split() == ["EPERM"] * 4


@behind(HELD)
def test_no_program_and_no_process_is_started(layers: frozenset[Layer], work: Path) -> None:
    code = "print(refused(os.fork), refused(os.execv, '/bin/sh', ['sh']), refused(os.kill, os.getppid() or 2, 9))"
    assert said(code, layers, work).split() == ["EPERM"] * 3


@behind(HELD)
def test_another_calling_convention_ends_the_process(layers: frozenset[Layer], work: Path) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("only x86_64 has x32")
    ran = walled("ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39))", sorted(layers), work)
    assert ran.returncode in (-31, 128 + 31)


def test_other_processes_are_not_there(work: Path) -> None:
    if Layer.NAMESPACES not in offered().layers:
        pytest.skip("this machine gives no user namespaces")
    code = "print([one for one in os.listdir('/proc') if one.isdigit()], os.getpid(), refused(os.stat, '/etc'))"
    assert said(code, ALL, work) == "['1'] 1 ENOENT"


@behind([*HELD, pytest.param(ALL & offered().layers, id="all")])
def test_threads_and_files_work_behind_all_of_it(layers: frozenset[Layer], work: Path) -> None:
    code = """
def work(): open("t.txt", "w").write("thread")
one = threading.Thread(target=work); one.start(); one.join()
import decimal, json, tempfile
os.makedirs("a/b", exist_ok=True); os.rename("t.txt", "u.txt")
maps = open("/proc/self/maps").read(1)
print(open("u.txt").read(), len(os.urandom(4)), os.getcwd() == os.path.realpath("."), len(maps))
"""
    assert said(code, layers, work) == "thread 4 True 1"


def test_it_works_for_an_unprivileged_user(shared_work: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("it runs as one")
    ran = walled(
        "print(refused(open, '/etc/passwd'), refused(os.fork), refused(open, 'a.txt', 'w'))",
        sorted(ALL & offered().layers),
        shared_work,
        interpreter="/usr/bin/python3",
        before=AS_NOBODY,
    )
    assert (ran.stdout.split()[1:], ran.returncode) == (["EPERM", "done"], 0), ran.stderr


@behind([*HELD, pytest.param(ALL & offered().layers, id="all")])
def test_a_supervisor_of_the_same_user_counts_what_it_holds(layers: frozenset[Layer], shared_work: Path) -> None:
    """It needs no privilege for that."""
    layers |= {Layer.PRIVILEGES}
    before = AS_NOBODY if os.getuid() == 0 else ()
    given = [str(SHARED), ",".join(sorted(layers)), str(shared_work)]
    command = [*before, "/usr/bin/python3", "-I", "-c", COUNTED, *given]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"HOME": "/"}, check=False)
    assert ran.stdout == f"{3 << 20}\n", ran.stderr


def test_newer_calls_have_one_number_on_every_machine() -> None:
    tables = json.loads(kernel.TABLE.read_text("ascii"))
    newer = [{name: number for name, number in one.items() if number >= 424} for one in tables.values()]
    assert len(newer) == 2
    assert newer[0] == newer[1]


def test_a_machine_without_files_kept_away_is_unsafe() -> None:
    poor = Offered("Linux 5.10", ((Layer.NAMESPACES, "EPERM"), (Layer.LANDLOCK, "ENOSYS")))
    found = strongest(poor)
    assert isinstance(found, Unsafe)
    assert "landlock: ENOSYS" in found.missing
    assert "5.13" in found.advice


def test_the_strongest_set_is_all_that_is_offered() -> None:
    assert strongest(Offered("Linux", ())) == ALL
    assert strongest(Offered("Linux", ((Layer.NAMESPACES, "EPERM"),))) == UNPRIVILEGED


def test_without_a_filter_of_system_calls_nothing_is_strong() -> None:
    assert not is_strong(ALL - {Layer.SECCOMP})
    assert not is_strong(BASE | {Layer.SECCOMP})
    assert is_strong(UNPRIVILEGED)
