"""Access tokens of an OpenID Connect issuer: what lets a caller in, and everything that does not."""

import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loci.app import App
from loci.auth.issuer import AccessTokens, BadToken
from loci.core.identity import Caller, Owner
from loci.core.settings import load_settings
from loci.mcp.http.address import METADATA
from loci.mcp.http.application import asgi
from tests.attack.bad_tokens import BAD
from tests.attack.conftest import ANN
from tests.attack.doors import UvicornDoor, lambda_doors
from tests.attack.guarded import Served, Tokens, accepting, tokens_of
from tests.attack.issuer import PUBLIC, SCOPES, Issuer
from tests.attack.malformed import PING
from tests.attack.wire import Answer, Ask, call, legacy
from tests.support.each import each

SECRET = "what only one of them may read"


@pytest.fixture(scope="module")
def served(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    with accepting(issuer, tmp_path_factory.mktemp("guarded")) as both:
        yield both


@pytest.fixture(scope="module")
def door(served: Served) -> UvicornDoor:
    return served[1]


@pytest.fixture(scope="module")
def tokens(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    """What recognises tokens, by itself."""
    return tokens_of(issuer, tmp_path_factory.mktemp("tokens"), time.time)


def read(app: App, owner: Owner, token: str) -> Ask:
    """A request, by the token's bearer, for what was just kept for the owner."""
    return legacy(call("scratchpad_read", {"id": app.scratchpad.keep(owner, "test", SECRET).id}), token)


def challenge(answer: Answer) -> str:
    return answer.header("www-authenticate") or ""


@each("kid", ["rsa", "ec"])
def test_a_token_reaches_the_owner_that_it_names(issuer: Issuer, served: Served, kid: str) -> None:
    app, door = served
    answer = door.ask(read(app, ANN, issuer.token(kid)))
    assert answer.message["result"]["structuredContent"]["result"] == SECRET


def test_one_subject_in_two_tenants_is_two_owners(issuer: Issuer, served: Served) -> None:
    app, door = served
    assert door.ask(read(app, ANN, issuer.token(tenant="globex"))).tool_code == "SCRATCHPAD_NOT_FOUND"


def test_without_a_claim_for_it_the_issuer_is_the_tenant(issuer: Issuer, tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path, "oidc_issuer": issuer.url, "public_url": PUBLIC})
    plain = Tokens(AccessTokens(settings, time.monotonic))
    assert plain.caller_of(issuer.token(), "/mcp") == Caller(
        Owner(issuer.url, "ann"), "token", frozenset(SCOPES.split())
    )


def test_a_key_works_beside_tokens(served: Served) -> None:
    app, door = served
    assert door.ask(read(app, ANN, app.api_keys.create(ANN, "ann")[1])).tool_code is None


def test_beside_tokens_nobody_is_let_in_without_a_credential(door: UvicornDoor) -> None:
    answer = door.ask(legacy(PING))
    assert (answer.status, answer.code) == (401, -32600)
    assert challenge(answer) == (f'Bearer realm="loci", resource_metadata="{PUBLIC}{METADATA}/mcp", scope="{SCOPES}"')


@each("name", BAD)
def test_a_bad_token_is_refused(issuer: Issuer, door: UvicornDoor, name: str) -> None:
    answer = door.ask(legacy(PING, BAD[name](issuer)))
    assert (answer.status, answer.code) == (401, -32600)
    assert f'error="invalid_token", resource_metadata="{PUBLIC}{METADATA}/mcp"' in challenge(answer)


def test_a_token_of_a_megabyte_is_refused(issuer: Issuer, served: Served) -> None:
    with lambda_doors(asgi(served[0])) as doors:
        asked = legacy(PING, issuer.token(padding="x" * 750_000))
        assert [door.ask(asked).status for door in doors] == [401, 401]


def test_clocks_may_differ_by_half_a_minute(issuer: Issuer, door: UvicornDoor) -> None:
    now = int(time.time())
    assert door.ask(legacy(PING, issuer.token(exp=now - 30, iat=now - 600))).status == 200
    assert door.ask(legacy(PING, issuer.token(nbf=now + 30, iat=now + 30))).status == 200


@each("asked", [legacy(PING).at("/mcp?apikey={}"), legacy(PING).having("X-API-Key", "{}")])
def test_a_token_is_taken_from_authorization_only(issuer: Issuer, door: UvicornDoor, asked: Ask) -> None:
    token = issuer.token()
    shown = asked.at(asked.target.format(token))
    key = dict(shown.headers).get("X-API-Key")
    assert door.ask(shown.having("X-API-Key", key and token)).status == 401


@each("scope", [..., "", "loci.read", "loci.write loci.readonly", "LOCI.READ LOCI.WRITE", 5, {}])
def test_a_token_without_a_scope_is_told_all_that_are_needed(issuer: Issuer, door: UvicornDoor, scope: object) -> None:
    answer = door.ask(legacy(PING, issuer.token(scope=scope)))
    assert (answer.status, answer.code) == (403, -32600)
    assert challenge(answer) == (
        f'Bearer realm="loci", error="insufficient_scope", resource_metadata="{PUBLIC}{METADATA}/mcp", scope="{SCOPES}"'
    )


def test_scopes_may_come_as_a_list(issuer: Issuer, door: UvicornDoor) -> None:
    assert door.ask(legacy(PING, issuer.token(scope=..., scp=SCOPES.split()))).status == 200


@each("audience", [f"{PUBLIC}/mcp", f"{PUBLIC}/mcp/documents", ["x", f"{PUBLIC}/mcp/documents"]])
def test_a_part_takes_tokens_for_itself_and_for_the_whole(issuer: Issuer, door: UvicornDoor, audience: object) -> None:
    assert door.ask(legacy(PING, issuer.token(aud=audience)).at("/mcp/documents")).status == 200


def test_an_audience_that_is_set_is_the_only_one(issuer: Issuer, tmp_path: Path) -> None:
    with accepting(issuer, tmp_path, oidc_audience="loci") as (_, door):
        asked = [legacy(PING, issuer.token(aud=audience)) for audience in ("loci", f"{PUBLIC}/mcp")]
        assert [door.ask(each).status for each in asked] == [200, 401]


@each(
    ("path", "resource"),
    [("", "/mcp"), ("/mcp", "/mcp"), ("/mcp/documents", "/mcp/documents"), ("/mcp/tools", "/mcp/tools")],
)
def test_the_metadata_of_an_endpoint_leads_to_the_issuer(
    issuer: Issuer, door: UvicornDoor, path: str, resource: str
) -> None:
    answer = door.ask(Ask(method="GET", target=METADATA + path, headers=(("Host", "127.0.0.1"),)))
    assert (answer.status, answer.message) == (
        200,
        {
            "resource": PUBLIC + resource,
            "authorization_servers": [issuer.url],
            "scopes_supported": SCOPES.split(),
            "bearer_methods_supported": ["header"],
            "resource_name": "Loci",
        },
    )


def test_a_challenge_leads_to_the_metadata_of_its_endpoint(door: UvicornDoor) -> None:
    answer = door.ask(legacy(PING).at("/mcp/documents"))
    assert f'resource_metadata="{PUBLIC}{METADATA}/mcp/documents"' in challenge(answer)


@each("path", ["/mcp/nope", "/", "/healthz"])
def test_what_is_no_endpoint_has_no_metadata(door: UvicornDoor, path: str) -> None:
    assert door.ask(Ask(method="GET", target=METADATA + path, headers=(("Host", "127.0.0.1"),))).status == 404


@each("path", ["", "/mcp", "/mcp/documents"])
def test_without_an_issuer_there_is_no_metadata(at_home: UvicornDoor, path: str) -> None:
    assert at_home.ask(Ask(method="GET", target=METADATA + path, headers=(("Host", "127.0.0.1"),))).status == 404


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_no_change_of_a_token_breaks_the_server(issuer: Issuer, tokens: Tokens, data: st.DataObject) -> None:
    token = issuer.token()
    at, length = data.draw(st.integers(0, len(token))), data.draw(st.integers(0, 3))
    changed = token[:at] + data.draw(st.text(max_size=3)) + token[at + length :]
    try:
        assert (tokens.caller_of(changed, "/mcp").owner, changed) == (ANN, token)
    except BadToken:
        assert changed != token


def test_a_public_address_below_a_path_is_named_whole(issuer: Issuer, tmp_path: Path) -> None:
    base = f"{PUBLIC}/prod"
    with accepting(issuer, tmp_path, public_url=base) as (_, door):
        answer = door.ask(legacy(PING, issuer.token(aud=f"{base}/mcp")))
        refused = door.ask(legacy(PING, issuer.token(aud=f"{PUBLIC}/mcp")))
    assert (answer.status, refused.status) == (200, 401)
    assert f'resource_metadata="{base}{METADATA}/mcp"' in challenge(refused)
