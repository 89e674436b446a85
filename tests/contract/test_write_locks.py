"""One writer at a time, with every adapter of the locks."""

from pathlib import Path

import pytest

from loci.adapters.aws.write_locks import LONGEST, RecordWriteLocks
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core.stores import WriteLocks
from tests.contract.stores import ANN, BOB, Clock, Stores


@pytest.fixture(params=["folder", "records"])
def locks(request: pytest.FixtureRequest, stores: Stores, clock: Clock, tmp_path: Path) -> WriteLocks:
    """Both adapters. Waiting takes no time."""
    if request.param == "folder":
        return FolderWriteLocks(tmp_path / "locks", lambda _: None)
    return RecordWriteLocks(stores.records, clock, lambda _: None)


def test_a_lock_is_given_once(locks: WriteLocks) -> None:
    with locks.take(ANN, "a", 0) as first, locks.take(ANN, "a", 0.5) as second:
        assert (first, second) == (True, False)


def test_a_lock_is_given_again_after_the_one_before(locks: WriteLocks) -> None:
    for _ in range(3):
        with locks.take(ANN, "a", 0) as taken:
            assert taken


def test_a_writer_that_got_no_lock_releases_none(locks: WriteLocks) -> None:
    with locks.take(ANN, "a", 0):
        for _ in range(2):
            with locks.take(ANN, "a", 0) as taken:
                assert not taken


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
    locks = RecordWriteLocks(stores.records, clock, lambda _: None)
    first = locks.take(ANN, "a", 0)
    assert first.__enter__()
    clock.now += LONGEST + 1
    with locks.take(ANN, "a", 0) as second:
        assert second
        first.__exit__(None, None, None)
        with locks.take(ANN, "a", 0) as third:
            assert not third
