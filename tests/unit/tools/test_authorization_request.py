"""The address of a login, and the answers that it accepts."""

import base64
import hashlib
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from loci.tools.authorization import AuthorizationServer, OAuthClient, Protection
from loci.tools.authorization_request import AuthorizationRequest, answer_fields
from loci.tools.ports import LoginFailed
from tests.support.each import each

SERVER = AuthorizationServer(
    "https://auth.example", "https://auth.example/token", "https://auth.example/go?kind=1", has_pkce=True
)
REQUEST = AuthorizationRequest(
    Protection(SERVER, "https://far.example/mcp", None), OAuthClient("me"), "http://127.0.0.1:7/callback", "read"
)
STRICT = replace(REQUEST, protection=replace(REQUEST.protection, server=replace(SERVER, names_itself=True)))
GOOD = {"state": REQUEST.state, "code": "c"}


def test_the_address_has_all_that_the_server_needs() -> None:
    fields = {name: value for name, [value] in parse_qs(urlsplit(REQUEST.url()).query).items()}
    digest = hashlib.sha256(REQUEST.verifier.encode()).digest()
    assert fields == {
        "kind": "1",
        "response_type": "code",
        "client_id": "me",
        "redirect_uri": REQUEST.redirect,
        "state": REQUEST.state,
        "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
        "code_challenge_method": "S256",
        "resource": "https://far.example/mcp",
        "scope": "read",
    }
    assert REQUEST.verifier not in REQUEST.url()


def test_no_two_logins_have_the_same_secrets() -> None:
    other = replace(REQUEST, state=AuthorizationRequest(*_parts()).state)
    assert other.state != REQUEST.state


def _parts() -> tuple[Protection, OAuthClient, str, str | None]:
    return REQUEST.protection, REQUEST.client, REQUEST.redirect, REQUEST.scope


def test_a_server_without_pkce_is_not_asked() -> None:
    request = replace(REQUEST, protection=replace(REQUEST.protection, server=replace(SERVER, has_pkce=False)))
    with pytest.raises(LoginFailed, match="PKCE"):
        request.url()


@each(
    ("request_", "answer", "said"),
    [
        (REQUEST, {"code": "c"}, "another login"),
        (REQUEST, {**GOOD, "state": "x"}, "another login"),
        (REQUEST, {**GOOD, "state": "é"}, "another login"),
        (REQUEST, {**GOOD, "iss": "https://evil.example"}, "does not come from https://auth.example"),
        (STRICT, GOOD, "does not come from"),
        (REQUEST, {"state": REQUEST.state}, "no code"),
        (REQUEST, {"state": REQUEST.state, "error": "access_denied\x1b[31m"}, r"'access_denied\\x1b"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    request_: AuthorizationRequest, answer: dict[str, str], said: str
) -> None:
    with pytest.raises(LoginFailed, match=said):
        request_.form(answer)


def test_an_answer_with_the_right_issuer_is_taken() -> None:
    assert STRICT.form({**GOOD, "iss": SERVER.issuer})["code"] == "c"


def test_the_address_that_the_browser_came_to_can_be_pasted() -> None:
    assert REQUEST.read(f" {REQUEST.redirect}?code=c&state={REQUEST.state}\n") == GOOD


def test_a_bare_code_is_taken_where_no_name_is_promised() -> None:
    assert REQUEST.form(REQUEST.read("c"))["code"] == "c"
    with pytest.raises(LoginFailed, match="who gave it"):
        STRICT.read("c")


def test_what_comes_twice_counts_for_nothing() -> None:
    assert answer_fields("code=a&code=b&state=s") == {"state": "s"}
    assert answer_fields("&".join(f"a{number}=1" for number in range(100))) == {}
