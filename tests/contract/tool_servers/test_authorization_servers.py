"""What publishes how a tool server is protected, and what gives out its tokens: when they lie, break or hang."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from loci.adapters.tool_servers import small_requests
from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
from loci.tools.authorization import OAuthClient, Protection
from loci.tools.authorization_request import AuthorizationRequest
from loci.tools.ports import LoginFailed
from loci.tools.tool_server import Endpoint
from tests.support.authorization_server import METADATA, RESOURCE, Answer, Protected, consent, protected
from tests.support.each import each

REDIRECT = "http://127.0.0.1:7/callback"
SERVERS = HttpAuthorizationServers(only_public=False)
FORM = {"grant_type": "refresh_token", "refresh_token": "x"}


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    yield
    SERVERS.close()


@pytest.fixture
def server() -> Iterator[Protected]:
    with protected() as made:
        yield made


def found(server: Protected, issuer: str | None = None, scope: str | None = None) -> Protection:
    return SERVERS.protection(Endpoint(server.url), issuer, scope)


def always(status: int, body: object = "", headers: dict[str, str] | None = None) -> Answer:
    async def answer(_: Request) -> Response:
        if isinstance(body, str | bytes):
            return Response(body, status, headers)
        return JSONResponse(body, status, headers)

    return answer


def test_a_server_is_protected_as_it_publishes(server: Protected) -> None:
    protection = found(server)
    assert protection.server.issuer == server.issuer
    assert (protection.resource, protection.scope) == (server.url, "read")
    assert found(server, scope="write").scope == "write"  # rights that are asked for take the place of these
    server.wrong[METADATA] = {"scopes_supported": ["read", "offline_access"]}
    assert found(server).scope == "read offline_access"  # a refresh token is a right of its own here


def test_without_metadata_of_the_server_that_of_its_own_origin_counts(server: Protected) -> None:
    server.instead[RESOURCE] = always(404)
    origin = server.url.removesuffix("/mcp")
    server.wrong[METADATA] = {"issuer": origin}
    assert found(server).server.issuer == origin


@each(
    ("path", "wrong", "said"),
    [
        (RESOURCE, {"resource": "https://other.example/mcp"}, "says that it is another"),
        (RESOURCE, {"authorization_servers": ["http://auth.example"]}, "not reached by https"),
        (METADATA, {"issuer": "https://other.example"}, "says that it is another authorization server"),
        (METADATA, {"token_endpoint": "http://auth.example/token"}, "an address that is not safe"),
        (METADATA, {"authorization_endpoint": "http://auth.example/authorize"}, "an address that is not safe"),
        (METADATA, {"authorization_endpoint": "https://auth.example/$(reboot)"}, "an address that is not safe"),
        (METADATA, {"authorization_endpoint": "https://me:secret@auth.example/"}, "an address that is not safe"),
        (METADATA, {"revocation_endpoint": "http://169.254.169.254/latest"}, "an address that is not safe"),
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
        found(server)


def test_control_characters_in_metadata_reach_no_terminal(server: Protected) -> None:
    server.wrong[METADATA] = {"issuer": "https://a.example/\x1b[31m\u202e"}
    with pytest.raises(LoginFailed) as caught:
        found(server)
    assert str(caught.value).isprintable()


def test_another_origin_does_not_speak_for_the_server(server: Protected) -> None:
    with protected() as other:
        elsewhere = other.url.replace("/mcp", RESOURCE)
        server.instead["/mcp"] = always(401, "", {"WWW-Authenticate": f'Bearer resource_metadata="{elsewhere}"'})
        assert found(server).server.issuer == server.issuer
        assert other.asked == []


def test_no_redirect_is_followed(server: Protected) -> None:
    with protected() as other:
        server.instead[RESOURCE] = always(302, "", {"Location": other.url.replace("/mcp", RESOURCE)})
        server.instead[METADATA] = always(302, "", {"Location": other.issuer + METADATA})
        with pytest.raises(LoginFailed, match="publishes no metadata"):
            found(server)
        server.instead["/token"] = always(307, "", {"Location": f"{other.issuer}/token"})
        del server.instead[METADATA], server.instead[RESOURCE]
        with pytest.raises(LoginFailed, match="it answered 307"):
            SERVERS.tokens(found(server).server, OAuthClient("x"), FORM)
        assert other.asked == []


def test_a_server_that_asks_for_no_login_says_so(server: Protected) -> None:
    server.instead |= {"/mcp": always(200, {}), RESOURCE: always(404), METADATA: always(404)}
    with pytest.raises(LoginFailed, match="asks for no login: it answered 200"):
        found(server)


def test_an_error_says_nothing_about_how_a_server_is_protected(server: Protected) -> None:
    server.instead[RESOURCE] = always(503)
    with pytest.raises(LoginFailed, match="answered 503"):
        found(server)


def test_a_huge_answer_is_not_read_to_its_end(server: Protected) -> None:
    server.instead[METADATA] = always(200, b"x" * 5_000_000)
    with pytest.raises(LoginFailed, match="more than 512 KB"):
        found(server)


def test_a_server_that_hangs_is_left(server: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: Request) -> Response:
        await asyncio.sleep(5)
        return Response("")

    monkeypatch.setattr(small_requests, "SECONDS", 0.3)
    server.instead[METADATA] = hang
    with pytest.raises(LoginFailed, match="did not answer"):
        found(server)


def test_on_aws_only_public_addresses_are_asked(server: Protected) -> None:
    with (
        closing(HttpAuthorizationServers(only_public=True)) as servers,
        pytest.raises(LoginFailed, match="only https is allowed here"),
    ):
        servers.protection(Endpoint(server.url), None, None)
    assert server.asked == []


def test_a_server_that_registers_nobody_says_what_to_do(server: Protected) -> None:
    server.wrong[METADATA] = {"registration_endpoint": None}
    with pytest.raises(LoginFailed, match="registers no programs by itself") as caught:
        SERVERS.register(found(server).server, REDIRECT, None)
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
        SERVERS.register(found(server).server, REDIRECT, None)
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
    server.instead["/token"] = answer
    with pytest.raises(LoginFailed, match=said) as caught:
        SERVERS.tokens(found(server).server, OAuthClient("x"), FORM)
    assert str(caught.value).isprintable()
    assert caught.value.error == error


def test_a_client_says_who_it_is_as_the_server_wants_it(server: Protected) -> None:
    for method in ("client_secret_basic", "client_secret_post"):
        server.wrong[METADATA] = {"token_endpoint_auth_methods_supported": [method]}
        protection = found(server)
        client = SERVERS.register(protection.server, REDIRECT, protection.scope)
        assert client.method == method
        request = AuthorizationRequest(protection, client, REDIRECT, protection.scope)
        answer = request.read(consent(request.url()))
        given = SERVERS.tokens(protection.server, client, request.form(answer))
        assert given.access in server.tokens.access


def test_only_who_asked_for_a_code_can_use_it(server: Protected) -> None:
    protection = found(server)
    client = SERVERS.register(protection.server, REDIRECT, protection.scope)
    request = AuthorizationRequest(protection, client, REDIRECT, protection.scope)
    form = request.form(request.read(consent(request.url())))
    with pytest.raises(LoginFailed, match="invalid_grant"):
        SERVERS.tokens(protection.server, client, {**form, "code_verifier": "y" * 64})
