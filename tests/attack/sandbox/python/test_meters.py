"""Whatever an executor holds is counted, and given back when it ends; and nothing tells it of other executors."""

import os
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorReply
from loci.sandbox.supervisor.limits import memory_use
from loci.sandbox.wall import kernel
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.python.on_the_meters import CHANNELS, MAPPING, UNMETERED
from tests.attack.sandbox.python.test_attacks import attacked, withstood
from tests.attack.sandbox.python.world import World, world
from tests.support.each import each
from tests.support.executors import FUNCTION, PATIENT, ExecutorFactory, executor_factory, printed, walls
from tests.support.polling import until

TAKEN = 400
"""Megabytes that each attack takes if nobody stops it: more than is allowed of memory and of the disk."""
KEPT = 16 << 20
BOUNDS = replace(PATIENT, seconds=60, disk_bytes=200 << 20)
# A function's machine runs one executor: what it holds is nobody else's, and goes with the machine.
WALLS = [name for name in walls() if name != FUNCTION]
LOCKS = """
import fcntl, resource
f = open("locked", "wb")
for at in range(0, 2000, 2): fcntl.lockf(f, fcntl.LOCK_EX, 1, at)
shared = open(os.__file__, "rb")
for command in (6, 7, 36, 37, 38):
    try: fcntl.fcntl(shared, command, struct.pack("hhqqi4x", 0, 0, 7, 1, 0))
    except OSError as e: print(e)
"""

LAST_WORDS = f"""
import ctypes, threading, time
threading.Thread(target=lambda: get_memory_path("asked for while it ends")).start(); time.sleep(0.1)
print("last words", flush=True); ctypes.CDLL(None).syscall({kernel.numbers()["exit"]}, 0)
"""


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with world(tmp_path_factory.mktemp("w")) as one:
        yield one


@pytest.fixture(scope="module", params=WALLS)
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[ExecutorFactory]:
    with executor_factory(tmp_path_factory.mktemp("metered"), walls()[request.param], ()) as one:
        yield one


@each("name", UNMETERED)
def test_what_is_taken_is_counted_and_given_back(
    python: ExecutorFactory, around: World, tried: Tried, name: str
) -> None:
    folders = python.folders()
    code = MAPPING.replace("@@MB@@", str(TAKEN)) + UNMETERED[name]
    with tried(name), withstood(python, around), python.executor(BOUNDS, folders) as one:
        before = memory_use(one.id).bytes
        ended = attacked(one, around, code, folders.memory)
        if isinstance(ended, ExecutorEnded):
            assert ended.why in ("memory", "disk"), ended.output
        else:
            with_files = sum(path.stat().st_blocks * 512 for path in folders.work.iterdir())
            assert memory_use(one.id).bytes - before + with_files <= (BOUNDS.disk_bytes if with_files else KEPT)


@each("name", CHANNELS)
def test_nothing_tells_it_of_others(python: ExecutorFactory, around: World, tried: Tried, name: str) -> None:
    folders = python.folders()
    with tried(name), withstood(python, around), python.executor(BOUNDS, folders) as one:
        ended = attacked(one, around, MAPPING.replace("@@MB@@", "1") + CHANNELS[name], folders.memory)
        assert isinstance(ended, ExecutorReply)
        assert ended.said["ok"], ended.said


def test_its_locks_exist_for_nobody(python: ExecutorFactory, around: World) -> None:
    folders = python.folders()
    with withstood(python, around), python.executor(BOUNDS, folders) as one:
        ended = attacked(one, around, LOCKS, folders.memory)
        assert isinstance(ended, ExecutorReply)
        assert ended.said["ok"], ended.said
        inodes = [f":{Path(path).stat().st_ino} " for path in (folders.work / "locked", os.__file__)]
        assert not [line for line in Path("/proc/locks").read_text().splitlines() if any(i in line for i in inodes)]


def test_what_a_mapping_holds_is_seen_between_runs(python: ExecutorFactory, around: World) -> None:
    """Each run is too short to be looked into."""
    folders = python.folders()
    code = MAPPING.replace("@@MB@@", "16") + UNMETERED["unlinked files that are mapped and closed"]
    with withstood(python, around), python.executor(replace(BOUNDS, disk_bytes=24 << 20), folders) as one:
        short = code.replace("time.sleep(0.7); esc(MB)", "").replace(
            "held = []", "held = globals().setdefault('h', [])"
        )
        for _ in range(3):
            attacked(one, around, short, folders.memory)
        with suppress(ExecutorEnded):  # or it has been seen already: on a busy machine a run takes longer
            one.check_between_runs()
        assert one.ended == "disk"


def gone(id: int) -> bool:
    return memory_use(id).has_no_main_thread


def test_it_ends_with_its_main_thread(python: ExecutorFactory, around: World) -> None:
    """The system tells nothing of a process whose main thread is gone: not its memory, and not its files."""
    folders = python.folders()
    with withstood(python, around), python.executor(BOUNDS, folders) as one:
        with pytest.raises(ExecutorEnded) as ended:
            one.run(LAST_WORDS, lambda name, _: until(lambda: {"missing": name} if one.ended or gone(one.id) else None))
        assert ended.value.why == "ended"
        assert bytes(ended.value.output.stdout) == b"last words\n"


def test_a_file_without_a_name_is_honest_if_it_is_small(python: ExecutorFactory, around: World) -> None:
    with withstood(python, around), python.executor(BOUNDS) as one:
        code = "import tempfile\nf = tempfile.TemporaryFile()\nf.write(bytes(1 << 20))\nf.flush()"
        printed(one, code)
        one.check_between_runs()
        assert printed(one, "print(f.tell())") == f"{1 << 20}\n"


def test_what_code_has_freed_is_given_back(python: ExecutorFactory, around: World) -> None:
    """The C library would keep it for what is allocated next, once it was asked for that much."""
    with withstood(python, around), python.executor(BOUNDS) as one:
        before = memory_use(one.id).bytes
        printed(one, "for _ in range(3):\n    held = b'x' * (16 << 20)\n    del held")
        assert memory_use(one.id).bytes - before <= KEPT / 4
