"""The queue of events: it never makes anybody wait, and says what it left out."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import Record
from loci.events import writing as writing_module
from loci.events.api import Events
from loci.events.event import Event, Place
from tests.support.polling import until

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")


class Stoppable(SqliteRecords):
    """A store that answers no write while it is held."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        super().__init__(database, clock)
        self.may_go = threading.Event()
        self.may_go.set()

    @contextmanager
    def held(self) -> Generator[None]:
        self.may_go.clear()
        try:
            yield
        finally:
            self.may_go.set()

    def put(
        self,
        owner: Owner,
        kind: str,
        key: str,
        value: JsonObject,
        *,
        expect_version: str | None = None,
        expires_at: float | None = None,
        durable: bool = True,
    ) -> Record:
        assert self.may_go.wait(60)
        return super().put(
            owner, kind, key, value, expect_version=expect_version, expires_at=expires_at, durable=durable
        )


@pytest.fixture
def records(tmp_path: Path) -> Stoppable:
    return Stoppable(Database(tmp_path / "loci.db"), lambda: 1_700_000_000.0)


@pytest.fixture
def events(records: Stoppable) -> Events:
    return Events(records, lambda: 1_700_000_000.0, keeps_all=True)


def kept(events: Events, owner: Owner = ANN) -> list[Event]:
    place, found = Place(0), list[Event]()
    while True:
        read = events.log.after(owner, place)
        found += [event for _, event in read.events]
        place = read.place
        if not read.is_more:
            return found


def test_whoever_tells_does_not_wait_for_a_store_that_hangs(events: Events, records: Stoppable) -> None:
    with records.held():
        for number in range(writing_module.MOST_WAITING + 500):
            events.tell(ANN, "call", {"tool": str(number)})  # this test ends, so none of them waited
    events.finish(60)
    found = kept(events)
    numbers = [int(str(one.fields["tool"])) for one in found if one.kind == "call"]
    assert numbers == sorted(set(numbers))
    missed = [int(str(one.fields["count"])) for one in found if one.kind == "missed"]
    assert missed
    assert len(numbers) + sum(missed) == writing_module.MOST_WAITING + 500


def test_what_another_owner_does_is_written_to_their_log(events: Events) -> None:
    events.tell(ANN, "call", {"tool": "a"})
    events.tell(BOB, "call", {"tool": "b"})
    events.finish(60)
    assert [one.fields["tool"] for one in kept(events)] == ["a"]
    assert [one.fields["tool"] for one in kept(events, BOB)] == ["b"]


def test_events_are_written_without_a_word_to_finish(events: Events) -> None:
    events.tell(ANN, "call", {"tool": "a"})
    assert until(lambda: kept(events))
