"""The log of events on every adapter: one order for all who write and read, without a gap or a double."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loci.adapters.aws import event_log as aws_module
from loci.adapters.aws.event_log import KEPT_SECONDS, RecordEventLog
from loci.adapters.local import event_log as local_module
from loci.adapters.local.event_log import FolderEventLog
from loci.core.identity import Owner
from loci.core.storage_keys import CALLS, EVENTS
from loci.core.stores import RecordStore
from loci.events.api import Events
from loci.events.event import START, Event, EventLog, EventPosition
from tests.contract.stores import ANN, BOB, Clock, at_once
from tests.support.polling import until

Open = Callable[[], EventLog]
"""Opens the log, as each process does."""


@pytest.fixture(params=["folder", "records"])
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, records: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> Open:
    monkeypatch.setattr(aws_module, "SETTLED_SECONDS", 0.2)
    if request.param == "folder":
        return lambda: FolderEventLog(tmp_path / "events")
    return lambda: RecordEventLog(records)


@pytest.fixture
def log(opened: Open) -> EventLog:
    log = opened()
    log.end(ANN)  # somebody follows: calls are kept
    return log


def called(name: str, kind: str = "call") -> Event:
    return Event(kind, 1.0, {"tool": name})


def read_all(log: EventLog, owner: Owner = ANN, after: EventPosition = START) -> tuple[list[str], EventPosition, bool]:
    """The tools of all events behind this place, the last place, and if any are said to be missing."""
    place, names, has_gap = after, list[str](), False
    while True:
        read = log.after(owner, place)
        names += [str(event.fields["tool"]) for _, event in read.events]
        has_gap |= read.has_gap
        place = read.place
        if not read.is_more:
            return names, place, has_gap


def seen(log: EventLog, count: int) -> list[tuple[EventPosition, Event]]:
    """The first events, as soon as so many can be read."""
    return until(lambda: found if len(found := [*log.after(ANN, START).events]) >= count else None)


def test_each_event_is_read_once_behind_any_place(log: EventLog) -> None:
    log.append(ANN, [called("a"), called("b")])
    log.append(ANN, [called("c")])
    names = [str(event.fields["tool"]) for _, event in seen(log, 3)]
    assert names == ["a", "b", "c"]
    for at, (place, _) in enumerate(log.after(ANN, START).events):
        assert EventPosition.parse(place.id) == place
        assert read_all(log, after=place)[0] == names[at + 1 :]
        assert not log.after(ANN, place).has_gap


def test_somebody_elses_events_are_never_read(log: EventLog) -> None:
    log.append(ANN, [called("a")])
    [(place, _)] = seen(log, 1)
    assert read_all(log, BOB)[0] == []
    assert read_all(log, BOB, place)[0] == []


def test_who_begins_at_the_end_gets_what_comes(log: EventLog) -> None:
    log.append(ANN, [called("a")])
    end = log.end(ANN)
    log.append(ANN, [called("b")])
    seen(log, 2)
    assert read_all(log, after=end)[0] == ["b"]


def test_many_processes_write_and_readers_miss_and_double_nothing(opened: Open, log: EventLog) -> None:
    writers, batches = 5, 12
    expected = {f"{w}.{b}.{e}" for w in range(writers) for b in range(batches) for e in range(2)}
    found = dict[int, list[str]]()

    def follow(number: int) -> None:
        reader, place, names = opened(), START, list[str]()
        over = time.monotonic() + 600
        while len(names) < len(expected) and time.monotonic() < over:
            read = reader.after(ANN, place)
            assert not read.has_gap
            names += [str(event.fields["tool"]) for _, event in read.events]
            # Every second reader comes back with the id alone, as after a connection that broke.
            place = read.place if number == 0 else EventPosition.parse(read.place.id) or read.place
        found[number] = names + [str(event.fields["tool"]) for _, event in reader.after(ANN, place).events]

    def write(number: int) -> None:
        own = opened()
        for batch in range(batches):
            own.append(ANN, [called(f"{number}.{batch}.0"), called(f"{number}.{batch}.1")])

    readers = [threading.Thread(target=follow, args=(number,)) for number in range(2)]
    for one in readers:
        one.start()
    at_once(writers, write)
    for one in readers:
        one.join()
    for names in found.values():
        assert len(names) == len(expected)
        assert set(names) == expected
        for writer in range(writers):
            own = [name for name in names if name.startswith(f"{writer}.")]
            assert own == sorted(own, key=lambda name: [*map(int, name.split("."))])
    assert found[0] == found[1]


def test_a_place_of_another_log_is_a_gap_and_what_there_is_comes(log: EventLog) -> None:
    log.append(ANN, [called("a")])
    seen(log, 1)
    for place in (EventPosition(1, 0), EventPosition(987654, 3), EventPosition(10**16 - 1, 0)):
        names, end, has_gap = read_all(log, after=place)
        assert (names, has_gap) == (["a"], True)
        assert read_all(log, after=end)[::2] == ([], False)


def test_the_last_events_of_some_kinds_are_found(log: EventLog) -> None:
    log.append(ANN, [called("a"), called("b", "workflow"), called("c")])
    log.append(ANN, [called("d", "workflow"), called("e")])
    seen(log, 5)
    events = Events(log)
    both = {"call", "workflow"}
    for count, kinds, first in ((1, both, "e"), (3, both, "c"), (9, both, "a"), (2, {"workflow"}, "b")):
        read = log.after(ANN, events.start_position(ANN, count, kinds))
        assert not read.has_gap
        assert str(read.events[0][1].fields["tool"]) == first
    assert read_all(log, after=events.start_position(ANN, 5, {"server"}))[0] == []


def test_a_file_that_is_full_is_followed_by_another_and_the_oldest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "FILE_BYTES", 500)
    log = FolderEventLog(tmp_path)
    log.append(ANN, [called("0")])
    [(first, _)] = log.after(ANN, START).events
    for number in range(1, 60):
        log.append(ANN, [called(str(number))])
    names, _, has_gap = read_all(log, after=first)
    assert (names[-1], has_gap) == ("59", True)
    assert [int(name) for name in names] == [*range(60 - len(names), 60)]
    assert sum(one.stat().st_size for one in (tmp_path / ANN.key).iterdir()) < 1200


@pytest.fixture(params=["folder", "records"])
def call_log(
    request: pytest.FixtureRequest, tmp_path: Path, records: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> EventLog:
    monkeypatch.setattr(aws_module, "SETTLED_SECONDS", 0.0)
    if request.param == "folder":
        return FolderEventLog(tmp_path / "calls", files=20)
    return RecordEventLog(records, kind=CALLS, kept_seconds=86_400, keeps_all=True)


def test_a_log_of_calls_has_those_that_nobody_followed_and_is_read_from_a_time(
    call_log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "FILE_BYTES", 10)  # each in a file of its own
    call_log.append(ANN, [called("a")])
    call_log.append(BOB, [called("of bob")])
    begin = time.time()
    call_log.append(ANN, [called("b")])
    for since, names in ((0.0, ["a", "b"]), (begin, ["b"])):
        found, _, _ = read_all(call_log, after=call_log.since(ANN, since))
        assert found[-len(names) :] == names  # a few older ones may come first


def test_a_damaged_line_stops_no_reader_and_half_a_line_is_not_read(tmp_path: Path) -> None:
    log = FolderEventLog(tmp_path)
    log.append(ANN, [called("a")])
    [file] = (tmp_path / ANN.key).glob("*.jsonl")
    with file.open("ab") as written:
        written.write(b'\xff{"kind":\n[]\n{"kind":')
    assert read_all(log)[0] == ["a"]
    with file.open("ab") as written:
        written.write(b"1}\n")
    log.append(ANN, [called("c")])
    assert read_all(log)[0] == ["a", "c"]


def test_a_record_of_no_event_stops_no_reader(records: RecordStore) -> None:
    log = RecordEventLog(records)
    records.put(ANN, EVENTS, f"{int(time.time() * 1e6 - 5e6):016}.000000", {"kind": 1})
    log.append(ANN, [called("b", "server")])
    until(lambda: read_all(log)[0] == ["b"])


def test_an_event_in_the_table_is_kept_for_an_hour(records: RecordStore, clock: Clock) -> None:
    log = RecordEventLog(records, clock)
    begin = log.end(ANN)
    log.append(ANN, [called("a")])
    clock.now += 10
    _, end, has_gap = read_all(log, after=begin)
    assert not has_gap
    clock.now += KEPT_SECONDS - 9
    log.append(ANN, [called("b")])
    clock.now += 10
    assert read_all(log, after=begin)[::2] == (["b"], True)
    assert read_all(log, after=end)[::2] == (["b"], True)
    assert read_all(log)[0] == ["b"]
