"""The log of events on every record store: one order for all who write and read, without a gap or a double."""

import threading

import pytest

from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import RecordStore
from loci.events import log as log_module
from loci.events.event import Event, Place
from loci.events.log import BATCH, KEPT_SECONDS, EventLog
from tests.contract.stores import ANN, BOB, Clock, at_once

ALL = frozenset({"call", "workflow"})


@pytest.fixture
def log(records: RecordStore, clock: Clock) -> EventLog:
    return EventLog(records, clock, trims=True)


def called(name: str, kind: str = "call") -> Event:
    return Event(kind, 1.0, {"tool": name})


def read_all(log: EventLog, owner: Owner = ANN, after: str = "0.0") -> tuple[list[str], Place, bool]:
    """The tools of all events behind this place, the last place, and if any are said to be missing."""
    place, names, has_gap = Place.of(after), list[str](), False
    assert place
    while True:
        read = log.after(owner, place)
        names += [str(event.fields["tool"]) for _, event in read.events]
        has_gap |= read.has_gap
        place = read.place
        if not read.is_more:
            return names, place, has_gap


def test_each_event_is_read_once_behind_any_place(log: EventLog) -> None:
    log.append(ANN, [called("a"), called("b")])
    log.append(ANN, [called("c")])
    names, end, _ = read_all(log)
    assert (names, end.id) == (["a", "b", "c"], "2.0")
    read = log.after(ANN, Place(0))
    for at, (place, _) in enumerate(read.events):
        assert read_all(log, after=place.id) == (names[at + 1 :], end, False)
        assert [event.fields["tool"] for _, event in log.after(ANN, place).events] == names[at + 1 :]


def test_somebody_elses_events_are_never_read(log: EventLog) -> None:
    log.append(ANN, [called("a")])
    assert read_all(log, BOB) == ([], Place(0), False)
    assert log.end(BOB) == Place(0)
    assert log.recent(BOB, Place(0, is_last=True)) is None


def test_many_processes_write_one_order_and_readers_miss_and_double_nothing(records: RecordStore, clock: Clock) -> None:
    writers, batches = 5, 12
    are_done, found = threading.Event(), dict[int, list[str]]()

    def follow(number: int) -> None:
        reader, place, names = EventLog(records, clock, trims=False), Place(0), list[str]()
        while True:
            was_done = are_done.is_set()
            read = reader.after(ANN, place)
            assert not read.has_gap
            names += [str(event.fields["tool"]) for _, event in read.events]
            # Every second time it comes back with the id alone, as after a connection that broke.
            place = read.place if number == 0 else Place.of(read.place.id) or read.place
            if was_done and not read.events:
                found[number] = names
                return

    def write(number: int) -> None:
        log = EventLog(records, clock, trims=False)
        for batch in range(batches):
            log.append(ANN, [called(f"{number}.{batch}.0"), called(f"{number}.{batch}.1")])

    readers = [threading.Thread(target=follow, args=(number,)) for number in range(2)]
    for one in readers:
        one.start()
    at_once(writers, write)
    are_done.set()
    for one in readers:
        one.join()
    expected = {f"{w}.{b}.{e}" for w in range(writers) for b in range(batches) for e in range(2)}
    for names in found.values():
        assert len(names) == len(expected)
        assert set(names) == expected
        for writer in range(writers):
            own = [name for name in names if name.startswith(f"{writer}.")]
            assert own == sorted(own, key=lambda name: [*map(int, name.split("."))])
    assert found[0] == found[1]


def test_after_a_long_silence_nothing_is_missing_and_no_id_comes_again(
    log: EventLog, records: RecordStore, clock: Clock
) -> None:
    for name in "abc":
        log.append(ANN, [called(name)])
    clock.now += 2 * KEPT_SECONDS
    EventLog(records, clock, trims=True).append(ANN, [called("d")])
    names, end, has_gap = read_all(log, after="3.0")
    assert (names, has_gap) == (["d"], False)
    assert end.batch > 3


def test_who_slept_while_others_went_on_writes_behind_them(log: EventLog, records: RecordStore, clock: Clock) -> None:
    log.append(ANN, [called("a")])
    clock.now += 2 * KEPT_SECONDS
    other = EventLog(records, clock, trims=True)
    other.append(ANN, [called("b")])
    _, end, _ = read_all(other)
    log.append(ANN, [called("c")])
    assert read_all(other, after=end.id)[0] == ["c"]


def test_a_reader_is_told_that_events_are_missing_which_expired(log: EventLog, clock: Clock) -> None:
    log.append(ANN, [called("a")])
    for name in "bc":
        clock.now += 0.4 * KEPT_SECONDS
        log.append(ANN, [called(name)])
    clock.now += 0.7 * KEPT_SECONDS  # now "a" and "b" have expired
    log.append(ANN, [called("d")])
    assert read_all(log, after="1.0") == (["c", "d"], Place(4), True)
    assert read_all(log, after="3.0") == (["d"], Place(4), False)


def test_an_id_of_another_log_is_not_known(log: EventLog) -> None:
    log.append(ANN, [called("a")])
    assert log.found(ANN, Place(1)) == Place(1)
    assert log.found(ANN, Place(7)) is None


def test_who_has_written_itself_knows_also_what_others_wrote_since(
    log: EventLog, records: RecordStore, clock: Clock
) -> None:
    log.append(ANN, [called("a")])
    EventLog(records, clock, trims=True).append(ANN, [called("b"), called("c")])
    assert log.found(ANN, Place(2, 1)) == Place(2, 1)
    assert log.end(ANN) == Place(2, 1)
    assert log.before_last(ANN, 1, ALL) == Place(2, 0)


def test_the_last_events_of_some_kinds_are_found(log: EventLog) -> None:
    log.append(ANN, [called("a"), called("b", "workflow"), called("c")])
    log.append(ANN, [called("d", "workflow"), called("e")])
    for count, kinds, first in ((1, ALL, "e"), (3, ALL, "c"), (9, ALL, "a"), (2, frozenset({"workflow"}), "b")):
        place = log.before_last(ANN, count, kinds)
        read = log.after(ANN, place)
        assert not read.has_gap
        assert next(str(event.fields["tool"]) for _, event in read.events if event.kind in kinds) == first
    assert log.before_last(BOB, 5, ALL) == Place(0)


def test_a_damaged_batch_stops_no_reader(log: EventLog, records: RecordStore) -> None:
    log.append(ANN, [called("a")])
    damaged: JsonObject = {"events": "?"}
    records.put(ANN, BATCH, f"{2:012}", damaged)
    log.append(ANN, [called("c")])
    assert read_all(log) == (["a", "c"], Place(3), False)


def test_no_more_batches_are_kept_than_the_most(
    log: EventLog, records: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "MOST_BATCHES", 20)
    monkeypatch.setattr(log_module, "TRIMMED_EVERY", 10)
    for number in range(60):
        log.append(ANN, [called(str(number))])
    assert len(records.list(ANN, BATCH, limit=100).records) <= 30
    names, _, has_gap = read_all(log)
    assert (names[-1], has_gap) == ("59", True)
