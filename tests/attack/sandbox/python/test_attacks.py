"""Each attack is blocked, whoever else runs code is not disturbed, and the supervisor is alive."""

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from loci.adapters.run_results import FIGURES_BYTES, python_result
from loci.code.ports import ExecutorCondition
from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorProcess, ExecutorReply
from loci.sandbox.wall import kernel, restrictions
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.escaped import Escaped
from tests.attack.sandbox.python.on_the_kernel import EXHAUSTION, PRIVILEGES
from tests.attack.sandbox.python.on_the_machine import FILES, NETWORK, SECRETS
from tests.attack.sandbox.python.on_the_supervisor import FIGURES, FRAMES, LEFT_BEHIND, PROTOCOL
from tests.attack.sandbox.python.world import CANARY, World, world
from tests.support.each import each
from tests.support.executors import FUNCTION, PATIENT, ExecutorFactory, executor_factory, no_files, printed, walls

PRELUDE = Path(__file__).with_name("prelude.txt").read_text("utf-8")
BOUNDS = replace(PATIENT, seconds=10, disk_bytes=200 << 20)
BLOCKED = {
    f"{kind}: {name}": code
    for kind, attacks in {
        "network": NETWORK,
        "secrets": SECRETS,
        "files": FILES,
        "privileges": PRIVILEGES,
        "exhaustion": EXHAUSTION,
    }.items()
    for name, code in attacks.items()
}
ENDLESS = replace(BOUNDS, seconds=0.5)
"""For what ends at its time only."""
MOST_READING = 25
"""What one run's messages may cost us, in times of what all of them would if they were honest."""
LIMITS = {"seconds": 1, "memory": 1, "disk": 1, "files": 1, "threads": 1}


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
        with world(tmp_path_factory.mktemp("w")) as one:
            yield one


@pytest.fixture(scope="module", params=walls())
def python(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, around: World
) -> Generator[ExecutorFactory]:
    if request.param == FUNCTION:
        restrictions.hide()  # as the functions' handlers do, which are the supervisors there
    with executor_factory(tmp_path_factory.mktemp("attacked"), walls()[request.param], ()) as one:
        yield one


def armed(around: World, code: str) -> str:
    processes = (around.victim_id, os.getpid())
    known = (str(around.folder), *processes, around.runtime, around.names, around.abstract, CANARY, kernel.numbers())
    return PRELUDE.replace("@@WORLD@@", repr(known)) + code


def attacked(one: ExecutorProcess, around: World, code: str, folder: Path) -> ExecutorReply | ExecutorEnded:
    """How the attack ended; `Escaped` where what it printed says that it worked."""
    (folder / "1").mkdir(exist_ok=True)
    stored = folder / "1" / "a.txt"
    if not stored.exists():
        stored.write_text("data")
        (folder / "1" / "evil_link").symlink_to(around.folder / "host_secret.txt")

    def memory(id: str, _: str) -> dict[str, str]:
        return {"path": str(stored)} if id == "m1" else {"missing": "none"}

    try:
        ended: ExecutorReply | ExecutorEnded = one.run(armed(around, code), memory)
        output = ended.output
    except ExecutorEnded as why:
        ended, output = why, why.output
    if b"ESCAPE" in output.stdout:
        raise Escaped(output.stdout.decode("utf-8", "replace"))
    return ended


@cache
def reading_seconds() -> float:
    """The time of a processor that reading as much as may come takes here: the least of some tries."""
    honest = b"[" + b'{"text": "as honest as can be", "number": 1.5}, ' * (BOUNDS.all_message_bytes // 48) + b"0]"
    took: list[float] = []
    for _ in range(3):
        before = time.thread_time()
        json.loads(honest)
        took.append(time.thread_time() - before)
    return min(took)


@contextmanager
def withstood(python: ExecutorFactory, around: World) -> Generator[None]:
    """After the block the world is as it was, and the next executor is served: whether the attack worked or not."""
    try:
        yield
    finally:
        changed = around.mend()
        with python.executor(BOUNDS) as other:
            assert printed(other, "print(1)") == "1\n"
    if changed:
        raise Escaped(changed)


@each("name", BLOCKED)
def test_it_is_blocked_and_the_supervisor_is_alive(
    python: ExecutorFactory, around: World, tried: Tried, name: str
) -> None:
    folders = python.folders()
    bounds = ENDLESS if "for ever" in name or " loop " in name or "stops itself" in name else BOUNDS
    with tried(name), withstood(python, around), python.executor(bounds, folders) as one:
        ended = attacked(one, around, BLOCKED[name], folders.memory)
        if isinstance(ended, ExecutorReply) and not name.startswith("exhaustion"):
            assert ended.said["ok"] or "SystemExit" in str(ended.said), ended.said


@each("name", PROTOCOL)
def test_no_frame_does_anything_to_the_supervisor(
    python: ExecutorFactory, around: World, tried: Tried, name: str
) -> None:
    folders = python.folders()
    bounds = ENDLESS if "sleep(60)" in PROTOCOL[name] else BOUNDS
    with (
        tried(name),
        withstood(python, around),
        python.executor(BOUNDS) as other,
        python.executor(bounds, folders) as one,
    ):
        before = time.thread_time()
        ended = attacked(one, around, FRAMES + PROTOCOL[name], folders.memory)
        assert time.thread_time() - before <= MOST_READING * reading_seconds()
        if isinstance(ended, ExecutorReply):
            json.dumps(str(python_result(ended, ExecutorCondition("kept"), LIMITS, ())))
            with suppress(ExecutorEnded):
                assert one.run("1", no_files).said.get("forged") is None
        assert printed(other, "print(1)") == "1\n"


@each("name", LEFT_BEHIND)
def test_what_is_saved_harms_nobody_who_reads_it(
    python: ExecutorFactory, around: World, tried: Tried, name: str
) -> None:
    folders = python.folders()
    pieces: list[bytes] = []
    with (
        tried(name),
        withstood(python, around),
        python.executor(BOUNDS, folders) as one,
        python.executor(BOUNDS) as next_one,
    ):
        attacked(one, around, LEFT_BEHIND[name], folders.memory)
        one.save(pieces.append, 1 << 20, 5)
        try:
            next_one.restore(pieces, 1)
        except ExecutorEnded:
            assert next_one.ended


@each("name", FIGURES)
def test_what_is_no_figure_or_too_much_of_it_is_not_shown(
    python: ExecutorFactory, around: World, tried: Tried, name: str
) -> None:
    folders = python.folders()
    with tried(name), python.executor(BOUNDS, folders) as one:
        ended = attacked(one, around, FRAMES + FIGURES[name], folders.memory)
        assert isinstance(ended, ExecutorReply)
        shown = python_result(ended, ExecutorCondition("kept"), LIMITS, ()).figures
        assert all(one.startswith(b"\x89PNG") for one in shown)
        assert sum(map(len, shown)) <= FIGURES_BYTES


def test_a_reply_that_was_prepared_for_a_later_run_is_not_taken(python: ExecutorFactory, around: World) -> None:
    folders = python.folders()
    with python.executor(BOUNDS, folders) as one:
        code = FRAMES + "\nfor i in range(100): say(t='done', id=f'{i:016x}', ok=True, forged=True)"
        attacked(one, around, code, folders.memory)
        assert "forged" not in one.run("1", no_files).said
