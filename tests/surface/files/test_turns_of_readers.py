"""Whose file is read next, if several people add more files than are read at once."""

import threading
from collections import defaultdict
from collections.abc import Callable

import pytest

from loci.app import App
from loci.core.identity import Owner
from loci.files.file import StoredFile
from tests.support.polling import until

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")


class SlowReadings:
    """Readings that end when they are told to."""

    def __init__(self, read: Callable[[Owner, str], StoredFile]) -> None:
        self._read = read
        self._ends = defaultdict[str, threading.Event](threading.Event)
        self.begun: list[str] = []

    def run(self, owner: Owner, id: str) -> StoredFile:
        file = self._read(owner, id)
        self.begun.append(file.name)
        self._ends[file.name].wait(60)
        return file

    def end(self, name: str) -> None:
        self._ends[name].set()


@pytest.fixture
def readings(app: App, monkeypatch: pytest.MonkeyPatch) -> SlowReadings:
    readings = SlowReadings(app.files.parts.lake.get)
    monkeypatch.setattr(app.files.parts.ingest, "run", readings.run)
    return readings


def add(app: App, owner: Owner, *names: str) -> None:
    for name in names:
        app.files.add(owner, name, f"city,cost\n{name},40\n".encode(), wait=0)


def test_an_owner_gets_no_second_reader_while_another_one_waits(app: App, readings: SlowReadings) -> None:
    begun = readings.begun
    add(app, ANN, "ann-1.csv", "ann-2.csv", "ann-3.csv", "ann-4.csv")
    until(lambda: len(begun) == 2)
    add(app, BOB, "bob-1.csv", "bob-2.csv")
    for ended, next in (
        ("ann-1.csv", "bob-1.csv"),
        ("bob-1.csv", "bob-2.csv"),
        ("ann-2.csv", "ann-3.csv"),
        ("bob-2.csv", "ann-4.csv"),  # nobody else waits
    ):
        count = len(begun)
        readings.end(ended)
        until(lambda count=count: len(begun) == count + 1)
        assert begun[-1] == next
    readings.end("ann-3.csv")
    readings.end("ann-4.csv")


def test_one_owner_has_all_readers_if_nobody_else_waits(app: App, readings: SlowReadings) -> None:
    add(app, ANN, "ann-1.csv", "ann-2.csv", "ann-3.csv")
    until(lambda: len(readings.begun) == 2)
    readings.end("ann-2.csv")
    until(lambda: len(readings.begun) == 3)
    for name in ("ann-1.csv", "ann-3.csv"):
        readings.end(name)
