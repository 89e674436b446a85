"""The page of connections: whom a person has let in, and how they end one, through real consents."""

import html
import json
import re
from collections.abc import Generator
from contextlib import closing
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.scopes import SCOPES
from loci.core.settings import load_settings
from loci.mcp.auth.grants import AskedGrant, SignedInBy, grants_of
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, lambda_doors, uvicorn_door
from tests.attack.oauth.flow import FORM_TYPE, HERE, HOST, ISSUER, REDIRECT, Flow, error
from tests.attack.wire import Answer, Ask
from tests.support.forms import IN_FORM, form_token
from tests.support.moto_aws import BUCKET, SECRET, TABLE, moto_aws
from tests.surface.files.visitors import Visitor

PAGE = "/ui/connections"
ID = re.compile(r'action="connections\?id=(\w+)')
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


def page(flow: Flow, cookie: str, query: str = "") -> str:
    answer = flow.page(f"{PAGE}{query}", cookie)
    assert answer.status == 200, answer
    assert len(answer.body) <= 60_000
    return answer.body.decode()


def end(flow: Flow, cookie: str, id: str, token: str) -> Answer:
    body = urlencode({"form": token}).encode()
    return flow.door.ask(Ask(body, (*HERE, FORM_TYPE, ("Cookie", cookie)), target=f"{PAGE}?id={id}"))


@pytest.mark.parametrize("flow", ["embedded", "aws"], indirect=True)
def test_a_person_ends_a_connection_and_its_client_must_ask_again(flow: Flow, key: str) -> None:
    client, cookie, scope = flow.client(), flow.cookie(key), "documents:read"
    tokens = flow.exchange(client, flow.code(client, key, scope=scope)).message
    wish = flow.wish(client, scope=scope)
    assert flow.page(wish, cookie).status == 303  # not asked again
    shown = page(flow, cookie)
    for said in (
        "1 connection<",
        "<bdi>A client</bdi>",
        "<b>client.test</b>",
        SCOPES[scope],
        "It chose this name itself",
    ):
        assert said in shown, said
    assert SCOPES["files:read"] not in shown
    [id] = ID.findall(shown)
    for _ in range(2):  # sent twice, it says the same
        said = end(flow, cookie, id, form_token(shown, IN_FORM)).body.decode()
        assert "<bdi>A client</bdi> is no longer connected" in said
        assert ID.findall(said) == []
    assert flow.uses(tokens["access_token"]).status == 401
    assert error(flow.renew(client, tokens["refresh_token"])) == "invalid_grant"
    assert flow.page(wish, cookie).status == 200  # asked again
    later = flow.exchange(client, flow.code(client, key, scope=scope)).message
    assert flow.uses(later["access_token"]).status == 200
    assert ID.findall(page(flow, cookie)) not in ([], [id])


def test_each_of_two_connections_of_one_client_is_listed_and_ended_alone(flow: Flow, key: str) -> None:
    client, cookie = flow.client(), flow.cookie(key)
    given = [flow.tokens(client, key) for _ in range(2)]
    shown = page(flow, cookie)
    assert "2 connections, the newest first" in shown
    last = ID.findall(shown)[0]
    assert end(flow, cookie, last, form_token(shown, IN_FORM)).status == 200
    assert sorted(flow.uses(one["access_token"]).status for one in given) == [200, 401]
    assert len(ID.findall(page(flow, cookie))) == 1


def test_nobody_sees_or_ends_what_another_person_has_let_in(flow: Flow, key: str, other: str) -> None:
    token, cookie = flow.tokens(flow.client(), key)["access_token"], flow.cookie(other)
    [id] = ID.findall(page(flow, flow.cookie(key)))
    shown = page(flow, cookie)
    assert ID.findall(shown) == []
    refused = end(flow, cookie, id, form_token(shown))
    assert refused.status == 404
    assert "A client" not in refused.body.decode()
    assert end(flow, cookie, "none", form_token(shown)).status == 404
    assert flow.uses(token).status == 200


def test_only_the_form_of_the_page_ends_one(flow: Flow, key: str, other: str) -> None:
    token, cookie = flow.tokens(flow.client(), key)["access_token"], flow.cookie(key)
    shown = page(flow, cookie)
    [id], form = ID.findall(shown), form_token(shown, IN_FORM)
    strange = form_token(page(flow, flow.cookie(other)))
    for forged in ("", "x", strange, form_token(page(flow, flow.cookie(key)))):  # the last: of another sign-in
        assert end(flow, cookie, id, forged).status == 403
    body = urlencode({"form": form}).encode()
    for header in (("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.test")):
        sent = (("Host", HOST), FORM_TYPE, ("Cookie", cookie), header)
        assert flow.door.ask(Ask(body, sent, target=f"{PAGE}?id={id}")).status == 403
    assert end(flow, "", id, form).status == 401
    assert flow.page(f"{PAGE}?id={id}&form={form}", cookie).status == 200
    assert flow.page(PAGE, "").header("location") == "sign-in?to=connections"
    assert flow.uses(token).status == 200


def test_a_name_that_a_client_has_chosen_is_text(flow: Flow, key: str) -> None:
    told = flow.register(REDIRECT, client_name=HOSTILE)
    flow.tokens(json.loads(told.body)["client_id"], key)
    answer = flow.page(PAGE, flow.cookie(key))
    shown = answer.body.decode()
    assert "<script>alert" not in shown
    assert "\u202e" not in shown
    name = HOSTILE.removesuffix("\u202e")
    assert f"<bdi>{html.escape(name)}</bdi>" in shown
    assert f'aria-label="{html.escape(f"End it: {name}")}"' in shown
    policy = str(answer.header("content-security-policy"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "form-action 'self'" in policy


def test_of_many_a_page_shows_some_and_leads_to_the_others(flow: Flow, key: str, owner: Owner) -> None:
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
    cookie, seen, query = flow.cookie(key), list[str](), ""
    while True:
        shown = page(flow, cookie, query)
        assert f"{MANY} connections" in shown
        seen += ID.findall(shown)
        further = re.search(r'href="connections(\?from=\d+)">Older ones', shown)
        if not further:
            break
        query = further[1]
    assert len(seen) == len(set(seen)) == MANY
    assert 'href="connections">The newest' in shown


def test_it_works_without_a_program_and_says_how_to_connect(flow: Flow, key: str) -> None:
    shown = page(flow, flow.cookie(key))
    assert "needs JavaScript" not in shown
    assert f"<code>{ISSUER}/mcp</code>" in shown
    assert "<code>loci connect</code>" in shown


def test_a_key_in_the_address_stays_in_it(flow: Flow, key: str) -> None:
    token = flow.tokens(flow.client(), key)["access_token"]
    at = f"{PAGE}?apikey={key}"
    shown = flow.page(at, "").body.decode()
    found = re.search(r'action="(connections[^"]+)"', shown)
    assert found
    body = urlencode({"form": form_token(shown, IN_FORM)}).encode()
    assert flow.door.ask(Ask(body, (*HERE, FORM_TYPE), target=f"/ui/{html.unescape(found[1])}")).status == 200
    assert flow.uses(token).status == 401


def test_where_no_client_connects_by_consent_the_page_says_so(app: App, ann: Visitor) -> None:
    answer = ann.get(PAGE)
    assert answer.status == 200
    assert b"No client connects by consent here" in answer.body
    assert b"loci connect" not in answer.body


def test_where_clients_have_tokens_of_an_issuer_it_names_that(tmp_path: Path) -> None:
    told = {"data": tmp_path, "oidc_issuer": "https://id.example.com", "public_url": ISSUER, "log_level": "ERROR"}
    with closing(build_app(load_settings(told))) as app, uvicorn_door(asgi(app, on_loopback=True)) as door:
        key = app.api_keys.create(Owner("acme", "ann"), "ann")[1]
        shown = ask(door, key)
    assert b"from id.example.com" in shown.body


def ask(door: Door, key: str) -> Answer:
    return door.ask(Ask(b"", (("Host", HOST), ("Authorization", f"Bearer {key}")), "GET", PAGE))
