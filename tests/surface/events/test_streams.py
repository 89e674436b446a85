"""The streams: who may read them, what they may ask for, and how they end."""

import http.client
import socket
from collections.abc import Callable
from urllib.parse import urlencode

import pytest

from loci.app import App
from loci.core.identity import Caller, Owner
from loci.core.storage_keys import EVENTS
from loci.core.stores import every
from loci.core.telemetry import Called
from loci.events import api as streams_module
from loci.events import route as stream_module
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, UvicornDoor, on_the_wire, uvicorn_door
from tests.attack.wire import Ask, Headers
from tests.support.each import each
from tests.support.event_follower import following
from tests.support.polling import until
from tests.support.with_parts import with_settings
from tests.surface.conftest import on_both
from tests.surface.events.conftest import ANN, BOB, HOST, Follow

Key = Callable[[Owner], Headers]


def call_of(owner: Owner, tool: str = "search", **arguments: object) -> Called:
    return Called(tool, Caller(owner, "key"), "mcp", 1.5, "ok", "", 10, 20, arguments=arguments)


def tell(app: App, owner: Owner, *names: str) -> None:
    for name in names:
        app.calls.ended(call_of(owner, name))
    app.finish()


def ask(door: Door, headers: Headers, query: str = "", path: str = "/events", method: str = "GET") -> tuple[int, str]:
    answer = door.ask(Ask(b"", headers, method, f"{path}{query}"))
    return answer.status, answer.body.decode()


def test_nobody_sees_the_events_of_somebody_else(app: App, follow: Follow) -> None:
    with follow(ANN) as ann, follow(BOB) as bob:
        ann.begun()
        bob.begun()
        tell(app, BOB, "bobs")
        tell(app, ANN, "anns")
        ann.wait(lambda one: one.of("call"))
        bob.wait(lambda one: one.of("call"))
        tell(app, ANN, "last")
        tell(app, BOB, "last")
        ann.wait(lambda one: len(one.seen) == 2)
        bob.wait(lambda one: len(one.seen) == 2)
    assert [told["tool"] for told in ann.of("call")] == ["anns", "last"]
    assert [told["tool"] for told in bob.of("call")] == ["bobs", "last"]


@on_both
def test_who_comes_back_goes_on_behind_the_last_event(app: App, follow: Follow) -> None:
    with follow(ANN) as first:
        first.begun()
        tell(app, ANN, "a", "b")
        first.wait(lambda one: len(one.seen) == 2)
    last = str(first.last_id)
    tell(app, ANN, "c", "d")
    with follow(ANN, last_id=last) as again, follow(ANN, f"?after={last}") as by_query:
        again.wait(lambda one: len(one.seen) >= 2)
        by_query.wait(lambda one: len(one.seen) >= 2)
    assert [told["tool"] for told in again.of("call")] == ["c", "d"]
    assert [told["tool"] for told in by_query.of("call")] == ["c", "d"]


def test_who_comes_late_may_ask_for_the_last_events(app: App, follow: Follow) -> None:
    with follow(ANN) as first:
        first.begun()  # from now on somebody follows
        tell(app, ANN, "a", "b", "c")
        first.wait(lambda one: len(one.seen) == 3)
    with follow(ANN, "?last=2") as late:
        late.wait(lambda one: len(one.seen) >= 2)
        tell(app, ANN, "d")
        late.wait(lambda one: len(one.seen) >= 3)
    assert [told["tool"] for told in late.of("call")] == ["b", "c", "d"]


def test_a_filter_leaves_out_other_kinds_and_still_remembers_how_far_it_is(
    app: App, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "BEAT_SECONDS", 0.1)
    with follow(ANN, "?kinds=server,ingestion") as follower:
        follower.begun()
        before = follower.last_id
        tell(app, ANN, "a")
        follower.wait(lambda one: one.last_id != before)
        assert follower.seen == []
        app.events.tell(ANN, "server", {"server": "s", "state": "up"})
        app.finish()
        follower.wait(lambda one: one.seen)
    assert [one.kind for one in follower.seen] == ["server"]


def test_an_id_of_a_log_that_is_gone_is_said_to_be_and_what_there_is_comes(app: App, follow: Follow) -> None:
    with follow(ANN) as first:
        first.begun()
        tell(app, ANN, "a")
        first.wait(lambda one: one.seen)
    with follow(ANN, last_id="987654.3") as follower:
        follower.wait(lambda one: one.of("call"))
    assert [one.kind for one in follower.seen[:2]] == ["missed", "call"]


@each(
    ("query", "said"),
    [
        ("?kinds=call,foo", "call, workflow, approval, ingestion, server"),
        ("?kinds=", "No kind of events is named"),
        ("?after=x", "is no id of an event"),
        ("?after=1.1%0A", "is no id of an event"),
        ("?last=-1", "is no number of events"),
        ("?last=1e9", "is no number of events"),
    ],
)
def test_a_request_that_cannot_be_is_refused_with_what_could(door: Door, key: Key, query: str, said: str) -> None:
    status, text = ask(door, key(ANN), query)
    assert (status, said in text) == (400, True), text


@each("method", ["POST", "PUT", "DELETE", "HEAD"])
def test_events_are_only_read(door: Door, key: Key, method: str) -> None:
    answer = door.ask(Ask(b"", key(ANN), method, "/events"))
    assert (answer.status, answer.header("allow")) == (405, "GET")


@each("path", ["/events", "/ui/events"])
def test_without_a_good_credential_nobody_is_let_in(door: Door, key: Key, path: str) -> None:
    key(ANN)
    for headers in ((HOST,), (HOST, ("Authorization", "Bearer loci_wrong")), (HOST, ("Cookie", "loci_visit=x"))):
        assert ask(door, headers, path=path)[0] == 401


def test_a_browser_that_signed_in_follows_by_its_cookie(app: App, door: Door, key: Key) -> None:
    shown = dict(key(ANN))["Authorization"].removeprefix("Bearer ")
    form = (HOST, ("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin"))
    signed = door.ask(Ask(urlencode({"key": shown}).encode(), form, "POST", "/ui/sign-in"))
    cookie = ("Cookie", str(signed.header("set-cookie")).partition(";")[0])
    with following(door, (HOST, cookie, ("Sec-Fetch-Site", "same-origin")), path="/ui/events") as follower:
        follower.begun()
        tell(app, ANN, "a")
        follower.wait(lambda one: one.of("call"))


def test_a_page_of_another_site_reads_nothing(door: Door, key: Key) -> None:
    foreign = (("Origin", "https://evil.test"), ("Sec-Fetch-Site", "cross-site"))
    status, text = ask(door, (*key(ANN), *foreign))
    assert (status, "event:" in text) == (403, False)


def test_only_a_page_of_an_allowed_origin_may_read(app: App, key: Key) -> None:
    origin = "http://localhost:5173"
    allowing = with_settings(app, allowed_origins=(origin,))
    for one, told in ((allowing, (204, "authorization", 400, origin)), (app, (403, None, 403, None))):
        page = (("Origin", origin), ("Sec-Fetch-Site", "same-site"))
        wanted = (*page, ("Access-Control-Request-Headers", "authorization"))
        with uvicorn_door(asgi(one)) as door:
            asked = door.ask(Ask(b"", (HOST, *wanted), "OPTIONS", "/events"))
            read = door.ask(Ask(b"", (*key(ANN), *page), "GET", "/events?kinds=foo"))
        cors = read.header("access-control-allow-origin")
        assert (asked.status, asked.header("access-control-allow-headers"), read.status, cors) == told


def test_a_name_cannot_begin_another_event(app: App, follow: Follow) -> None:
    name = "evil:x\r\n\r\nid: 999.9\r\nevent: approval\r\ndata: {}\u2028\n\nretry: 1"
    with follow(ANN) as follower:
        follower.begun()
        app.calls.ended(call_of(ANN, name, **{"a\n\ndata: {}": 1}))
        app.events.tell(ANN, "server", {"server": name, "state": "up"})
        tell(app, ANN, "last")
        follower.wait(lambda one: any(told["tool"] == "last" for told in one.of("call")))
    assert [one.kind for one in follower.seen] == ["call", "server", "call"]
    assert {line.partition(":")[0] for line in follower.raw if line} <= {"id", "event", "data", "retry"}
    assert "999.9" not in {one.id for one in follower.seen}


def test_a_stream_ends_when_its_key_is_revoked(app: App, door: Door, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "BEAT_SECONDS", 0.1)
    headers = key(ANN)
    with following(door, headers) as follower:
        follower.begun()
        for one in app.api_keys.list():
            app.api_keys.revoke(one.id)
        follower.wait(lambda one: 401 in one.statuses)


def test_a_stream_that_is_idle_gives_a_sign_of_life(door: Door, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "BEAT_SECONDS", 0.1)
    with following(door, key(ANN)) as follower:
        follower.wait(lambda one: one.raw.count(":") >= 2)
    assert follower.statuses == [200]


def test_an_owner_has_only_so_many_streams(app: App, door: Door, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MOST_OPEN", 1)
    with following(door, key(ANN)) as follower:
        follower.begun()
        status, text = ask(door, key(ANN))
        assert (status, "TOO_MANY_STREAMS" in text) == (429, True)
        with following(door, key(BOB)) as bob:
            bob.begun()

    def is_free() -> bool:
        with following(door, key(ANN)) as next_one:
            next_one.wait(lambda one: one.statuses)
            return next_one.statuses[0] == 200

    assert until(is_free)


def test_a_reader_who_does_not_read_keeps_nobody_waiting(app: App, door: Door, key: Key) -> None:
    assert isinstance(door, UvicornDoor)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", door.port))
        slow.sendall(on_the_wire(Ask(b"", key(ANN), "GET", "/events")))
        with following(door, key(ANN)) as quick:
            quick.begun()
            names = [f"{number}-{'x' * 100}" for number in range(3000)]
            for at in range(0, len(names), 500):
                tell(app, ANN, *names[at : at + 500])
            quick.wait(lambda one: len(one.of("call")) == len(names))
        assert [told["tool"] for told in quick.of("call")] == names
        # When it reads at last, it gets them, too.
        with http.client.HTTPResponse(slow, method="GET") as answer:
            answer.begin()
            found = 0
            while found < len(names):
                line = answer.readline()
                assert line
                found += line.startswith(b"data:")


def test_streams_end_when_the_server_stops(app: App, door: Door, key: Key) -> None:
    with following(door, key(ANN)) as follower:
        follower.begun()
        app.end_streams()
        follower.wait(lambda one: len(one.statuses) > 1)


@pytest.mark.parametrize("app", ["aws"], indirect=True)
def test_on_aws_calls_are_written_only_if_somebody_follows(app: App, follow: Follow) -> None:
    def kept(owner: Owner) -> list[object]:
        return [one.value["kind"] for one in every(app.records, owner, EVENTS)]

    tell(app, BOB, "unseen")
    assert kept(BOB) == []
    app.events.tell(BOB, "approval", {"state": "asked"})
    app.finish()
    assert kept(BOB) == ["approval"]
    with follow(ANN) as follower:
        follower.begun()
    tell(app, ANN, "kept")
    assert kept(ANN) == ["call"]


@pytest.mark.parametrize("app", ["aws"], indirect=True)
def test_on_aws_an_answer_never_waits_and_the_client_asks_later_while_nothing_happens(
    app: App, door: Door, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def waits(*_: object) -> None:
        raise AssertionError("a function waits for events")

    monkeypatch.setattr(streams_module.Waker, "wait", waits)
    headers, query = key(ANN), "?kinds=server"

    def pause_and_id(last: str | None) -> tuple[int, str, str]:
        status, text = ask(door, (*headers, *((("Last-Event-ID", last),) if last else ())), query)
        assert status == 200
        lines = text.split("\n")
        [pause] = [int(one.removeprefix("retry: ")) for one in lines if one.startswith("retry: ")]
        return pause, [one.removeprefix("id: ") for one in lines if one.startswith("id: ")][-1], text

    pauses, last = list[int](), None
    for _ in range(8):
        pause, last, _ = pause_and_id(last)
        pauses.append(pause)
    assert pauses == [4500, 6750, 10125, 15188, 22781, 30000, 30000, 30000]
    tell(app, ANN, "of another kind")
    assert pause_and_id(last)[0] == 30000
    app.events.tell(ANN, "server", {"server": "s", "state": "up"})
    app.finish()

    def reported() -> tuple[int, str] | None:
        pause, id, text = pause_and_id(last)
        return (pause, id) if "event: server" in text else None

    pause, last = until(reported)
    assert pause == 3000
    pause, _, text = pause_and_id(last)
    assert (pause, "event: server" in text) == (4500, False)
