"""One writer at a time, with every adapter of the locks."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.adapters.aws.write_locks import LONGEST, RecordWriteLocks
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core.deadline import within
from loci.core.stores import WriteLocks
from tests.contract.stores import ADAPTERS, ANN, BOB, Clock, Stores, at_once
from tests.support.polling import until


@pytest.fixture(params=["folder", "embedded", pytest.param("dynamodb-local", marks=pytest.mark.aws)])
def locks(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[WriteLocks]:
    """Both adapters, one of them on records. Waiting for another process takes no time."""
    if request.param == "folder":
        yield FolderWriteLocks(tmp_path / "locks", lambda _: None)
        return
    with ADAPTERS[request.param]() as opener, opener(tmp_path, clock) as stores:
        yield RecordWriteLocks(stores.records, clock, lambda _: None)


def test_a_lock_is_given_once_and_again_after_the_one_before(locks: WriteLocks) -> None:
    for _ in range(3):
        with locks.take(ANN, "a", 0) as first, locks.take(ANN, "a", 0.1) as second:
            assert (first, second) == (True, False)
            with locks.take(ANN, "a", 0) as third:
                assert not third  # who got no lock has released none


def test_a_failure_releases_the_lock(locks: WriteLocks) -> None:
    with pytest.raises(RuntimeError), locks.take(ANN, "a", 0):
        raise RuntimeError
    with locks.take(ANN, "a", 0) as taken:
        assert taken


def test_other_names_and_owners_do_not_wait(locks: WriteLocks) -> None:
    with locks.take(ANN, "a", 0), locks.take(ANN, "b", 0) as other, locks.take(BOB, "a", 0) as others:
        assert other
        assert others


def test_a_lock_in_records_ends_a_while_after_its_process(stores: Stores, clock: Clock) -> None:
    instances = [RecordWriteLocks(stores.records, clock, lambda _: None) for _ in range(3)]
    first = instances[0].take(ANN, "a", 0)
    assert first.__enter__()
    clock.now += LONGEST + 1
    with instances[1].take(ANN, "a", 0) as second:
        assert second
        first.__exit__(None, None, None)
        with instances[2].take(ANN, "a", 0) as third:
            assert not third


def test_a_lock_in_records_lasts_as_long_as_the_time_of_its_call(stores: Stores, clock: Clock) -> None:
    one, other = [RecordWriteLocks(stores.records, clock, lambda _: None) for _ in range(2)]
    with within(300), one.take(ANN, "a", 0):
        clock.now += 290
        with other.take(ANN, "a", 0) as taken:
            assert not taken


def test_threads_get_a_lock_in_the_order_in_which_they_asked(locks: WriteLocks) -> None:
    got: list[int] = []

    def write(number: int) -> None:
        with locks.take(ANN, "a", 60) as taken:
            assert taken
            got.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    with locks.take(ANN, "a", 0):
        for thread, asked in zip(threads, range(1, 21), strict=True):
            thread.start()
            until(lambda asked=asked: _waiting(locks) == asked)
    for thread in threads:
        thread.join(60)
    assert got == [*range(20)]


def _waiting(locks: WriteLocks) -> int:
    """How many threads wait behind the one that has the lock."""
    assert isinstance(locks, FolderWriteLocks | RecordWriteLocks)
    return sum(len(queue) - 1 for queue in locks._queues._waiting.values())  # pyright: ignore[reportPrivateUsage]


def test_a_lock_that_another_process_has_is_not_given(tmp_path: Path) -> None:
    here, elsewhere = (FolderWriteLocks(tmp_path / "locks", lambda _: None) for _ in range(2))
    for _ in range(3):
        with elsewhere.take(ANN, "a", 0), here.take(ANN, "a", 0.5) as taken:
            assert not taken
        with here.take(ANN, "a", 0) as taken:
            assert taken


def test_writers_of_other_documents_are_never_busy_with_one_another(tmp_path: Path) -> None:
    """As many names as once shared 64 files."""
    here, elsewhere = (FolderWriteLocks(tmp_path / "locks", lambda _: None) for _ in range(2))
    with elsewhere.take(ANN, "mine", 0):
        for number in range(200):
            with here.take(ANN, f"other-{number}", 0) as taken:
                assert taken
    assert list((tmp_path / "locks").iterdir()) == []


def test_of_those_who_race_for_a_lock_one_at_a_time_has_it(tmp_path: Path) -> None:
    places = [FolderWriteLocks(tmp_path / "locks") for _ in range(4)]
    inside, most = 0, 0

    def work(number: int) -> bool:
        nonlocal inside, most
        for _ in range(50):
            with places[number % 4].take(ANN, "a", 60) as taken:
                assert taken
                inside += 1
                most = max(most, inside)
                time.sleep(0)  # lets another thread in, if the lock does
                inside -= 1
        return True

    assert all(at_once(8, work))
    assert most == 1
