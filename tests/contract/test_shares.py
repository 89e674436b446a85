"""Shares in each store: they hold when they are written, end at once, and belong to two owners only."""

from dataclasses import dataclass, field

import pytest

from loci.auth.api_keys import ApiKeys
from loci.core.errors import LociError
from loci.core.identity import LOCAL, SYSTEM, Owner
from loci.sharing.shares import KIND, MOST, Share, Shares, name_for
from tests.contract.stores import ANN, BOB, Clock, Stores
from tests.support.each import each

EVE = Owner("evil", "ann")
ODD = (LOCAL, ANN, BOB, EVE, Owner("a/b", "c"), Owner("a", "b/c"), Owner("a", "b%2Fc"), Owner("local", "x"))


@dataclass
class Shared:
    stores: Stores
    timer: Clock = field(default_factory=Clock)

    def open(self, none_seconds: float = 0.0) -> Shares:
        """The shares, as a process of its own sees them."""
        keys = ApiKeys(self.stores.records, Clock())
        return Shares(self.stores.records, keys, Clock(), self.timer, none_seconds=none_seconds)


@pytest.fixture
def shared(stores: Stores) -> Shared:
    for owner in (ANN, BOB, EVE):
        for record in Shares(stores.records, ApiKeys(stores.records, Clock()), Clock(), Clock(), none_seconds=0).given(
            owner
        ):
            stores.records.remove(SYSTEM, KIND, record.key)
    return Shared(stores)


def folders(shares: list[Share] | tuple[Share, ...]) -> list[str]:
    return [one.folder for one in shares]


def test_a_share_is_seen_by_its_two_owners_and_ends_at_once(shared: Shared) -> None:
    here, elsewhere = shared.open(), shared.open()
    made = here.give(ANN, "notes", BOB)
    assert here.give(ANN, "notes", BOB) == made
    assert [*elsewhere.received(BOB)] == [*elsewhere.given(ANN)] == [made]
    for owner in (ANN, EVE, LOCAL, SYSTEM, Owner("", BOB.key)):
        assert not elsewhere.received(owner), owner
    for owner in (BOB, EVE, LOCAL):
        assert not elsewhere.given(owner), owner
    here.end(made)
    assert not elsewhere.received(BOB)
    assert not elsewhere.given(ANN)


def test_nothing_of_a_removed_owner_is_left_to_a_new_one_of_the_name(shared: Shared) -> None:
    shares = shared.open()
    for giver, receiver in ((ANN, BOB), (BOB, ANN), (EVE, BOB)):
        shares.give(giver, "notes", receiver)
    assert shares.remove_all(ANN) == 2
    assert [one.giver for one in shares.received(BOB)] == [EVE]


def test_a_damaged_or_moved_record_shares_nothing(shared: Shared) -> None:
    shares, records = shared.open(), shared.stores.records
    made = shares.give(ANN, "notes", BOB)
    value = records.get(SYSTEM, KIND, made.key)
    assert value is not None
    records.put(SYSTEM, KIND, f"{EVE.key}/{ANN.key}/copied", value.value)
    records.put(SYSTEM, KIND, made.key, {"folder": ""})
    assert not shares.received(EVE)
    assert not shares.received(BOB)


def test_a_process_remembers_for_a_while_that_there_is_no_share_and_never_that_there_is_one(shared: Shared) -> None:
    here, elsewhere = shared.open(), shared.open(none_seconds=60)
    assert not elsewhere.received(BOB)
    made = here.give(ANN, "notes", BOB)
    assert not elsewhere.received(BOB)
    shared.timer.now += 61
    assert [*elsewhere.received(BOB)] == [made]
    here.end(made)
    assert not elsewhere.received(BOB)
    elsewhere.give(ANN, "plans", BOB)
    assert folders([*elsewhere.received(BOB)]) == ["plans"]


def test_an_owner_shares_few_folders_with_another(shared: Shared) -> None:
    shares = shared.open()
    for at in range(MOST):
        shares.give(ANN, f"notes{at}", BOB)
    with pytest.raises(LociError, match="already"):
        shares.give(ANN, "one more", BOB)
    shares.give(EVE, "one more", BOB)


@each(
    ("giver", "text", "meant"),
    [
        (ANN, "acme/bob", BOB),
        (ANN, "bob", BOB),
        (ANN, "bob's laptop", BOB),
        (ANN, "local", LOCAL),
        (LOCAL, "bob", BOB),
        (ANN, "evil/nobody-knows", Owner("evil", "nobody-knows")),
        (BOB, "ann", ANN),
        (LOCAL, "ann", "OWNER_UNCLEAR"),
        (ANN, "eve's phone", "OWNER_UNKNOWN"),
        (ANN, "nobody", "OWNER_UNKNOWN"),
        (ANN, "/bob", "OWNER_UNKNOWN"),
        (ANN, "acme/", "OWNER_UNKNOWN"),
        (ANN, "a\n/bob", "OWNER_UNKNOWN"),
    ],
)
def test_an_owner_is_named_as_people_know_them(shared: Shared, giver: Owner, text: str, meant: Owner | str) -> None:
    keys = ApiKeys(shared.stores.records, Clock())
    for owner, name in ((ANN, "ann's"), (BOB, "bob's laptop"), (EVE, "eve's phone")):
        if owner not in keys.owners():
            keys.create(owner, name)
    if isinstance(meant, Owner):
        assert shared.open().named(giver, text) == meant
        return
    with pytest.raises(LociError) as refused:
        shared.open().named(giver, text)
    assert refused.value.code == meant


def test_no_two_owners_have_one_name_for_a_reader() -> None:
    for reader in ODD:
        names = [name_for(reader, one) for one in ODD]
        assert len({*names}) == len(ODD), names
