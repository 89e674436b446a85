"""API keys: who shows one is its owner, and nobody else is."""

import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from mcp_types import INTERNAL_ERROR

from loci.app import App
from loci.auth.api_keys import DAY, ApiKeys
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import Door, UvicornDoor, lambda_doors, uvicorn_door
from tests.attack.malformed import PING
from tests.attack.wire import Answer, Ask, call, initialize, legacy
from tests.support.api_events import Version
from tests.support.each import each
from tests.support.event_front import event_front
from tests.support.moto_aws import BUCKET, TABLE, moto_aws
from tests.support.serving import serving

FUNCTION = "functions/gateway/handler.py:lambda_handler"
SECRET = "what only one of them may read"
WAYS: dict[str, Callable[[Ask, str], Ask]] = {
    "Authorization": lambda ask, key: ask.having("Authorization", f"Bearer {key}"),
    "X-API-Key": lambda ask, key: ask.having("X-API-Key", key),
    "apikey": lambda ask, key: ask.at(f"/mcp?apikey={quote(key)}"),
}
DAMAGED: dict[str, Callable[[str], str]] = {
    "shorter": lambda key: key[:-1],
    "longer": lambda key: key + "A",
    "in capitals": lambda key: key.upper(),
    "in the other case": lambda key: key[:18] + key[18:].swapcase(),
    "with another secret": lambda key: key[:18] + "A" * 43,
    "with another id": lambda key: f"loci_{'0' * 12}{key[17:]}",
    "without its prefix": lambda key: key.removeprefix("loci_"),
    "only its id": lambda key: key[5:17],
    "twice": lambda key: f"{key} {key}",
    "in quotes": lambda key: f'"{key}"',
}


each_way = each("shown", [pytest.param(way, id=name) for name, way in WAYS.items()])
"""Each way to show a key."""


@contextmanager
def served(data: Path, *, on_loopback: bool = True, **settings: object) -> Generator[tuple[App, UvicornDoor]]:
    """Another deployment."""
    app = build_app(load_settings({"data": data, "log_level": "ERROR", **settings}))
    with uvicorn_door(asgi(app, on_loopback=on_loopback)) as door:
        yield app, door


def read(app: App, owner: Owner) -> Ask:
    """A request for what was just kept for the owner."""
    return legacy(call("scratchpad_read", {"id": app.scratchpad.keep(owner, "test", SECRET).id}))


def told(answer: Answer) -> str:
    """The text of a tool's answer."""
    return answer.message["result"]["content"][0]["text"]


@each_way
def test_each_way_of_showing_a_key_reaches_its_owner(
    door: Door, app: App, ann: str, shown: Callable[[Ask, str], Ask]
) -> None:
    assert told(door.ask(shown(read(app, ANN), ann))) == SECRET


@each_way
def test_an_owner_never_reads_what_is_anothers(
    door: Door, app: App, bob: str, shown: Callable[[Ask, str], Ask]
) -> None:
    assert door.ask(shown(read(app, ANN), bob)).tool_code == "SCRATCHPAD_NOT_FOUND"


def test_an_owner_never_sees_that_something_is_anothers(door: Door, app: App) -> None:
    app.scratchpad.keep(ANN, "test", SECRET)
    nobody = app.api_keys.create(Owner("acme", "nobody"), "nobody")[1]
    listing = door.ask(legacy(call("scratchpad_list", {}), nobody)).message["result"]["structuredContent"]
    assert listing["entries"] == []


def test_one_subject_in_two_tenants_is_two_owners(door: Door, app: App) -> None:
    namesake = app.api_keys.create(Owner("globex", "ann"), "namesake")[1]
    assert door.ask(WAYS["X-API-Key"](read(app, ANN), namesake)).tool_code == "SCRATCHPAD_NOT_FOUND"


def test_authorization_wins(door: Door, app: App, ann: str, bob: str) -> None:
    asked = WAYS["apikey"](WAYS["X-API-Key"](read(app, BOB), ann), ann)
    assert told(door.ask(WAYS["Authorization"](asked, bob))) == SECRET


@each("value", ["Bearer loci_wrong", "Bearer", "Basic eDp5", "Digest x", ""])
def test_a_bad_authorization_is_refused_though_another_key_is_good(door: Door, ann: str, value: str) -> None:
    asked = WAYS["apikey"](WAYS["X-API-Key"](legacy(PING), ann), ann)
    assert door.ask(asked.having("Authorization", value)).status == 401


def test_a_key_in_a_header_wins_over_one_in_the_query(door: Door, ann: str) -> None:
    assert door.ask(WAYS["apikey"](legacy(PING).having("X-API-Key", "loci_wrong"), ann)).status == 401


def test_two_keys_in_the_query_are_none(door: Door, ann: str) -> None:
    assert door.ask(legacy(PING).at(f"/mcp?apikey={ann}&apikey={ann}")).status == 401


def test_a_scheme_in_any_case_is_the_same(door: Door, ann: str) -> None:
    assert door.ask(legacy(PING).having("Authorization", f"bEARER {ann}")).status == 200


def test_without_a_key_nobody_is_let_in(door: Door) -> None:
    answer = door.ask(legacy(PING))
    assert (answer.status, answer.code) == (401, -32600)


@each_way
@each("damaged", DAMAGED)
def test_a_key_that_was_tampered_with_is_refused(
    door: Door, ann: str, shown: Callable[[Ask, str], Ask], damaged: str
) -> None:
    assert door.ask(shown(legacy(PING), DAMAGED[damaged](ann))).status == 401


@each_way
@each("text", ["loci_", "null", "undefined", "\xe9" * 60, "' OR ''='", "*"])
def test_what_is_no_key_is_refused(door: Door, shown: Callable[[Ask, str], Ask], text: str) -> None:
    assert door.ask(shown(legacy(PING), text)).status == 401


def test_a_refusal_says_which_credential_is_wanted(door: Door) -> None:
    assert door.ask(legacy(PING)).header("www-authenticate") == 'Bearer realm="loci"'


def test_a_refusal_says_that_the_credential_was_wrong(door: Door) -> None:
    answer = door.ask(legacy(PING, "loci_wrong"))
    assert answer.header("www-authenticate") == 'Bearer realm="loci", error="invalid_token"'


def test_a_revoked_key_is_refused_at_once(door: Door, app: App) -> None:
    key, text = app.api_keys.create(ANN, "lost")
    before = door.ask(legacy(PING, text)).status
    app.api_keys.revoke(key.id)
    assert (before, door.ask(legacy(PING, text)).status) == (200, 401)


def test_a_session_does_not_outlive_its_key(door: Door, app: App) -> None:
    key, text = app.api_keys.create(ANN, "lost")
    session = door.ask(legacy(initialize(), text)).header("mcp-session-id")
    app.api_keys.revoke(key.id)
    assert door.ask(legacy(PING, text).having("Mcp-Session-Id", session)).status == 401


def test_a_key_of_another_deployment_is_refused(door: Door, tmp_path: Path) -> None:
    foreign = build_app(load_settings({"data": tmp_path})).api_keys.create(ANN, "ann")[1]
    assert door.ask(legacy(PING, foreign)).status == 401


def test_a_session_of_another_deployment_is_unknown(door: Door, ann: str, tmp_path: Path) -> None:
    with served(tmp_path) as (app, other):
        key = app.api_keys.create(ANN, "ann")[1]
        session = other.ask(legacy(initialize(), key)).header("mcp-session-id")
    assert door.ask(legacy(PING, ann).having("Mcp-Session-Id", session)).status == 404


def test_on_the_loopback_nobody_needs_a_key(tmp_path: Path) -> None:
    with served(tmp_path) as (app, door):
        assert told(door.ask(read(app, LOCAL))) == SECRET


@each_way
def test_on_the_loopback_a_wrong_key_is_refused_all_the_same(
    at_home: UvicornDoor, shown: Callable[[Ask, str], Ask]
) -> None:
    assert at_home.ask(shown(legacy(PING), "loci_wrong")).status == 401


def test_on_the_loopback_a_key_reaches_its_owner(tmp_path: Path) -> None:
    with served(tmp_path) as (app, door):
        key = app.api_keys.create(ANN, "ann")[1]
        assert door.ask(WAYS["X-API-Key"](read(app, LOCAL), key)).tool_code == "SCRATCHPAD_NOT_FOUND"


@each(("auth", "on_loopback"), [("required", True), ("required", False), ("auto", False)])
def test_elsewhere_everybody_needs_a_key(tmp_path: Path, auth: str, on_loopback: bool) -> None:
    with served(tmp_path / f"{auth}, {on_loopback}", on_loopback=on_loopback, auth=auth) as (_, door):
        assert door.ask(legacy(PING)).status == 401


def test_behind_a_public_address_everybody_needs_a_key(tmp_path: Path) -> None:
    with served(tmp_path, public_url="https://loci.example.com") as (_, door):
        assert door.ask(legacy(PING)).status == 401


def test_a_public_address_on_this_machine_changes_nothing(tmp_path: Path) -> None:
    with served(tmp_path, public_url="http://localhost:8765") as (app, door):
        assert told(door.ask(read(app, LOCAL))) == SECRET


def test_a_function_is_never_open_by_itself(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path, "log_level": "ERROR"}))
    with lambda_doors(asgi(app)) as doors:
        assert [door.ask(legacy(PING)).status for door in doors] == [401, 401]


def test_nobody_is_let_in_while_the_keys_cannot_be_read(tmp_path: Path) -> None:
    with served(tmp_path, auth="required") as (app, door):
        key = app.api_keys.create(ANN, "ann")[1]
        for path in tmp_path.glob("loci.db*"):
            path.write_bytes(b"no database")
        answer = door.ask(legacy(PING, key))
    assert (answer.status, answer.code, answer.header("retry-after")) == (503, INTERNAL_ERROR, "60")


def test_an_expired_key_is_refused_by_its_day_and_opens_no_page_any_more(tmp_path: Path) -> None:
    with served(tmp_path) as (app, door):
        long_ago = ApiKeys(app.records, lambda: time.time() - 3 * DAY)
        key, text = long_ago.create(ANN, "old", days=2)
        lasting = long_ago.create(ANN, "lasting", days=4)[1]
        refused = door.ask(legacy(PING, text))
        guessed = door.ask(legacy(PING, text[:-1] + ("A" if text[-1] != "A" else "B")))
        assert door.ask(legacy(PING, lasting)).status == 200
    assert (refused.status, guessed.status, app.api_keys.by_id(key.id)) == (401, 401, None)
    assert f"This key expired at {key.expires}: make a new one" in refused.body.decode()
    assert b"expired" not in guessed.body  # only the holder of the key learns of it


@each("runtime", ["embedded", "aws"])
def test_a_key_with_a_cap_calls_no_more_tools_that_month_and_is_told_until_when(runtime: str, tmp_path: Path) -> None:
    on_aws: dict[str, object] = {"mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets": ("s" * 40,)}
    settings = {"data": tmp_path / runtime, "log_level": "ERROR", "auth": "required", "calls_per_month": 1}
    with moto_aws():
        app = build_app(load_settings({**settings, **(on_aws if runtime == "aws" else {})}))
        capped, text = app.api_keys.create(ANN, "capped", calls_per_month=3)
        other = app.api_keys.create(ANN, "of the setting")[1]
        ask = read(app, ANN)
        three = b"[" + b",".join([ask.body] * 3) + b"]"
        with lambda_doors(asgi(app)) as doors:
            first = [door.ask(legacy(ask.body, text)).status for door in doors]
            batch = doors[0].ask(replace(legacy(three, text), body=three))
            listed = doors[0].ask(legacy(PING, text)).status
            last, refused = (doors[0].ask(legacy(ask.body, text)) for _ in range(2))
            others = [doors[0].ask(legacy(ask.body, other)).status for _ in range(2)]
        made, month = app.api_keys.calls_made(capped.id), ApiKeys(app.records, lambda: time.time() + 32 * DAY)
        month.count_calls(capped.id, 3, 3)
        app.close()
    assert (first, batch.status, listed, last.status, refused.status, made) == ([200] * 2, 429, 200, 200, 429, 3)
    assert others == [200, 429]
    assert "CALLS_USED_UP: This key has 1 left of its 3 calls of tools a month. Wait until " in batch.body.decode()
    error = refused.message["error"]["message"]
    assert "This key has none left" in error
    assert "00:00 UTC, when its next month begins" in error
    assert 0 < int(refused.header("retry-after") or 0) <= 31 * DAY


def test_a_key_is_stored_only_as_its_hash(app: App, ann: str) -> None:
    stored = b"".join(path.read_bytes() for path in app.settings.data.rglob("*") if path.is_file())
    assert app.api_keys.list()[0].id.encode() in stored
    assert ann.split("_", 2)[2].encode() not in stored


def everything_with(key: str, door: Door) -> None:
    """Good and bad requests, each with the key somewhere in it."""
    for way in WAYS.values():
        for ask in (legacy(PING), legacy(b"{"), legacy(call("scratchpad_read", {"id": 5})), legacy(call("nope", {}))):
            door.ask(way(ask, key))
            door.ask(way(ask, key + "A"))
            door.ask(way(ask, key).by("GET"))
            door.ask(way(ask, key).having("Accept", "text/html"))
            door.ask(way(ask, key).having("Host", "evil.test"))
            door.ask(way(ask, key).having("Mcp-Session-Id", key))
            door.ask(way(ask, key).having("Content-Type", key))
    door.ask(legacy(PING).at(f"/mcp/{key}?apikey={key}"))
    door.ask(legacy(PING).at(f"/{key}?apikey={key}"))


def key_for(data: Path) -> str:
    """A key for a process with these data."""
    with closing(build_app(load_settings({"data": data, "log_level": "ERROR"}))) as app:
        return app.api_keys.create(LOCAL, "laptop")[1]


def test_a_real_server_prints_no_key(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = key_for(data)
    with serving(data, LOCI_AUTH="required", LOCI_LOG_LEVEL="DEBUG") as server:
        door = UvicornDoor(urlsplit(server.url).port or 0)
        everything_with(key, door)
        door.send(b"GET /mcp?apikey=" + key.encode() + b" HTTP/9\r\n\r\n")
        server.stop()
        assert server.process.stdout is not None
        printed = server.process.stdout.read() + (tmp_path / "stderr.txt").read_text("utf-8")
    assert '"message":"refused"' in printed
    assert key[18:] not in printed


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_real_function_logs_no_key(tmp_path: Path, capfd: pytest.CaptureFixture[str], version: Version) -> None:
    data = tmp_path / "data"
    key = key_for(data)
    environment = {"LOCI_DATA": str(data), "LOCI_AUTH": "required", "LOCI_LOG_LEVEL": "DEBUG"}
    with event_front(FUNCTION, environment, workers=1, version=version) as url:
        everything_with(key, UvicornDoor(urlsplit(url).port or 0))
    printed = "".join(capfd.readouterr())
    assert '"message":"refused"' in printed
    assert key[18:] not in printed
