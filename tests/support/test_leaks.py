"""A test that leaves something behind fails, and is told what."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import atexit, os, socket, subprocess, threading, time
import pytest
from tests.support import leaks

leaks.PATIENCE = 0.1
kept = []

def test_thread():
    threading.Thread(target=threading.Event().wait, name="forgotten", daemon=True).start()

def test_process():
    kept.append(subprocess.Popen(["sleep", "300"]))
    atexit.register(kept[-1].kill)

def test_socket():
    kept.append(socket.create_server(("127.0.0.1", 0)))

def test_variable():
    os.environ["FORGOTTEN"] = "yes"

def test_clock():
    time.monotonic = time.perf_counter

def test_nothing():
    pass

@pytest.fixture(scope="module")
def lasting():
    kept.append(socket.create_server(("127.0.0.1", 0)))
    yield
    kept.pop().close()

def test_what_a_fixture_of_the_module_holds(lasting):
    pass

def test_what_it_leaves_is_told_at_the_end_of_the_module(lasting):
    os.environ["LATE"] = "yes"
"""
TOLD = {
    "thread": "left behind: the thread forgotten",
    "process": "(sleep 300)",
    "socket": "left behind: the socket ('127.0.0.1', ",
    "variable": "left behind: the variable FORGOTTEN",
    "clock": "left behind: another time.monotonic",
    "what_it_leaves_is_told_at_the_end_of_the_module": "left behind: the variable LATE",
}


@pytest.mark.smoke
def test_each_kind_is_told_of_the_test_that_leaves_it(tmp_path: Path) -> None:
    file = tmp_path / "test_leaving.py"
    file.write_text(TESTS)
    options = ["-q", "-p", "tests.support.leaks", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ran = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, env=own, capture_output=True, text=True)
    for test, told in TOLD.items():
        assert told in ran.stdout.partition(f"ERROR at teardown of test_{test} ")[2].partition("\n_")[0], ran.stdout
    assert f"8 passed, {len(TOLD)} errors" in ran.stdout
