"""What publishes how a tool server is protected, and what gives out its tokens: when they lie, break or hang."""

import asyncio
import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from loci.adapters.tool_servers import small_requests
from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
from loci.gateway.configuration import OAuthEntry
from loci.gateway.ports import Access, Consent, LoginFailed, LoginRequest
from loci.gateway.tool_server import Endpoint
from tests.support.authorization_server import METADATA, RESOURCE, Answer, Protected, protected
from tests.support.each import each
from tests.surface.tools.logins import CONSENT, REDIRECT, allow

SERVERS = HttpAuthorizationServers(only_public=False)


@pytest.fixture
def server() -> Iterator[Protected]:
    with protected() as made:
        yield made


def wanted(server: Protected, issuer: str | None = None) -> LoginRequest:
    return LoginRequest("far", server.url, Endpoint(server.url), OAuthEntry(issuer=issuer))


def log_in(server: Protected, scope: str | None = None, consent: Consent = CONSENT) -> Access:
    return SERVERS.log_in(wanted(server), None, scope, consent)


def address(server: Protected, scope: str | None = None) -> dict[str, str]:
    """The fields of the address that the person is led to."""
    seen: list[str] = []

    def ask(url: str, issuer: str) -> Mapping[str, str]:
        assert issuer == server.issuer
        seen.append(url)
        return allow(url)

    log_in(server, scope, Consent(REDIRECT, ask))
    return {name: value for name, [value] in parse_qs(urlsplit(seen[0]).query).items()}


def always(status: int, body: object = "", headers: dict[str, str] | None = None) -> Answer:
    async def answer(_: Request) -> Response:
        if isinstance(body, str | bytes):
            return Response(body, status, headers)
        return JSONResponse(body, status, headers)

    return answer


def test_the_person_is_led_to_what_the_server_publishes(server: Protected) -> None:
    server.wrong[METADATA] = {"authorization_endpoint": f"{server.issuer}/authorize?kind=1"}
    fields = address(server)
    [form] = server.forms
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert fields.pop("state")
    assert fields.pop("client_id") in server.tokens.clients
    assert fields == {
        "kind": "1",
        "response_type": "code",
        "redirect_uri": REDIRECT,
        "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
        "code_challenge_method": "S256",
        "resource": server.url,
        "scope": "read",
    }
    assert (form["resource"], form["redirect_uri"]) == (server.url, REDIRECT)


def test_rights_that_are_asked_for_take_the_place_of_what_the_server_wants(server: Protected) -> None:
    assert address(server, "write")["scope"] == "write"
    server.instead["/mcp"] = always(401, "", {"WWW-Authenticate": 'Bearer scope="other"'})
    assert address(server, "write")["scope"] == "write"


def test_a_refresh_token_is_a_right_of_its_own_where_that_is_published(server: Protected) -> None:
    asked: list[str] = []

    async def register(request: Request) -> Response:
        asked.append((await request.json())["scope"])
        return Response("no", 400)

    server.wrong[METADATA] = {"scopes_supported": ["read", "offline_access"]}
    server.instead["/register"] = register
    with pytest.raises(LoginFailed, match="does not register Loci"):
        log_in(server)
    assert asked == ["read offline_access"]


def test_no_two_logins_have_the_same_secrets(server: Protected) -> None:
    one, other = address(server), address(server)
    assert one["state"] != other["state"]
    assert one["code_challenge"] != other["code_challenge"]


def test_without_metadata_of_the_server_that_of_its_own_origin_counts(server: Protected) -> None:
    server.instead[RESOURCE] = always(404)
    origin = server.url.removesuffix("/mcp")
    server.wrong[METADATA] = {"issuer": origin}
    server.tokens.iss = origin
    assert log_in(server).server["issuer"] == origin


def test_a_server_that_lets_everybody_connect_is_logged_in_at(server: Protected) -> None:
    server.instead["/mcp"] = always(200, {})
    assert log_in(server).token in server.tokens.access


@each(
    ("path", "wrong", "said"),
    [
        (RESOURCE, {"resource": "https://other.example/mcp"}, "does not match expected"),
        (RESOURCE, {"authorization_servers": ["http://auth.example"]}, "not reached by https"),
        (METADATA, {"issuer": "https://other.example"}, "issuer mismatch"),
        (METADATA, {"token_endpoint": "http://auth.example/token"}, "not reached by https"),
        (METADATA, {"registration_endpoint": "http://169.254.169.254/latest"}, "not reached by https"),
        (METADATA, {"authorization_endpoint": "http://auth.example/authorize"}, "an address that is not safe"),
        (METADATA, {"authorization_endpoint": "https://auth.example/$(reboot)"}, "an address that is not safe"),
        (METADATA, {"authorization_endpoint": "https://me:secret@auth.example/"}, "an address that is not safe"),
        (METADATA, {"code_challenge_methods_supported": ["plain"]}, "does not say that it knows PKCE"),
        (METADATA, {"authorization_endpoint": "javascript:alert(1)"}, "publishes no metadata"),
        (METADATA, {"authorization_endpoint": "file:///etc/passwd"}, "publishes no metadata"),
        (METADATA, {"token_endpoint": None}, "publishes no metadata"),
    ],
)
def test_metadata_that_cannot_be_trusted_is_refused(
    server: Protected, path: str, wrong: dict[str, object], said: str
) -> None:
    server.wrong = {METADATA: {}, RESOURCE: {}} | {path: wrong}
    with pytest.raises(LoginFailed, match=said):
        log_in(server)
    assert server.forms == []


def test_a_token_is_revoked_nowhere_where_it_could_be_read(server: Protected) -> None:
    access = log_in(server)
    unsafe = replace(access, server={**access.server, "revocation_endpoint": "http://169.254.169.254/latest"})
    with pytest.raises(LoginFailed, match="not reached by https"):
        SERVERS.revoke(unsafe)
    assert not SERVERS.revoke(replace(access, server={**access.server, "revocation_endpoint": None}))
    assert SERVERS.revoke(access)
    assert server.tokens.access == {}


def test_control_characters_in_metadata_reach_no_terminal(server: Protected) -> None:
    server.wrong[METADATA] = {"issuer": "https://a.example/\x1b[31m\u202e"}
    with pytest.raises(LoginFailed) as caught:
        log_in(server)
    assert str(caught.value).isprintable()


def test_no_redirect_is_followed(server: Protected) -> None:
    with protected() as other:
        server.instead[RESOURCE] = always(302, "", {"Location": other.url.replace("/mcp", RESOURCE)})
        server.instead[METADATA] = always(302, "", {"Location": other.issuer + METADATA})
        with pytest.raises(LoginFailed, match="publishes no metadata"):
            log_in(server)
        server.instead["/token"] = always(307, "", {"Location": f"{other.issuer}/token"})
        del server.instead[METADATA], server.instead[RESOURCE]
        with pytest.raises(LoginFailed, match="it answered 307"):
            log_in(server)
        assert other.asked == []


def test_a_server_that_asks_for_no_login_says_so(server: Protected) -> None:
    server.instead |= {"/mcp": always(200, {}), RESOURCE: always(404), METADATA: always(404)}
    with pytest.raises(LoginFailed, match="publishes no metadata for logins: without a login it answered 200"):
        log_in(server)


def test_an_error_says_nothing_about_how_a_server_is_protected(server: Protected) -> None:
    server.instead[RESOURCE] = always(503)
    with pytest.raises(LoginFailed, match="HTTP 503"):
        log_in(server)


def test_a_huge_answer_is_not_read_to_its_end(server: Protected) -> None:
    server.instead[METADATA] = always(200, b"x" * 5_000_000)
    with pytest.raises(LoginFailed, match="more than 512 KB"):
        log_in(server)


def test_a_server_that_hangs_is_left(server: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: Request) -> Response:
        await asyncio.sleep(5)
        return Response("")

    monkeypatch.setattr(small_requests, "SECONDS", 0.3)
    server.instead[METADATA] = hang
    with pytest.raises(LoginFailed, match="did not answer"):
        log_in(server)


def test_on_aws_only_public_addresses_are_asked(server: Protected) -> None:
    with pytest.raises(LoginFailed, match="only https is allowed here"):
        HttpAuthorizationServers(only_public=True).log_in(wanted(server), None, None, CONSENT)
    assert server.asked == []


def test_a_server_that_registers_nobody_says_what_to_do(server: Protected) -> None:
    server.wrong[METADATA] = {"registration_endpoint": None}
    with pytest.raises(LoginFailed, match="registers no programs by itself") as caught:
        log_in(server)
    assert "--client-id" in caught.value.resolution


@each(
    "answer",
    [
        always(400, {"error": "invalid_redirect_uri", "error_description": "No\x1b[31m loopback"}),
        always(201, {"client_id": "x", "token_endpoint_auth_method": "private_key_jwt"}),
        always(201, {"client_id": "x", "token_endpoint_auth_method": "client_secret_post"}),
        always(201, {"name": "no id"}),
        always(201, "nonsense"),
    ],
)
def test_a_registration_that_is_of_no_use_is_refused(server: Protected, answer: Answer) -> None:
    server.instead["/register"] = answer
    with pytest.raises(LoginFailed, match="does not register Loci") as caught:
        log_in(server)
    assert str(caught.value).isprintable()


@each(
    ("answer", "said", "error"),
    [
        (always(400, {"error": "invalid_grant", "error_description": "Gone\x1b[2J"}), "invalid_grant", "invalid_grant"),
        (always(200, {"error": "bad_refresh_token"}), "bad_refresh_token", "bad_refresh_token"),
        (always(200, {"error": "Look\nhere"}), "it answered 200", None),
        (always(500, "Oh no"), "it answered 500", None),
        (always(200, "access_token=x"), "no token that Loci understands", None),
        (always(200, {"access_token": "x", "token_type": "mac"}), "no token that Loci understands", None),
        (always(200, {"access_token": "x\r\nEvil: yes", "token_type": "Bearer"}), "characters that no token has", None),
        (always(200, {"access_token": "", "token_type": "Bearer"}), "characters that no token has", None),
        (always(200, {"access_token": "x", "refresh_token": "\x00"}), "characters that no token has", None),
        (always(200, ["x"]), "no token that Loci understands", None),
    ],
)
def test_an_answer_without_a_usable_token_is_an_error(
    server: Protected, answer: Answer, said: str, error: str | None
) -> None:
    server.instead.pop("/token", None)
    access = log_in(server)
    server.instead["/token"] = answer
    with pytest.raises(LoginFailed, match=said) as caught:
        SERVERS.renew(access)
    assert str(caught.value).isprintable()
    assert caught.value.error == error


def test_a_client_says_who_it_is_as_the_server_wants_it(server: Protected) -> None:
    for method in ("client_secret_basic", "client_secret_post"):
        server.wrong[METADATA] = {"token_endpoint_auth_methods_supported": [method]}
        access = log_in(server)
        assert access.client["token_endpoint_auth_method"] == method
        assert SERVERS.renew(access).token in server.tokens.access


def test_only_who_asked_for_a_code_can_use_it(server: Protected) -> None:
    def steal(url: str, _: str) -> Mapping[str, str]:
        [challenge] = parse_qs(urlsplit(url).query)["code_challenge"]
        return allow(url.replace(challenge, "y" * 43))

    with pytest.raises(LoginFailed, match="invalid_grant"):
        log_in(server, consent=Consent(REDIRECT, steal))


@each(
    ("changed", "said"),
    [
        ({"state": ""}, "another login"),
        ({"state": "é"}, "another login"),
        ({"iss": "https://evil.example"}, "iss mismatch"),
        ({"iss": None}, "missing iss"),
        ({"code": None}, "no code"),
        ({"code": None, "error": "access_denied\x1b[31m"}, r"'access_denied\\x1b"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(server: Protected, changed: dict[str, str | None], said: str) -> None:
    def answer(url: str, _: str) -> Mapping[str, str]:
        fields = {**allow(url), **changed}
        return {name: text for name, text in fields.items() if text is not None}

    with pytest.raises(LoginFailed, match=said) as caught:
        log_in(server, consent=Consent(REDIRECT, answer))
    assert server.forms == []
    assert str(caught.value).isprintable()
