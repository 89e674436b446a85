"""Large messages are read one at a time, and no owner who has many of them keeps the messages of others waiting."""

import gc
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from loci.code.typescript_run import Completed, RunLimits, TypeScriptJob
from loci.core.identity import Owner
from loci.sandbox.supervisor import exchange, executor_process, reading_turns
from loci.sandbox.supervisor.deno_process import DenoProcess
from loci.sandbox.supervisor.exchange import Exchange
from loci.sandbox.supervisor.reading_turns import LARGE, ReadingTime
from tests.attack.sandbox.python.test_saved_state import Here
from tests.support.deno import STRONGEST, needs_deno, no_tool, sandbox
from tests.support.executors import PATIENT, executor_factory, printed, walls
from tests.support.polling import until

ANN, BOB, CARL = Owner("acme", "reads much"), Owner("acme", "reads little"), Owner("acme", "reads now")
FRAME = f"""
import os, struct
frame = b"J" + struct.pack(">I", {LARGE} + 2) + b"{{" + b" " * {LARGE} + b"}}"
while frame: frame = frame[os.write(11, frame):]
"""
WALL = "strongest"


@contextmanager
def reading(owner: Owner) -> Generator[None]:
    """The owner has the turn in this block."""
    with ReadingTime(owner.key).reading(LARGE + 1):
        yield


def after(first: list[Owner]) -> list[Owner]:
    """The order in which these owners get a turn who ask for it in this order, while another has it."""
    order = list[Owner]()

    def read(owner: Owner) -> None:
        with reading(owner):
            order.append(owner)

    with reading(CARL):
        threads = [threading.Thread(target=read, args=(one,)) for one in first]
        for one in threads:
            one.start()
        until(lambda: len(reading_turns._turns._waiting) == len(first))  # pyright: ignore[reportPrivateUsage]
    for one in threads:
        one.join(60)
    return order


def test_owners_take_turns_however_many_messages_one_has() -> None:
    with reading(ANN):
        pass
    assert after([ANN, ANN, ANN, BOB]) == [BOB, ANN, ANN, ANN]


@needs_deno
def test_a_result_of_typescript_takes_a_turn_of_its_owner() -> None:
    with reading(BOB):
        pass
    with sandbox(STRONGEST, 0) as made:
        job = TypeScriptJob(f"'x'.repeat({LARGE})", {}, RunLimits())
        assert isinstance(made.run(ANN, job, no_tool), Completed)
    assert after([ANN, BOB]) == [BOB, ANN]


def test_a_message_of_python_takes_a_turn_of_its_owner(tmp_path: Path) -> None:
    here = Here(tmp_path, WALL)
    try:
        for _ in range(2):
            with reading(BOB):
                pass
            here.ran(ANN, here.executors.open(ANN), FRAME)
            assert after([ANN, BOB]) == [BOB, ANN]
            until(lambda: here.executors._starter._spare)  # pyright: ignore[reportPrivateUsage]
    finally:
        here.executors.close()


class Leaping:
    """A clock that is far ahead after each sleep."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
        self.ahead += 1000

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)


def test_a_wait_for_a_turn_is_not_held_against_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds, clock = replace(PATIENT, seconds=60), Leaping()
    monkeypatch.setattr(reading_turns, "MOST_WAITED", float("inf"))
    monkeypatch.setattr(reading_turns, "_turns", type(reading_turns._turns)())  # pyright: ignore[reportPrivateUsage]
    for module in (reading_turns, exchange, executor_process):
        monkeypatch.setattr(module, "time", clock)
    with (
        executor_factory(tmp_path, walls()[WALL], ()) as python,
        python.executor(bounds) as one,
        ThreadPoolExecutor(1) as threads,
    ):
        with reading(CARL):
            told = threads.submit(printed, one, f"{FRAME}\nprint('done')")
            until(lambda: clock.ahead > bounds.seconds + bounds.grace_seconds)
        assert told.result() == "done\n"


@contextmanager
def uncollected() -> Generator[None]:
    """What goes in this block goes with its last reference: the collector of cycles may take minutes to come."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def held(kind: type) -> int:
    return sum(isinstance(one, kind) for one in gc.get_objects())


@needs_deno
def test_what_a_run_of_typescript_gave_out_is_not_kept() -> None:
    with sandbox(STRONGEST, 0) as made, uncollected():
        before = held(DenoProcess)
        made.run(ANN, TypeScriptJob(f"'x'.repeat({LARGE})", {}, RunLimits()), no_tool)
        assert held(DenoProcess) == before


def test_what_a_run_of_python_gave_out_is_not_kept(tmp_path: Path) -> None:
    with executor_factory(tmp_path, walls()[WALL], ()) as python, python.executor(PATIENT) as one, uncollected():
        before = held(Exchange)
        printed(one, FRAME)
        assert held(Exchange) == before
