"""Owners' queues for runs."""

import threading
from functools import partial

import pytest

from loci.code.runs import RunQueue
from loci.core.errors import Unavailable
from tests.support.polling import until


class Work:
    """Runs that end when they may."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = threading.Event()

    def __call__(self, name: str) -> None:
        self.begun.append(name)
        assert self.go.wait(60)


def test_so_many_run_at_once_and_the_next_waits() -> None:
    queue, work = RunQueue(at_once=1), Work()
    for name in ("first", "second"):
        queue.enter("ann", partial(work, name))
    until(lambda: work.begun)
    assert work.begun == ["first"]
    work.go.set()
    assert until(lambda: work.begun == ["first", "second"])


def test_waiting_takes_no_thread() -> None:
    queue, work = RunQueue(at_once=2), Work()
    before = threading.active_count()
    for number in range(60):
        queue.enter("ann", partial(work, str(number)))
    assert until(lambda: len(work.begun) == 2)
    assert threading.active_count() <= before + 2
    work.go.set()
    assert until(lambda: sorted(map(int, work.begun)) == list(range(60)))


def test_a_line_has_a_length_and_each_owner_has_one() -> None:
    queue, work, other = RunQueue(most=2), Work(), Work()
    for name in ("first", "second"):
        queue.enter("ann", partial(work, name))
    with pytest.raises(Unavailable) as full:
        queue.enter("ann", partial(work, "third"))
    assert full.value.code == "SANDBOX_BUSY"
    queue.enter("bob", partial(other, "his"))
    assert until(lambda: other.begun == ["his"])
    work.go.set()
    other.go.set()


def test_a_run_that_fails_passes_its_turn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, work = RunQueue(at_once=1), Work()
    reported: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)

    def fails() -> None:
        raise ValueError("a bug")

    queue.enter("ann", fails)
    queue.enter("ann", partial(work, "second"))
    assert until(lambda: work.begun == ["second"])
    work.go.set()
    assert [str(one.exc_value) for one in reported] == ["a bug"]


def test_nobody_who_has_left_is_remembered() -> None:
    queue, work = RunQueue(), Work()
    work.go.set()
    queue.enter("ann", partial(work, "first"))
    assert until(lambda: not queue._queues)  # pyright: ignore[reportPrivateUsage]
