"""Work that no call waits for."""

import threading

import pytest

from loci.core.errors import Refused
from loci.tools.later import Later


def refuse() -> None:
    raise Refused("no", "Do nothing")


def no_such_key() -> None:
    raise KeyError


def test_what_fails_does_not_hold_up_what_comes_next() -> None:
    later, done = Later(), threading.Event()
    later.do(refuse)
    later.do(done.set)
    assert done.wait(10)


def test_a_bug_is_reported_and_does_not_hold_up_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    later, done, reported = Later(), threading.Event(), threading.Event()

    def report(_: object) -> None:
        reported.set()

    monkeypatch.setattr(threading, "excepthook", report)
    later.do(no_such_key)
    assert reported.wait(10)
    later.do(done.set)
    assert done.wait(10)
