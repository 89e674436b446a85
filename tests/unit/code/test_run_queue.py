"""Owners' queues for runs."""

import threading

import pytest

from loci.code.run_queue import RunQueue
from loci.core.errors import Unavailable


def test_so_many_run_at_once_and_the_next_waits() -> None:
    queue, begun, go = RunQueue(at_once=1), threading.Event(), threading.Event()
    order: list[str] = []

    def work(name: str) -> None:
        with queue.turn("ann"):
            order.append(name)
            begun.set()
            go.wait(30)

    for _ in range(2):
        queue.enter("ann")
    threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
    threads[0].start()
    begun.wait(30)
    threads[1].start()
    assert order == ["first"]
    go.set()
    for one in threads:
        one.join(30)
    assert order == ["first", "second"]


def test_a_line_has_a_length_and_each_owner_has_one() -> None:
    queue = RunQueue(most=2)
    queue.enter("ann")
    queue.enter("ann")
    with pytest.raises(Unavailable) as full:
        queue.enter("ann")
    assert full.value.code == "SANDBOX_BUSY"
    queue.enter("bob")
    queue.leave("ann")
    queue.enter("ann")


def test_nobody_who_has_left_is_remembered() -> None:
    queue = RunQueue()
    queue.enter("ann")
    with queue.turn("ann"):
        pass
    queue.leave("ann")
    queue.enter("ann")
