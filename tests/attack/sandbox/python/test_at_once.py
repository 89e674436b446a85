"""What one caller does to the machine is not felt by the others."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from loci.sandbox.supervisor.executor_process import ExecutorEnded
from tests.attack.sandbox.escaped import Escaped
from tests.attack.sandbox.python.on_the_kernel import EXHAUSTION
from tests.support.executors import PATIENT, ExecutorFactory, executor_factory, no_files, walls

PRELUDE = "import os, sys, time, threading, mmap, signal\ndef esc(what=''): print('ESCAPE', what)\n"
BOMBS = ("a fork bomb", "more memory than there is", "a loop that hears no signal", "much output", "no more inodes")


@pytest.mark.parametrize("wall", walls())
def test_bombs_and_other_calls_at_once(tmp_path: Path, wall: str) -> None:
    with executor_factory(tmp_path, walls()[wall], ()) as python, ThreadPoolExecutor(32) as threads:
        bombs = [threads.submit(_thrown, python, EXHAUSTION[name]) for name in BOMBS]
        calls = [threads.submit(_called, python, number) for number in range(20)]
        assert [one.result() for one in calls] == [f"{number}\n" for number in range(20)]
        if grown := [name for name, one in zip(BOMBS, bombs, strict=True) if b"ESCAPE" in one.result()]:
            raise Escaped(", ".join(grown))


def _thrown(python: ExecutorFactory, code: str) -> bytes:
    with python.executor(PATIENT) as one:
        try:
            return bytes(one.run(PRELUDE + code, no_files).output.stdout)
        except ExecutorEnded as why:
            return bytes(why.output.stdout)


def _called(python: ExecutorFactory, number: int) -> str:
    with python.executor(replace(PATIENT, seconds=30)) as one:
        return bytes(one.run(f"print({number})", no_files).output.stdout).decode()
