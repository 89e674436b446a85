"""Connections on the page of settings: whom a person has let in, and how they end one, through real consents."""

import json
from collections.abc import Generator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.auth.grants import AskedGrant, SignedInBy, grants_of
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.scopes import SCOPES
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import lambda_doors, uvicorn_door
from tests.attack.oauth.flow import HERE, HOST, ISSUER, REDIRECT, Flow, error
from tests.attack.wire import Answer, Ask
from tests.support.forms import form_token
from tests.support.moto_aws import BUCKET, SECRET, TABLE, moto_aws
from tests.surface.files.visitors import Visitor

PAGE = "/ui/settings"
NUMBERS = count()
MANY = 20
HOSTILE = "</h2><script>alert(1)</script>\"' onfocus=alert(1) {{form}}\u202e"


@pytest.fixture(scope="module", params=["embedded"])
def flow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Flow]:
    told = {"public_url": ISSUER, "oauth": "built-in", "log_level": "ERROR"}
    if request.param == "embedded":
        folder = tmp_path_factory.mktemp("connections")
        app = build_app(load_settings({**told, "data": folder, "models": folder / "models"}))
        with closing(app), uvicorn_door(asgi(app, on_loopback=True)) as door:
            yield Flow(app, door)
        return
    with moto_aws():
        app = build_app(
            load_settings({**told, "mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET})
        )
        with lambda_doors(asgi(app)) as (rest, _):
            yield Flow(app, rest)


@pytest.fixture
def owner() -> Owner:
    """Somebody who has let nobody in."""
    return Owner("acme", f"ann-{next(NUMBERS)}")


@pytest.fixture
def key(flow: Flow, owner: Owner) -> str:
    return flow.app.api_keys.create(owner, "laptop")[1]


@pytest.fixture
def other(flow: Flow) -> str:
    """Somebody else's key."""
    return flow.app.api_keys.create(Owner("acme", f"bob-{next(NUMBERS)}"), "bob")[1]


def page(flow: Flow, cookie: str) -> str:
    answer = flow.page(PAGE, cookie)
    assert answer.status == 200, answer
    assert len(answer.body) <= 60_000
    return answer.body.decode()


def rows(flow: Flow, cookie: str) -> list[dict[str, Any]]:
    answer = flow.page(f"{PAGE}/connections", cookie)
    assert answer.status == 200, answer
    return json.loads(answer.body)["rows"]


def end(flow: Flow, cookie: str, id: str, token: str, *more: tuple[str, str]) -> Answer:
    sent = (*(more or HERE), ("Cookie", cookie), ("X-Loci-Form", token))
    return flow.door.ask(Ask(b"{}", sent, target=f"{PAGE}/connections/{id}/end"))


@pytest.mark.parametrize("flow", ["embedded", "aws"], indirect=True)
def test_a_person_ends_a_connection_and_its_client_must_ask_again(flow: Flow, key: str) -> None:
    client, cookie, scope = flow.client(), flow.cookie(key), "documents:read"
    tokens = flow.exchange(client, flow.code(client, key, scope=scope)).message
    [shown] = rows(flow, cookie)
    told = (shown["name"], shown["home"], shown["place"], shown["may"])
    assert told == ("A client", None, "client.test", [SCOPES[scope]])
    form = form_token(page(flow, cookie))
    assert json.loads(end(flow, cookie, shown["id"], form).body) == {"ended": shown["id"]}
    assert end(flow, cookie, shown["id"], form).status == 404  # sent twice
    assert rows(flow, cookie) == []
    assert flow.uses(tokens["access_token"]).status == 401
    assert error(flow.renew(client, tokens["refresh_token"])) == "invalid_grant"
    later = flow.exchange(client, flow.code(client, key, scope=scope)).message
    assert flow.uses(later["access_token"]).status == 200
    [again] = rows(flow, cookie)
    assert again["id"] != shown["id"]


def test_each_of_two_connections_of_one_client_is_listed_and_ended_alone(flow: Flow, key: str) -> None:
    client, cookie = flow.client(), flow.cookie(key)
    given = [flow.tokens(client, key) for _ in range(2)]
    last, _ = rows(flow, cookie)
    assert end(flow, cookie, last["id"], form_token(page(flow, cookie))).status == 200
    assert sorted(flow.uses(one["access_token"]).status for one in given) == [200, 401]
    assert len(rows(flow, cookie)) == 1


def test_nobody_sees_or_ends_what_another_person_has_let_in(flow: Flow, key: str, other: str) -> None:
    token, cookie = flow.tokens(flow.client(), key)["access_token"], flow.cookie(other)
    [shown] = rows(flow, flow.cookie(key))
    assert rows(flow, cookie) == []
    form = form_token(page(flow, cookie))
    refused = end(flow, cookie, shown["id"], form)
    assert refused.status == 404
    assert "A client" not in refused.body.decode()
    assert end(flow, cookie, "none", form).status == 404
    assert flow.uses(token).status == 200


def test_only_the_page_ends_one(flow: Flow, key: str, other: str) -> None:
    token, cookie = flow.tokens(flow.client(), key)["access_token"], flow.cookie(key)
    [shown], form = rows(flow, cookie), form_token(page(flow, cookie))
    strange = form_token(page(flow, flow.cookie(other)))
    for forged in ("", "x", strange, form_token(page(flow, flow.cookie(key)))):  # the last: of another sign-in
        assert end(flow, cookie, shown["id"], forged).status == 403
    for header in (("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.test")):
        assert end(flow, cookie, shown["id"], form, ("Host", HOST), header).status == 403
    assert end(flow, "", shown["id"], form).status == 401
    assert flow.page(PAGE, "").header("location") == "sign-in?to=settings"
    assert flow.uses(token).status == 200


def test_a_name_that_a_client_has_chosen_is_text(flow: Flow, key: str) -> None:
    told = flow.register(REDIRECT, client_name=HOSTILE)
    cookie = flow.cookie(key)
    flow.tokens(json.loads(told.body)["client_id"], key)
    shown = page(flow, cookie)
    assert "<script>alert" not in shown
    assert "\u202e" not in shown
    assert rows(flow, cookie)[0]["name"] == HOSTILE.removesuffix("\u202e")


def test_of_many_a_page_shows_some_and_asks_for_the_others(flow: Flow, key: str, owner: Owner) -> None:
    grants, by = grants_of(flow.app), SignedInBy(flow.app.api_keys.id_in(key))
    far = f"https://{'a' * 900}.test/callback"
    for number in range(MANY):
        asked = AskedGrant(
            client=f"client-{number}",
            redirect=far,
            named_redirect=True,
            challenge="c" * 43,
            scopes=tuple(SCOPES),
            resource=f"{ISSUER}/mcp",
        )
        grants.exchange(grants.allow(asked, "<'" * 50, owner, by), asked.client)
    cookie = flow.cookie(key)
    assert f'"total":{MANY}' in page(flow, cookie)
    assert len({one["id"] for one in rows(flow, cookie)}) == MANY


def test_it_says_how_to_connect(flow: Flow, key: str) -> None:
    shown = page(flow, flow.cookie(key))
    assert f"{ISSUER}/mcp" in shown
    assert "loci connect" in shown


def test_where_no_client_connects_by_consent_the_page_says_so(app: App, ann: Visitor) -> None:
    answer = ann.get(PAGE)
    assert answer.status == 200
    assert b"No client connects by consent here" in answer.body
    assert b"loci connect" not in answer.body


def test_where_clients_have_tokens_of_an_issuer_it_names_that(tmp_path: Path) -> None:
    told = {"data": tmp_path, "oidc_issuer": "https://id.example.com", "public_url": ISSUER, "log_level": "ERROR"}
    with closing(build_app(load_settings(told))) as app, uvicorn_door(asgi(app, on_loopback=True)) as door:
        key = app.api_keys.create(Owner("acme", "ann"), "ann")[1]
        shown = door.ask(Ask(b"", (("Host", HOST), ("Authorization", f"Bearer {key}")), "GET", PAGE))
    assert b"from id.example.com" in shown.body
