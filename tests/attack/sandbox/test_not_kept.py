"""What a run gave out goes with the run: a server that lives for months holds none of it."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from loci.core.identity import Owner
from loci.sandbox.supervisor.bounded_json import LARGE
from loci.sandbox.supervisor.deno_messages import RunLimits, TypeScriptJob
from loci.sandbox.supervisor.deno_process import DenoProcess
from loci.sandbox.supervisor.executor_process import Exchange
from tests.support.deno import STRONGEST, needs_deno, no_tool, sandbox
from tests.support.executors import PATIENT, executor_factory, printed, walls

ANN = Owner("acme", "ann")
FRAME = f"""
import os, struct
frame = b"J" + struct.pack(">I", {LARGE} + 2) + b"{{" + b" " * {LARGE} + b"}}"
while frame: frame = frame[os.write(11, frame):]
"""
WALL = "strongest"


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
