"""What is told waits in a queue: it never makes anybody wait, and says what it left out."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from loci.adapters.local.event_log import FolderEventLog
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.events import api as api_module
from loci.events.api import Events
from loci.events.event import START, Event
from tests.support.polling import until

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")


class Stoppable(FolderEventLog):
    """A log that writes nothing while it is held, and fails if it is told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.may_go = threading.Event()
        self.may_go.set()
        self.fails = False

    def append(self, owner: Owner, events: Sequence[Event]) -> None:
        assert self.may_go.wait(60)
        if self.fails:
            raise Unavailable("The disk is full", "Free some space")
        super().append(owner, events)


@pytest.fixture
def log(tmp_path: Path) -> Stoppable:
    return Stoppable(tmp_path)


@pytest.fixture
def events(log: Stoppable) -> Events:
    return Events(log)


def kept(events: Events, owner: Owner = ANN) -> list[Event]:
    place, found, is_more = START, list[Event](), True
    while is_more:
        read = events.log.after(owner, place)
        found += [event for _, event in read.events]
        place, is_more = read.place, read.is_more
    return found


def test_whoever_tells_does_not_wait_for_a_store_that_hangs(events: Events, log: Stoppable) -> None:
    log.may_go.clear()
    for number in range(2 * api_module.MOST_WAITING + 500):
        events.tell(ANN, "call", {"tool": str(number)})  # this test ends, so none of them waited
    log.may_go.set()
    events.finish(60)
    found = kept(events)
    numbers = [int(str(one.fields["tool"])) for one in found if one.kind == "call"]
    assert numbers == sorted(set(numbers))
    missed = [int(str(one.fields["count"])) for one in found if one.kind == "missed"]
    assert missed
    assert len(numbers) + sum(missed) == 2 * api_module.MOST_WAITING + 500


def test_what_could_not_be_written_is_counted_by_the_next_that_is(events: Events, log: Stoppable) -> None:
    log.fails = True
    for name in "ab":
        events.tell(ANN, "call", {"tool": name})
        events.finish(60)
    log.fails = False
    events.tell(ANN, "call", {"tool": "c"})
    events.finish(60)
    assert [(one.kind, one.fields.get("tool"), one.fields.get("count")) for one in kept(events)] == [
        ("call", "c", None),
        ("missed", None, 2),
    ]


def test_what_another_owner_does_is_written_to_their_log(events: Events) -> None:
    events.tell(ANN, "call", {"tool": "a"})
    events.tell(BOB, "call", {"tool": "b"})
    events.finish(60)
    assert [one.fields["tool"] for one in kept(events)] == ["a"]
    assert [one.fields["tool"] for one in kept(events, BOB)] == ["b"]


def test_events_are_written_without_a_word_to_finish(events: Events) -> None:
    events.tell(ANN, "call", {"tool": "a"})
    assert until(lambda: kept(events))
