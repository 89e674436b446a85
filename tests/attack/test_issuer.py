"""The issuer's keys: found, renewed, and done without where the issuer cannot be reached."""

import base64
import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from mcp_types import INTERNAL_ERROR

from loci.auth import gate, issuer
from loci.auth.issuer import BadToken
from loci.core.errors import Misconfigured, Unavailable
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN
from tests.attack.doors import PATIENCE, lambda_doors
from tests.attack.guarded import Tokens, accepting, tokens_of
from tests.attack.issuer import CUT_OFF, Issuer, issuing, new_ec_key, new_rsa_key, signed
from tests.attack.malformed import PING
from tests.attack.wire import legacy
from tests.contract.stores import Clock
from tests.support.each import each

DISCOVERY, KEYS = "/.well-known/openid-configuration", "/keys"
ELEVEN_MINUTES, HALF_A_MINUTE = 660, 31


@pytest.fixture
def own() -> Generator[Issuer, None, None]:
    """An issuer that the test may break."""
    with issuing() as one:
        yield one


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(own: Issuer, clock: Clock, tmp_path: Path) -> Tokens:
    return tokens_of(own, tmp_path, clock)


def test_a_new_key_is_picked_up(own: Issuer, tokens: Tokens, clock: Clock) -> None:
    tokens.caller_of(own.token(), "/mcp")
    own.keys["new"] = new_ec_key()
    clock.now += HALF_A_MINUTE
    assert tokens.caller_of(own.token("new"), "/mcp").owner == ANN


def test_a_key_that_was_withdrawn_is_dropped(own: Issuer, tokens: Tokens, clock: Clock) -> None:
    old = own.token()
    tokens.caller_of(old, "/mcp")
    own.keys = {"new": new_rsa_key()}
    clock.now += ELEVEN_MINUTES
    with pytest.raises(BadToken, match="its key is unknown"):
        tokens.caller_of(old, "/mcp")


def test_a_key_that_was_replaced_under_its_id_is_picked_up(own: Issuer, tokens: Tokens, clock: Clock) -> None:
    tokens.caller_of(own.token(), "/mcp")
    own.keys["rsa"] = new_rsa_key()
    clock.now += ELEVEN_MINUTES
    assert tokens.caller_of(own.token(), "/mcp").owner == ANN


def test_unknown_keys_do_not_make_the_issuer_be_asked_each_time(own: Issuer, tokens: Tokens) -> None:
    key = new_ec_key()
    for number in range(20):
        with pytest.raises(BadToken):
            tokens.caller_of(signed(own.claims(), key, {"kid": f"unknown-{number}"}), "/mcp")
    assert own.asked == [DISCOVERY, KEYS]


def test_a_known_key_does_not_wait_for_the_issuer(own: Issuer, tokens: Tokens, clock: Clock) -> None:
    tokens.caller_of(own.token(), "/mcp")
    clock.now += ELEVEN_MINUTES
    own.free.clear()
    with ThreadPoolExecutor(1) as elsewhere:
        asking = elsewhere.submit(tokens.caller_of, own.token(), "/mcp")
        assert own.reached.wait(PATIENCE)
        assert tokens.caller_of(own.token(), "/mcp").owner == ANN
        waited = not asking.done()
        own.free.set()
    assert waited


def made_up(own: Issuer, number: int) -> str:
    """A token that says it was signed with a key of this number."""
    return signed(own.claims(), own.keys["ec"], {"kid": f"made-up-{number}"})


def test_while_the_issuer_hangs_everybody_else_is_answered_at_once(
    own: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer, "COOLDOWN", -1)
    with accepting(own, tmp_path) as (app, door), ThreadPoolExecutor(100) as people:
        key = app.api_keys.create(ANN, "ann")[1]
        assert door.ask(legacy(PING, own.token())).status == 200
        own.free.clear()
        first = people.submit(door.ask, legacy(PING, made_up(own, 0)))
        assert own.reached.wait(PATIENCE)
        others = [people.submit(door.ask, legacy(PING, made_up(own, number))) for number in range(1, 81)]
        answers = [one.result(PATIENCE) for one in others]
        known = [door.ask(legacy(PING, shown)).status for shown in (key, own.token())]
        still_waits = not first.done()
        own.free.set()
    assert still_waits
    assert known == [200, 200]
    assert {(one.status, one.code) for one in answers} == {(503, INTERNAL_ERROR)}
    assert all(int(one.header("retry-after") or "0") > 0 for one in answers)
    assert own.asked == [DISCOVERY, KEYS] * 2
    assert first.result().status == 401


def test_while_the_issuer_hangs_a_function_answers(
    own: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer, "LONGEST_WAIT", 0.05)
    with accepting(own, tmp_path) as (app, _), lambda_doors(asgi(app)) as (door, _):
        key = app.api_keys.create(ANN, "ann")[1]
        own.free.clear()
        statuses = [door.ask(legacy(PING, shown)).status for shown in (own.token(), made_up(own, 1), key)]
        own.free.set()
    assert statuses == [503, 503, 200]


def test_a_known_key_that_is_old_stays_good_while_the_issuer_hangs(
    own: Issuer, tokens: Tokens, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens.caller_of(own.token(), "/mcp")
    monkeypatch.setattr(issuer, "LONGEST_WAIT", 0.05)
    clock.now += ELEVEN_MINUTES
    own.free.clear()
    assert tokens.caller_of(own.token(), "/mcp").owner == ANN
    own.free.set()


def test_a_clock_that_is_set_back_makes_no_withdrawn_key_good(
    own: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(gate, "time", SimpleNamespace(monotonic=clock, time=lambda: -clock()))
    with accepting(own, tmp_path) as (_, door):
        old = own.token()
        assert door.ask(legacy(PING, old)).status == 200
        own.keys = {"new": new_rsa_key()}
        clock.now += ELEVEN_MINUTES
        assert door.ask(legacy(PING, old)).status == 401


def test_a_symmetric_key_among_the_issuers_is_of_no_use(own: Issuer, tokens: Tokens) -> None:
    secret = "s" * 64
    encoded = base64.urlsafe_b64encode(secret.encode()).rstrip(b"=").decode()
    own.pages[KEYS] = json.dumps({"keys": [{"kty": "oct", "kid": "mac", "k": encoded}]}).encode()
    with pytest.raises(BadToken, match="its algorithm is not accepted"):
        tokens.caller_of(signed(own.claims(), secret, {"kid": "mac"}, "HS256"), "/mcp")


NONSENSE: dict[str, tuple[str, object]] = {
    "a page for people": (DISCOVERY, b"<html>"),
    "a list": (DISCOVERY, []),
    "nothing that it knows": (DISCOVERY, {}),
    "another issuer": (DISCOVERY, {"issuer": "https://evil.test", "jwks_uri": "https://evil.test/keys"}),
    "brackets without an end": (DISCOVERY, b"[" * 100_000),
    "a page for people as keys": (KEYS, b"<html>"),
    "keys in a list": (KEYS, []),
    "no keys": (KEYS, {"keys": []}),
    "keys in an object": (KEYS, {"keys": {"kty": "RSA"}}),
    "keys of no kind": (KEYS, {"keys": [{"kid": "rsa"}, 5, None]}),
    "keys that are cut off": (KEYS, CUT_OFF),
}


@each("name", NONSENSE)
def test_an_issuer_that_answers_nonsense_cannot_be_asked_now(
    own: Issuer, clock: Clock, tmp_path: Path, name: str
) -> None:
    tokens = tokens_of(own, tmp_path, clock)
    path, page = NONSENSE[name]
    own.pages = {path: page if isinstance(page, bytes) else json.dumps(page).encode()}
    with pytest.raises(Unavailable):
        tokens.caller_of(own.token(), "/mcp")


@each("name", NONSENSE)
def test_known_keys_stay_good_while_the_issuer_answers_nonsense(
    own: Issuer, clock: Clock, tmp_path: Path, name: str
) -> None:
    own.pages = {}
    tokens = tokens_of(own, tmp_path, clock)
    tokens.caller_of(own.token(), "/mcp")
    path, page = NONSENSE[name]
    own.pages = {path: page if isinstance(page, bytes) else json.dumps(page).encode()}
    own.asked.clear()
    clock.now += ELEVEN_MINUTES
    assert tokens.caller_of(own.token(), "/mcp").owner == ANN
    assert path in own.asked


@each("address", ["http://192.0.2.1/keys", "file:///etc/passwd", "ftp://127.0.0.1/keys", "/keys", ""])
def test_keys_are_fetched_from_safe_addresses_only(own: Issuer, clock: Clock, tmp_path: Path, address: str) -> None:
    tokens = tokens_of(own, tmp_path, clock)
    own.pages[DISCOVERY] = json.dumps({"issuer": own.url, "jwks_uri": address}).encode()
    with pytest.raises(Unavailable):
        tokens.caller_of(own.token(), "/mcp")


@pytest.fixture
def gone() -> Issuer:
    """An issuer that cannot be reached."""
    with issuing() as one:
        return one


def test_without_its_issuer_a_token_is_asked_to_come_again(gone: Issuer, tmp_path: Path) -> None:
    with accepting(gone, tmp_path) as (_, door):
        answer = door.ask(legacy(PING, gone.token()))
    assert (answer.status, answer.code, answer.header("retry-after")) == (503, INTERNAL_ERROR, "60")


def test_without_its_issuer_a_key_works(gone: Issuer, tmp_path: Path) -> None:
    with accepting(gone, tmp_path) as (app, door):
        assert door.ask(legacy(PING, app.api_keys.create(ANN, "ann")[1])).status == 200


def test_without_any_audience_no_token_is_accepted(own: Issuer, clock: Clock, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="audience"):
        tokens_of(own, tmp_path, clock, public_url=None)
