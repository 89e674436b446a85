"""Work that no call waits for."""

import threading
import weakref
from functools import partial

import pytest

from loci.core import background
from loci.core.background import BackgroundQueue
from loci.core.errors import Refused
from loci.sandbox.supervisor.daemon_threads import DaemonThreads
from tests.support.polling import until


def refuse() -> None:
    raise Refused("no", "Do nothing")


def nothing() -> None:
    pass


def no_such_key() -> None:
    raise KeyError


def test_what_fails_does_not_hold_up_what_comes_next() -> None:
    later, done = BackgroundQueue(0.1), threading.Event()
    later.do(refuse)
    later.do(done.set)
    assert done.wait(60)


def test_a_bug_is_reported_and_does_not_hold_up_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    later, done, reported = BackgroundQueue(0.1), threading.Event(), threading.Event()

    def report(_: object) -> None:
        reported.set()

    monkeypatch.setattr(threading, "excepthook", report)
    later.do(no_such_key)
    assert reported.wait(60)
    later.do(done.set)
    assert done.wait(60)


def test_the_same_work_is_done_once_for_all_who_ask_while_it_waits() -> None:
    later, done = BackgroundQueue(0.1), list[str]()
    for _ in range(50):
        later.do(lambda: done.append("a"), "a")
        later.do(lambda: done.append("b"), "b")
    assert later.finish()
    assert done == ["a", "b"]
    later.do(lambda: done.append("later"), "a")
    assert later.finish()
    assert done == ["a", "b", "later"]


def test_work_that_nobody_waits_for_is_done_soon() -> None:
    later, done = BackgroundQueue(0.1), threading.Event()
    later.do(done.set)
    assert not done.is_set()
    assert done.wait(60)


def test_a_new_thread_does_what_comes_after_a_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "IDLE_SECONDS", 0.0)
    later, done = BackgroundQueue(), list[int]()
    for number in range(20):
        later.do(partial(done.append, number))
        assert later.finish(60)
        until(lambda: "background" not in {one.name for one in threading.enumerate()})
    assert done == [*range(20)]


def test_too_much_is_refused_and_who_waits_for_what_hangs_is_told() -> None:
    later, free = BackgroundQueue(most=2), threading.Event()
    later.do(partial(free.wait, 60))
    assert not later.finish(0.2)  # meanwhile its thread has taken it
    assert later.do(nothing, "a")
    assert later.do(nothing, "b")
    assert not later.do(nothing, "c")
    assert later.do(nothing, "b")
    free.set()
    assert later.finish(60)


def test_a_thread_keeps_nothing_of_the_work_that_it_has_done() -> None:
    class Held:
        """Something large."""

        def work(self) -> None:
            """Nothing."""

    held = Held()
    gone = weakref.ref(held)
    DaemonThreads().start(held.work)
    del held
    until(lambda: gone() is None)
