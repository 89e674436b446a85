"""Runs in another process, as the call that started them sees them."""

import json
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from loci.app import App
from loci.code.runs import DetachedRuns, PendingRun
from loci.code.typescript import typescript_under_way
from loci.compose import build_app
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import LOCAL, LOCAL_CALLER, Caller, Owner
from loci.core.json import JsonObject
from loci.core.settings import load_settings
from loci.core.stores import Slots
from tests.support.damage import damage
from tests.support.polling import until

MOST = 3


@dataclass
class Sent:
    """Jobs that wait until a test does them."""

    jobs: list[JsonObject] = field(default_factory=list[JsonObject])

    def send(self, job: JsonObject) -> None:
        self.jobs.append(job)


@dataclass
class Gateway:
    """One process that starts runs and drives them."""

    app: App
    sent: Sent
    runs: DetachedRuns
    is_over: threading.Event = field(default_factory=threading.Event)

    def begin(self, n: int = 20, caller: Caller = LOCAL_CALLER) -> PendingRun:
        return self.runs.begin(caller, "tool", {"n": n}, 30, typescript_under_way, self.is_over.is_set)

    def drive(self) -> None:
        self.runs.drive(self.sent.jobs[-1], {"tool": _twice})


def _twice(_: Caller, request: JsonObject) -> JsonObject:
    if request["n"] == 0:
        raise Refused("There is nothing to do", "Ask for something")
    return {"result": int(str(request["n"])) * 2}


@pytest.fixture
def gateway(tmp_path: Path) -> Generator[Gateway]:
    app, sent = build_app(load_settings({"data": tmp_path, "log_level": "ERROR"})), Sent()
    slots = Slots(app.records, "errand", MOST, lambda _: Unavailable("Busy", "Wait", code="SANDBOX_BUSY"))
    yield Gateway(app, sent, DetachedRuns(app.records, app.scratchpad, sent, time.time, slots))
    app.close()


def test_the_answer_comes_to_the_call_that_waits(gateway: Gateway) -> None:
    run = gateway.begin()
    gateway.drive()
    assert run.future.result(30) == {"result": 40}


def test_an_error_comes_to_it_with_its_code_and_its_words(gateway: Gateway) -> None:
    run = gateway.begin(0)
    gateway.drive()
    with pytest.raises(LociError, match="There is nothing to do") as error:
        run.future.result(30)
    assert error.value.code == "REFUSED"


def test_a_damaged_record_of_a_run_stops_no_other(gateway: Gateway) -> None:
    before = gateway.begin()
    id = str(gateway.sent.jobs[-1]["run"])
    damage(gateway.app.settings.data, LOCAL, "run", id)
    damage(gateway.app.settings.data, LOCAL, "run", "f" * 32, '{"state": "asked", "due_at": 1e18}')
    gateway.drive()
    with pytest.raises(LociError, match="The end of the run was lost"):
        before.future.result(30)
    run = gateway.begin()
    gateway.drive()
    assert run.future.result(30) == {"result": 40}


def test_a_job_that_comes_twice_is_done_once(gateway: Gateway) -> None:
    gateway.begin().cancel()
    gateway.drive()
    gateway.runs.drive(gateway.sent.jobs[-1], {})  # no handler is looked for


def test_who_stops_waiting_reads_the_answer_in_the_scratchpad(gateway: Gateway) -> None:
    under_way = gateway.begin().later()
    assert under_way["status"] == "running"
    gateway.drive()
    kept = gateway.app.scratchpad.read(LOCAL, str(under_way["scratchpad_id"]))
    assert json.loads(kept.text) == {"result": 40}


def test_an_answer_that_comes_at_the_last_moment_is_the_calls(gateway: Gateway) -> None:
    run = gateway.begin()
    gateway.drive()
    assert run.later() == {"result": 40}


def test_nobody_looks_for_the_end_of_a_run_whose_call_is_over(gateway: Gateway) -> None:
    before = set(threading.enumerate())
    gateway.begin()
    [looks] = [one for one in threading.enumerate() if one not in before and one.name == "pending run"]
    gateway.is_over.set()
    until(lambda: not looks.is_alive())


def busy(gateway: Gateway, caller: Caller = LOCAL_CALLER) -> bool:
    """True if one more run is refused."""
    try:
        gateway.begin(caller=caller).cancel()
    except Unavailable as error:
        return error.code == "SANDBOX_BUSY"
    return False


def test_an_owner_has_so_many_runs_at_most(gateway: Gateway) -> None:
    assert [busy(gateway) for _ in range(MOST + 2)] == [*[False] * MOST, True, True]


def test_another_owner_has_runs_of_their_own(gateway: Gateway) -> None:
    while not busy(gateway):
        pass
    assert not busy(gateway, caller=replace(LOCAL_CALLER, owner=Owner("acme", "ann")))


def test_of_runs_that_begin_at_once_no_more_are_let_in(gateway: Gateway) -> None:
    with ThreadPoolExecutor(12) as threads:
        refused = list(threads.map(busy, [gateway] * 12))
    assert refused.count(False) == MOST


def test_a_run_that_ended_makes_room_for_one_more(gateway: Gateway) -> None:
    while not busy(gateway):
        pass
    gateway.drive()
    assert [busy(gateway) for _ in range(2)] == [False, True]


def test_a_run_that_failed_makes_room_for_one_more(gateway: Gateway) -> None:
    gateway.begin(0).cancel()
    while not busy(gateway):
        pass
    gateway.runs.drive(gateway.sent.jobs[0], {"tool": _twice})
    assert not busy(gateway)


def test_a_run_whose_process_died_makes_room_when_it_is_due(gateway: Gateway) -> None:
    while not busy(gateway):
        pass
    gateway.app.records.put(LOCAL, "errand", "001", {}, expires_at=time.time() - 1)
    assert [busy(gateway) for _ in range(2)] == [False, True]


def test_a_run_that_nobody_takes_holds_no_place(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Unavailable("Nobody takes it", "Try again", code="NOBODY")

    with monkeypatch.context() as failing:
        failing.setattr(Sent, "send", refuse)
        for _ in range(MOST + 1):
            with pytest.raises(Unavailable) as error:
                gateway.begin()
            assert error.value.code == "NOBODY"
    assert not busy(gateway)
