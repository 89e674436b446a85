"""Work that no call waits for."""

import threading
import weakref

import pytest

from loci.core.errors import Refused
from loci.sandbox.supervisor.daemon_threads import DaemonThreads
from loci.tools.later import Later
from tests.support.polling import until


def refuse() -> None:
    raise Refused("no", "Do nothing")


def no_such_key() -> None:
    raise KeyError


def test_what_fails_does_not_hold_up_what_comes_next() -> None:
    later, done = Later(), threading.Event()
    later.do(refuse)
    later.do(done.set)
    assert done.wait(60)


def test_a_bug_is_reported_and_does_not_hold_up_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    later, done, reported = Later(), threading.Event(), threading.Event()

    def report(_: object) -> None:
        reported.set()

    monkeypatch.setattr(threading, "excepthook", report)
    later.do(no_such_key)
    assert reported.wait(60)
    later.do(done.set)
    assert done.wait(60)


def test_the_same_work_is_done_once_for_all_who_ask_within_a_moment() -> None:
    later, done = Later(), list[str]()
    for _ in range(50):
        later.do_once("a", lambda: done.append("a"))
        later.do_once("b", lambda: done.append("b"))
    later.finish()
    assert done == ["a", "b"]
    later.do_once("a", lambda: done.append("later"))
    later.finish()
    assert done == ["a", "b", "later"]


def test_work_that_nobody_waits_for_is_done_soon() -> None:
    later, done = Later(), threading.Event()
    later.do_once("a", done.set)
    assert not done.is_set()
    assert done.wait(60)


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
