"""Parameters and headers that come twice, or in another form."""

from urllib.parse import urlencode

from tests.attack.oauth.flow import (
    CHALLENGE,
    FORM_TYPE,
    HOST,
    ISSUER,
    REDIRECT,
    VERIFIER,
    Flow,
    error,
    shown,
)
from tests.attack.wire import Ask, legacy
from tests.support.each import each


@each("name", ["client_id", "redirect_uri", "code_challenge", "scope", "state", "resource"])
def test_a_parameter_of_the_browser_comes_once(flow: Flow, name: str) -> None:
    client = flow.client()
    fields = [("response_type", "code"), ("client_id", client), ("code_challenge", CHALLENGE), (name, "x"), (name, "y")]
    ask = Ask(headers=(("Host", HOST),), method="GET", target=f"/authorize?{urlencode(fields)}")
    assert shown(flow.door.ask(ask)) == "invalid_request"


@each("name", ["grant_type", "client_id", "code", "code_verifier", "redirect_uri"])
def test_a_parameter_of_a_form_comes_once(flow: Flow, name: str) -> None:
    body = urlencode([("grant_type", "authorization_code"), (name, "x"), (name, "y")]).encode()
    answer = flow.door.ask(Ask(body, (("Host", HOST), FORM_TYPE), target="/token"))
    assert (answer.status, error(answer)) == (400, "invalid_request")


def test_what_is_in_the_query_of_the_token_endpoint_does_not_count(flow: Flow, ann: str) -> None:
    client = flow.client()
    query = urlencode({"grant_type": "authorization_code", "client_id": client, "code": flow.code(client, ann)})
    assert error(flow.post(f"/token?{query}&code_verifier={VERIFIER}", {})) == "invalid_client"


def test_a_preflight_exchanges_nothing(flow: Flow, ann: str) -> None:
    client = flow.client()
    code = flow.code(client, ann)
    fields = {"grant_type": "authorization_code", "client_id": client, "code": code, "code_verifier": VERIFIER}
    body = urlencode({**fields, "redirect_uri": REDIRECT}).encode()
    answer = flow.door.ask(Ask(body, (("Host", HOST), FORM_TYPE), "OPTIONS", "/token"))
    assert (answer.status, answer.body) == (204, b"")
    assert flow.exchange(client, code).status == 200


def test_a_json_body_is_no_form(flow: Flow) -> None:
    headers = (("Host", HOST), ("Content-Type", "application/json"))
    answer = flow.door.ask(Ask(b'{"grant_type": "authorization_code"}', headers, target="/token"))
    assert (answer.status, error(answer)) == (400, "invalid_request")


def test_no_host_that_a_request_names_gets_into_the_documents(flow: Flow) -> None:
    for path in ("/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"):
        headers = (("Host", "evil.test"), ("X-Forwarded-Host", "evil.test"), ("X-Forwarded-Proto", "http"))
        assert b"evil" not in flow.door.ask(Ask(headers=headers, method="GET", target=path)).body
    challenge = flow.door.ask(legacy(b"{}").having("Host", "evil.test")).header("www-authenticate") or ""
    assert f'resource_metadata="{ISSUER}/.well-known/oauth-protected-resource/mcp"' in challenge


@each("kind", ["implicit", "password", "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"])
def test_no_other_grant_is_given(flow: Flow, kind: str) -> None:
    answer = flow.post("/token", {"grant_type": kind, "client_id": flow.client(), "username": "ann", "assertion": "x"})
    assert answer.status == 400
    assert error(answer) in ("unsupported_grant_type", "invalid_request")
