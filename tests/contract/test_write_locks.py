"""One writer at a time, whatever gives the turns."""

from pathlib import Path

import pytest

from loci.adapters.aws.write_locks import LONGEST, RecordWriteLocks
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core.stores import WriteLocks
from tests.contract.stores import ANN, BOB, Clock, Stores


@pytest.fixture(params=["folder", "records"])
def turns(request: pytest.FixtureRequest, stores: Stores, clock: Clock, tmp_path: Path) -> WriteLocks:
    """Both kinds; who waits lets time go by without waiting."""
    if request.param == "folder":
        return FolderWriteLocks(tmp_path / "turns", lambda _: None)
    return RecordWriteLocks(stores.records, clock, lambda _: None)


def test_a_turn_is_given_once(turns: WriteLocks) -> None:
    with turns.take(ANN, "a", 0) as first, turns.take(ANN, "a", 0.5) as second:
        assert (first, second) == (True, False)


def test_a_turn_is_given_again_after_the_one_before(turns: WriteLocks) -> None:
    for _ in range(3):
        with turns.take(ANN, "a", 0) as taken:
            assert taken


def test_who_got_no_turn_ends_nobodys(turns: WriteLocks) -> None:
    with turns.take(ANN, "a", 0):
        for _ in range(2):
            with turns.take(ANN, "a", 0) as taken:
                assert not taken


def test_a_failure_ends_the_turn(turns: WriteLocks) -> None:
    with pytest.raises(RuntimeError), turns.take(ANN, "a", 0):
        raise RuntimeError
    with turns.take(ANN, "a", 0) as taken:
        assert taken


def test_other_names_and_owners_do_not_wait(turns: WriteLocks) -> None:
    with turns.take(ANN, "a", 0), turns.take(ANN, "b", 0) as other, turns.take(BOB, "a", 0) as others:
        assert other
        assert others


def test_a_turn_in_records_ends_a_while_after_its_process(stores: Stores, clock: Clock) -> None:
    turns = RecordWriteLocks(stores.records, clock, lambda _: None)
    first = turns.take(ANN, "a", 0)
    assert first.__enter__()
    clock.now += LONGEST + 1
    with turns.take(ANN, "a", 0) as second:
        assert second
        first.__exit__(None, None, None)
        with turns.take(ANN, "a", 0) as third:
            assert not third
