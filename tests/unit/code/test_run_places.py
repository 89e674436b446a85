"""Places for runs, which owners share."""

from contextlib import ExitStack

import pytest

from loci.adapters.local.executors.run_places import OF_AN_OWNER, RunPlaces
from loci.core.errors import Refused


def is_free(places: RunPlaces, owner: str) -> bool:
    try:
        with places.place(owner, 0):
            return True
    except Refused:
        return False


def test_one_owner_gets_so_many_and_another_one_always_finds_one() -> None:
    places = RunPlaces(8)
    with ExitStack() as held:
        for _ in range(OF_AN_OWNER):
            held.enter_context(places.place("ann", 0))
        assert not is_free(places, "ann")
        assert is_free(places, "bob")
    assert is_free(places, "ann")


def test_owners_who_have_places_leave_the_last_ones_to_who_has_none() -> None:
    places = RunPlaces(8)
    with ExitStack() as held:
        for owner in ("ann", "bob") * 3:
            held.enter_context(places.place(owner, 0))
        assert not is_free(places, "ann")
        held.enter_context(places.place("carl", 0))
        held.enter_context(places.place("dora", 0))
        assert not is_free(places, "eve")
    assert is_free(places, "eve")


def test_a_refusal_says_who_has_the_places() -> None:
    places = RunPlaces(3)
    with (
        places.place("ann", 0),
        pytest.raises(Refused, match=r"1 executors of yours run code, and 1 in all, one of them for \d+ s"),
    ):
        places.place("ann", 0).__enter__()
