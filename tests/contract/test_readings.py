"""What a session has read of others, on each store."""

from loci.core.identity import LOCAL, Caller
from loci.core.trust import MORE, Readings
from tests.contract.stores import Clock, Stores

SESSION = Caller(LOCAL, "key", credential="k1", client="one/1", session="a")
OTHER_SESSION = Caller(LOCAL, "key", credential="k1", client="one/1", session="b")
CALLERS = {
    "itself": (SESSION, [True, True, True]),
    "another session of its key": (OTHER_SESSION, [True, False, False]),
    "its key without a session": (Caller(LOCAL, "key", credential="k1", client="two/1"), [True, False, False]),
    "another key": (Caller(LOCAL, "key", credential="k2", client="one/1"), [False, False, False]),
    "this machine": (Caller(LOCAL, "local", client="one/1"), [False, False, False]),
}


def test_what_a_session_read_counts_for_itself_and_an_hour_for_its_key(stores: Stores, clock: Clock) -> None:
    Readings(stores.records, clock).note(SESSION, ["tool server shop"])
    seen: dict[str, list[bool]] = {name: [] for name in CALLERS}
    for seconds in (0.0, 2 * 3600.0, 7 * 86_400.0):
        clock.now += seconds
        for name, (caller, _) in CALLERS.items():  # in another process
            seen[name].append(bool(Readings(stores.records, clock).sources(caller)))
    assert seen == {name: expected for name, (_, expected) in CALLERS.items()}


def test_a_client_without_sessions_counts_for_a_day_whatever_its_version(stores: Stores, clock: Clock) -> None:
    readings = Readings(stores.records, clock)
    readings.note(Caller(LOCAL, "key", credential="k", client="one/1"), ["tool server shop"])
    clock.now += 2 * 3600
    assert readings.sources(Caller(LOCAL, "key", credential="k", client="one/2")) == ("tool server shop",)
    clock.now += 86_400
    assert readings.sources(Caller(LOCAL, "key", credential="k", client="one/2")) == ()


def test_who_goes_on_to_read_is_not_forgotten(stores: Stores, clock: Clock) -> None:
    readings = Readings(stores.records, clock)
    for _ in range(4):
        readings.note(SESSION, ["tool server shop"])
        clock.now += 1800
    assert readings.sources(OTHER_SESSION) == ("tool server shop",)


def test_of_very_many_sources_the_first_are_kept(stores: Stores, clock: Clock) -> None:
    readings = Readings(stores.records, clock)
    readings.note(SESSION, [f"note {number}.md" for number in range(50)])
    readings.note(SESSION, ["note late.md"])
    assert readings.sources(SESSION) == (*(f"note {number}.md" for number in range(20)), MORE)
