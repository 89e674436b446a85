"""What an executor may use, and what is left when it wants more."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorProcess
from loci.sandbox.supervisor.limits import Bounds, WhyEnded, bytes_written, is_on_disk
from tests.support.each import each
from tests.support.executors import PATIENT, ExecutorFactory, no_files, printed, tried
from tests.support.polling import until

ENDED: dict[str, tuple[WhyEnded, str]] = {
    "a loop that hears no signal": (
        "time",
        "import signal\nfor s in (2, 15, 14, 1): signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
    ),
    "a loop that swallows every error": (
        "time",
        "import time\nwhile True:\n    try:\n        while True: time.sleep(0.001)\n    except BaseException: x = 2",
    ),
    "a loop in C": ("time", "import itertools; 1 in itertools.repeat(2)"),
    "memory that is filled and then only read": (
        "memory",
        """
import ctypes, mmap, time
mprotect = ctypes.CDLL(None).mprotect
mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
a = []
for i in range(60):
    m = mmap.mmap(-1, 10 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.write(b'x' * (10 << 20)); a.append(m)
    mprotect(ctypes.addressof(ctypes.c_char.from_buffer(m)), 10 << 20, 1); time.sleep(0.01)
time.sleep(20)
""",
    ),
    "files": ("disk", "for i in range(100):\n    with open(f'f{i}', 'wb') as f: f.write(b'x' * (4 << 20))"),
    "many files": ("disk", "for i in range(100_000): open(f'i{i}', 'w').close()"),
    "deep folders": ("disk", "import os\nwhile True: os.mkdir('d'); os.chdir('d')"),
    "its own end": ("ended", "import os; os._exit(0)"),
    "a crash": ("ended", "import ctypes; ctypes.string_at(0)"),
    "closing everything": ("ended", "import os; os.closerange(0, 256)"),
}

WRITES_MEANWHILE = """
import threading
threading.Thread(target=get_memory_path, args=("x",)).start()
for i in range(100): open(f"f{i}", "wb").write(bytes(1 << 19))
threading.Event().wait()
"""


@each("what", ENDED)
def test_it_ends_the_executor_and_no_other(python: ExecutorFactory, what: str) -> None:
    why, code = ENDED[what]
    bounds = replace(PATIENT, seconds=0.5) if why == "time" else PATIENT  # on a busy machine it takes long to take much
    with python.executor(PATIENT) as other, python.executor(bounds) as one:
        ended, _ = tried(one, code)
        assert isinstance(ended, ExecutorEnded)
        assert ended.why == why
        assert printed(other, "print(1)") == "1\n"


def test_limits_hold_while_a_stored_file_is_found(python: ExecutorFactory) -> None:
    """The code goes on in its other threads, and may end meanwhile."""

    def find(id: str, _: str) -> dict[str, str]:
        found.append(until(lambda: one.ended))
        return {"missing": id}

    found = list[WhyEnded]()
    with python.executor(replace(PATIENT, disk_bytes=1 << 20)) as one, pytest.raises(ExecutorEnded):
        one.run(WRITES_MEANWHILE, find)
    assert found == ["disk"]


def test_a_file_may_be_written_over_and_over(python: ExecutorFactory) -> None:
    """It is stopped to be looked at whenever it may have filled its folders, and goes on."""
    code = "for i in range(40): open('one', 'wb').write(bytes(8 << 20))\nprint(i)"
    with python.executor(replace(PATIENT, seconds=30, disk_bytes=12 << 20)) as one:
        assert printed(one, code) == "39\n"


def test_what_is_written_counts_also_in_a_folder_that_is_on_no_disk() -> None:
    shared = Path("/dev/shm")  # noqa: S108 (it is on no disk)
    on_disk = is_on_disk(str(shared))
    with tempfile.TemporaryFile(dir=shared) as in_memory:
        before = bytes_written(os.getpid(), on_disk=on_disk)
        in_memory.write(bytes(1 << 20))
        in_memory.flush()
        after = bytes_written(os.getpid(), on_disk=on_disk)
        assert before is not None
        assert after is not None
        assert after - before >= 1 << 20
        assert bytes_written(1 << 22, on_disk=True) is None  # the system does not say


def test_code_that_was_given_up_is_interrupted_and_variables_stay(python: ExecutorFactory) -> None:
    with python.executor(replace(PATIENT, seconds=60)) as one:
        reply = one.run("x = 1\nwhile True: pass", no_files, cancelled=lambda: True)
        assert (reply.interrupted, reply.said["failure"]["type"]) == (True, "KeyboardInterrupt")
        assert printed(one, "print(x)") == "1\n"


def test_code_that_was_given_up_and_does_not_stop_is_ended(python: ExecutorFactory) -> None:
    with python.executor(replace(PATIENT, seconds=60)) as one:
        with pytest.raises(ExecutorEnded) as ended:
            one.run(ENDED["a loop that swallows every error"][1], no_files, cancelled=lambda: True)
        assert ended.value.why == "given up"


def test_code_that_takes_too_long_is_interrupted_and_variables_stay(python: ExecutorFactory) -> None:
    with python.executor(replace(PATIENT, seconds=5)) as one:
        reply = one.run("import time\nx = 1\nwhile True: time.sleep(0.01)", no_files)
        assert (reply.interrupted, reply.said["failure"]["type"]) == (True, "KeyboardInterrupt")
        assert printed(one, "print(x)") == "1\n"


def test_more_memory_than_there_is_fails_and_variables_stay(python: ExecutorFactory) -> None:
    with python.executor(PATIENT) as one:
        code = "x = 1\na = []\nwhile True: a.append(b'x' * (50 << 20))"
        reply = one.run(code, no_files)
        assert reply.said["failure"]["memory"]
        assert printed(one, "del a\nprint(x)") == "1\n"


def test_threads_are_bounded(python: ExecutorFactory) -> None:
    code = """
import threading, time
ended, n = threading.Event(), 0
threading.stack_size(65536)
try:
    for i in range(4000): threading.Thread(target=ended.wait, daemon=True).start(); n += 1
    time.sleep(1)
except RuntimeError: pass
print(n)
"""
    with python.executor(PATIENT) as one:
        ended, output = tried(one, code)
        assert (isinstance(ended, ExecutorEnded) and ended.why == "threads") or int(output.stdout) <= PATIENT.threads


def test_a_thread_does_not_run_between_runs(executor: ExecutorProcess) -> None:
    count = """
import threading, time
n = 0
def spin():
    global n
    while True: n += 1; time.sleep(0.001)
threading.Thread(target=spin, daemon=True).start()
"""
    printed(executor, count)
    status = Path(f"/proc/{executor.id}/stat")
    assert until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")


def test_a_bound_of_its_own_holds_for_each_executor(python: ExecutorFactory) -> None:
    small = Bounds(seconds=50, output_bytes=10)
    with python.executor(small) as one:
        assert len(one.run("print('x' * 100)", no_files).output.stdout) == 10


def test_whoever_has_ended_answers_nothing(python: ExecutorFactory) -> None:
    with python.executor(PATIENT) as one:
        one.end()
        with pytest.raises(ExecutorEnded):
            one.run("1", no_files)
