"""Variables that leave one executor as bytes and come back in another."""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorProcess
from loci.sandbox.supervisor.limits import Bounds
from tests.support.each import each
from tests.support.executors import PATIENT, ExecutorFactory, no_files, printed

BEFORE = """
import numpy as np, pandas as pd, math, dataclasses, enum, threading, sqlite3, ctypes, re, json, functools, collections
x = 41
def f(a): return a + x + g(1)
def g(b): return b * math.pi
lam = lambda y: y + x
class P:
    def __init__(s, v): s.v = v
    def dbl(s): return s.v * 2 + x
@dataclasses.dataclass
class D: a: int; b: list
class Color(enum.Enum): R = 1
p = P(5); d = D(1, [1, 2]); col = Color.R; Point = collections.namedtuple("Point", "a b"); pt = Point(1, 2)
shared = [1, 2]; alias = shared; nest = {"s": shared}
def counter():
    c = 0
    def inc():
        nonlocal c; c += 1; return c
    return inc
inc = counter(); inc(); inc()
mod = json; rx = re.compile("a+"); arr = np.arange(5); df = pd.DataFrame({"a": [1, 2]}); s = df["a"]; _hidden = 3
def rec(n): return 1 if n < 2 else n * rec(n - 1)
part = functools.partial(f, 1); it = iter([1, 2, 3]); next(it)
gen = (i for i in range(3)); fh = open("kept.txt", "w"); lock = threading.Lock(); conn = sqlite3.connect(":memory:")
libc = ctypes.CDLL(None)
class Bad:
    def __reduce__(self): raise RuntimeError("nope")
class BadLoad:
    def __setstate__(self, s): raise ValueError("cannot come back")
bad = Bad(); worse = BadLoad(); worse.q = 1
"""
ROUND_TRIPS = {
    "functions see what is set later": ("x = 100\nprint(f(1) == 101 + math.pi, lam(1), p.dbl())", "True 101 110"),
    "a closure": ("print(inc())", "3"),
    "recursion": ("print(rec(5))", "120"),
    "a partial": ("x = 41\nprint(round(part(), 2))", "45.14"),
    "two names of one object": ("print(alias is shared, nest['s'] == shared)", "True True"),
    "identity of classes": (
        "print(isinstance(p, P), col is Color.R, type(pt) is Point, d)",
        "True True True D(a=1, b=[1, 2])",
    ),
    "tables": ("print(df.a.sum(), s.max(), arr.tolist())", "3 2 [0, 1, 2, 3, 4]"),
    "modules": ("print(mod.dumps(1), np.pi == math.pi, rx.pattern)", "1 True a+"),
    "an iterator's place": ("print(next(it))", "2"),
    "names with an underscore": ("print(_hidden)", "3"),
}
LOST = {
    "gen": "generator",
    "fh": "open file",
    "lock": "threads and locks",
    "conn": "database connection",
    "libc": "native libraries",
    "bad": "nope",
}

SWALLOWS = """
import time
class Slow:
    def __reduce__(self):
        while True:
            try:
                while True: time.sleep(0.001)
            except BaseException: pass
"""


@dataclass(frozen=True)
class Moved:
    there: ExecutorProcess
    saved: dict[str, Any]
    restored: dict[str, Any]


@pytest.fixture(scope="module")
def moved(python: ExecutorFactory) -> Generator[Moved]:
    with python.executor(Bounds(seconds=50)) as here, python.executor(Bounds(seconds=50)) as there:
        printed(here, BEFORE)
        pieces: list[bytes] = []
        saved = here.save(pieces.append, 1 << 30, 50).said
        here.end()
        yield Moved(there, saved, there.restore(pieces, 50).said)


@each("what", ROUND_TRIPS)
def test_it_comes_back(moved: Moved, what: str) -> None:
    code, expected = ROUND_TRIPS[what]
    assert printed(moved.there, code).strip() == expected


def test_what_cannot_be_saved_is_told_by_name_and_reason(moved: Moved) -> None:
    lost = {one["name"]: one["reason"] for one in moved.saved["lost"]}
    assert lost.keys() == LOST.keys()
    for name, reason in LOST.items():
        assert reason in lost[name]
    assert not lost.keys() & set(moved.saved["kept"])
    assert moved.saved["too_large"] is False


def test_what_cannot_be_read_again_takes_nothing_along(moved: Moved) -> None:
    assert moved.restored["lost"] == [{"name": "worse", "reason": "ValueError: cannot come back"}]
    assert set(moved.restored["kept"]) == set(moved.saved["kept"]) - {"worse"}


def test_a_large_table_comes_back(python: ExecutorFactory) -> None:
    pieces: list[bytes] = []
    with python.executor(Bounds(seconds=50)) as here, python.executor(Bounds(seconds=50)) as there:
        printed(here, "import numpy as np\nbig = np.arange(3_000_000)\nsmall = 1")
        here.save(pieces.append, 1 << 30, 50)
        there.restore(pieces, 50)
        assert printed(there, "print(big.sum(), small)") == "4499998500000 1\n"
    assert max(map(len, pieces)) <= 1 << 20


def test_what_is_too_large_is_left_out_by_name(python: ExecutorFactory) -> None:
    pieces: list[bytes] = []
    with python.executor(Bounds(seconds=50)) as one:
        printed(one, "big = b'x' * (3 << 20)\nsmall = 1")
        said = one.save(pieces.append, 1 << 20, 50).said
    assert (said["kept"], said["lost"][0]["name"], said["too_large"]) == (["small"], "big", True)


def test_saving_that_takes_too_long_is_interrupted_and_variables_stay(python: ExecutorFactory) -> None:
    with python.executor(PATIENT) as one:
        printed(one, "class Slow:\n    def __reduce__(self):\n        while True: pass\nx = 7\ns = Slow()")
        reply = one.save(lambda _: None, 1 << 20, 0.5)
        assert (reply.interrupted, reply.said["ok"]) == (True, False)
        assert printed(one, "print(x)") == "7\n"


def test_saving_that_never_ends_ends_the_executor(python: ExecutorFactory) -> None:
    with python.executor(PATIENT) as one:
        printed(one, SWALLOWS + "s = Slow()")
        with pytest.raises(ExecutorEnded) as stopped:
            one.save(lambda _: None, 1 << 20, 0.5)
    assert stopped.value.why == "time"


def test_damaged_bytes_end_nothing_but_the_executor(python: ExecutorFactory) -> None:
    with python.executor(PATIENT) as one, python.executor(PATIENT) as other:
        with suppress(ExecutorEnded):
            assert one.restore([b"P\xff\xff\xff\xff" + b"\x00" * 100], 5).said["kept"] == []
        assert printed(other, "print(1)") == "1\n"


def test_an_executor_that_saved_goes_on(executor: ExecutorProcess) -> None:
    printed(executor, "x = 1")
    executor.save(lambda _: None, 1 << 20, 50)
    assert executor.run("x + 1", no_files).said["value"]["text"] == "2"


def test_an_executor_whose_bytes_were_not_taken_is_ended(python: ExecutorFactory) -> None:
    """Those that are still on their way would become part of the next answer."""

    def full(_: bytes) -> None:
        raise OSError("No space left on device")

    with python.executor(Bounds(seconds=50)) as one:
        printed(one, "import os\nlarge = os.urandom(4 << 20)")
        with pytest.raises(OSError, match="No space left"):
            one.save(full, 1 << 30, 50)
        with pytest.raises(ExecutorEnded):
            one.save(lambda _: None, 1 << 30, 50)


@each("value", ["np.arange(12 << 20)", "bytes(range(256)) * (96 << 12)"])
def test_a_value_that_takes_most_of_the_memory_comes_back(python: ExecutorFactory, value: str) -> None:
    """It is there once: a copy of it on the way would be too much."""
    pieces: list[bytes] = []
    with python.executor(Bounds(seconds=30)) as here:
        printed(here, f"import numpy as np\nx = {value}\nn = len(x)")
        assert "x" in here.save(pieces.append, 1 << 30, 20).said["kept"]
    with python.executor(Bounds(seconds=30, memory_bytes=150 << 20, base_bytes=250 << 20)) as there:
        assert there.restore(pieces, 50).said["lost"] == []
        assert printed(there, "print(len(x) == n)") == "True\n"


@each("name", ["half a head", "a length without end", "a name without end", "no text of a name"])
def test_a_state_that_is_cut_off_or_lies_brings_back_what_it_can(python: ExecutorFactory, name: str) -> None:
    pieces: list[bytes] = []
    with python.executor(PATIENT) as here:
        printed(here, "first = 1\nsecond = list(range(1000))")
        here.save(pieces.append, 1 << 20, 5)
    whole = b"".join(pieces)
    at = whole.index(b"second") - 13
    false = {
        "half a head": whole[: at + 7],
        "a length without end": whole[: at + 5] + b"\xff" * 8 + whole[at + 13 :],
        "a name without end": whole[: at + 1] + b"\xff" * 4 + whole[at + 5 :],
        "no text of a name": whole.replace(b"second", b"\xff" * 6),
    }[name]
    with python.executor(PATIENT) as there:
        said = there.restore([false], 5).said
        assert "first" in said["kept"]
        assert printed(there, "print(first)") == "1\n"
