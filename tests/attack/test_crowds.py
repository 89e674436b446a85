"""Readers of events: crowds of them, those who read nothing or everything again, and ids that are none of theirs."""

import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from loci.adapters.local.event_log import FolderEventLog
from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.settings import load_settings
from loci.events import api as streams_module
from loci.events import route as stream_module
from loci.events.api import Events
from loci.events.event import Event, EventBatch, EventPosition
from loci.mcp.http import connection as connection_module
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import PATIENCE, UvicornDoor, lambda_doors, on_the_wire, uvicorn_door
from tests.attack.test_forged_requests import SAME
from tests.attack.test_ui import PAGE, cookie_of, look, sign_in
from tests.attack.wire import Ask, call, legacy
from tests.support.each import each
from tests.support.event_follower import following
from tests.support.forms import IN_FORM, form_token
from tests.support.polling import until

CROWD = 200
HEAD = 65536
LONG: JsonObject = {"server": "s" * 300, "state": "up", "tools": 1}


@pytest.fixture
def app(tmp_path: Path) -> Generator[App]:
    app = build_app(load_settings({"data": tmp_path / "data", "auth": "required", "log_level": "ERROR"}))
    yield app
    app.close()


@pytest.fixture
def door(app: App) -> Generator[UvicornDoor]:
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield door
        app.end_streams()


@pytest.fixture
def key(app: App) -> Callable[[Owner], str]:
    return lambda owner: app.api_keys.create(owner, owner.subject)[1]


def reading(key: str, query: str = "", **headers: str) -> Ask:
    shown = (("Host", "127.0.0.1"), ("Authorization", f"Bearer {key}"), *headers.items())
    return Ask(b"", shown, "GET", f"/events{query}")


def opened(door: UvicornDoor, key: str, query: str = "") -> socket.socket:
    """A stream of whose answer only the first bytes were read."""
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.settimeout(PATIENCE)
    stream.connect(("127.0.0.1", door.port))
    stream.sendall(on_the_wire(reading(key, query)))
    assert stream.recv(15) == b"HTTP/1.1 200 OK"
    return stream


def tell_much(app: App, owner: Owner) -> None:
    """More than the sockets between a server and a reader hold."""
    for _ in range(20):
        app.events.log.append(owner, [Event("server", time.time(), LONG)] * 1000)


def test_there_are_only_so_many_streams_of_all_owners(
    app: App, door: UvicornDoor, key: Callable[[Owner], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "MOST_IN_ALL", 4)
    anns, bobs = key(ANN), key(BOB)
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(opened(door, anns))
        told = door.ask(reading(bobs))
        assert (told.status, told.header("retry-after"), b"4 streams of events" in told.body) == (429, "60", True)
    with until(lambda: _let_in(door, bobs)):
        pass


def _let_in(door: UvicornDoor, key: str) -> socket.socket | None:
    """A stream; None if there are too many."""
    try:
        return opened(door, key)
    except AssertionError:
        return None


def test_a_crowd_gives_its_descriptors_back(
    app: App, door: UvicornDoor, key: Callable[[Owner], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "MOST_OPEN", CROWD)
    keys = [key(Owner("acme", f"reader-{number}")) for number in range(20)]

    def descriptors() -> int:
        return len([*Path("/proc/self/fd").iterdir()])

    with opened(door, keys[0]):
        pass
    with ThreadPoolExecutor(64) as people:  # the threads of the server begin before anything is counted
        assert {one.status for one in people.map(door.ask, [legacy(call("scratchpad_list", {}), keys[0])] * 200)} == {
            200
        }
    before = until(lambda: _settled(descriptors))
    with ExitStack() as stack:
        for number in range(CROWD):
            stack.enter_context(opened(door, keys[number % len(keys)]))
        assert descriptors() >= before + CROWD
        assert door.ask(legacy(call("scratchpad_list", {}), keys[1])).tool_code is None
    assert until(lambda: descriptors() <= before + 10)


def _settled(count: Callable[[], int]) -> int | None:
    """The number, if it stays the same: connections of earlier calls still end."""
    found = count()
    time.sleep(0.5)
    return found if count() == found else None


def test_who_reads_everything_again_and_again_keeps_nobody_waiting(
    app: App, door: UvicornDoor, key: Callable[[Owner], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All streams read on one thread, which is not that of the calls, nor of the loop."""
    for number in range(1000):
        app.events.log.append(ANN, [Event("server", time.time(), {"server": f"s{number}", "state": "up", "tools": 1})])
    anns, bobs = key(ANN), key(BOB)
    free, threads = threading.Event(), list[str]()

    def held(real: Callable[..., Any]) -> Callable[..., Any]:
        def read(*about: Any) -> Any:
            threads.append(threading.current_thread().name)
            free.wait(PATIENCE)
            return real(*about)

        return read

    monkeypatch.setattr(Events, "start_position", held(Events.start_position))
    monkeypatch.setattr(FolderEventLog, "after", held(FolderEventLog.after))
    with ThreadPoolExecutor(12) as people:
        reads = [people.submit(opened, door, anns, "?last=1000&kinds=workflow") for _ in range(12)]
        until(lambda: threads)
        for _ in range(15):
            assert door.ask(legacy(call("scratchpad_list", {}), bobs)).tool_code is None
        assert (len(threads), any(one.done() for one in reads)) == (1, False)
        free.set()
        for one in reads:
            one.result().close()
    assert len(threads) >= len(reads)
    assert len({*threads}) == 1


def test_who_reads_slowly_learns_nothing_after_the_key_was_revoked(
    app: App, door: UvicornDoor, key: Callable[[Owner], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "BEAT_SECONDS", 0.2)
    real, was_read = FolderEventLog.after, list[int]()

    def after(log: FolderEventLog, owner: Owner, place: EventPosition) -> EventBatch:
        found = real(log, owner, place)
        was_read.append(len(found.events))
        return found

    monkeypatch.setattr(FolderEventLog, "after", after)
    with opened(door, key(ANN)) as slow:
        tell_much(app, ANN)
        until(lambda: sum(was_read) >= 1000)  # of 20,000: the sockets do not hold all of them
        app.api_keys.revoke(app.api_keys.list()[0].id)
        time.sleep(0.3)  # at the next moment it looks if the key is good
        app.events.tell(ANN, "server", {"server": "rhubarb", "state": "up", "tools": 1})
        app.finish()
        text = b""
        while piece := slow.recv(HEAD):
            text += piece
            if text.endswith(b"0\r\n\r\n"):
                break
    assert text.count(b"event: server") >= 1000
    assert b"rhubarb" not in text


def test_a_stream_of_a_page_ends_when_the_person_signs_out(
    door: UvicornDoor, key: Callable[[Owner], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "BEAT_SECONDS", 0.1)
    mine, again = (cookie_of(sign_in(door, key(ANN))) for _ in range(2))
    page = (("Host", "loci.test"), SAME)
    with following(door, (*page, mine), path="/ui/events") as ended, following(door, (*page, again), path="/ui/events"):
        ended.begun()
        token = form_token(look(door, "/ui/files", mine).body, IN_FORM)
        assert door.ask(Ask(f"form={token}".encode(), (*PAGE, SAME, mine), "POST", "/ui/sign-out")).status == 303
        ended.wait(lambda one: 401 in one.statuses)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system ends no connection by itself")
def test_who_reads_nothing_at_all_gives_the_place_back(
    app: App, key: Callable[[Owner], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "UNREAD_SECONDS", 1)
    monkeypatch.setattr(streams_module, "MOST_OPEN", 1)
    anns = key(ANN)
    with uvicorn_door(asgi(app, on_loopback=True)) as door, opened(door, anns):
        assert door.ask(reading(anns)).status == 429
        tell_much(app, ANN)

        def is_free() -> bool:
            with following(door, reading(anns).headers) as again:
                again.wait(lambda one: one.statuses)
                return again.statuses[0] == 200

        assert until(is_free)
        app.end_streams()


@each(
    "id",
    [
        *("-1.0", "-1", "1", "1.", ".1", "1.0e9", "1.5.0", "+1.0", " 1.0", "1.0 ", "1_0.0", "0x1.0", "NaN", "Infinity"),
        *(
            "1.0\n",
            "\u0661.\u0660",
            "\uff11.\uff10",
            "1\u00b2.0",
            "\0",
            "9" * 400,
            "9" * 17 + ".0",
            "1." + "9" * 10,
            "1.0~x",
            "1.0~7",
            "1.0~01",
            "~1",
            "null",
        ),
    ],
)
def test_what_is_no_id_is_refused(door: UvicornDoor, key: Callable[[Owner], str], id: str) -> None:
    answer = door.ask(reading(key(ANN), f"?after={quote(id)}"))
    assert (answer.status, b"BAD_EVENT_ID" in answer.body) == (400, True)
    if "\n" not in id and "\0" not in id and id == id.strip():
        answer = door.ask(reading(key(ANN), **{"Last-Event-ID": id.encode().decode("latin-1")}))
        assert (answer.status, b"BAD_EVENT_ID" in answer.body) == (400, True)


@pytest.fixture
def told(app: App) -> None:
    """Some events of Bob, and one of Ann."""
    for number in range(3):
        app.events.tell(BOB, "server", {"server": f"rhubarb-{number}", "state": "up", "tools": 1})
        app.finish()
    app.events.tell(ANN, "server", {"server": "of-ann", "state": "up", "tools": 1})
    app.finish()


@pytest.mark.usefixtures("told")
@each("id", ["0.0", "000000000000.000000", "0.999999", "1.999999", "2.0", "999999999999.999999"])
def test_an_id_leads_to_nothing_of_somebody_else(app: App, key: Callable[[Owner], str], id: str) -> None:
    with lambda_doors(asgi(app)) as (rest, http):
        for one in (rest, http):
            answer = one.ask(reading(key(ANN), **{"Last-Event-ID": id}))
            assert (answer.status, b"rhubarb" in answer.body) == (200, False)
            # After an id of another log, what there is comes behind a word about it.
            assert (b"of-ann" in answer.body, b"event: missed" in answer.body) == (True, id[0] in "129")
