"""Codes (RFC 9700, 4.5, 4.8): replayed, injected, stolen, and without PKCE."""

import json

from tests.attack.oauth.flow import (
    CHALLENGE,
    ISSUER,
    VERIFIER,
    Flow,
    error,
    shown,
)
from tests.support.each import each


def test_a_code_that_comes_twice_ends_its_tokens(flow: Flow, ann: str) -> None:
    client = flow.client()
    code = flow.code(client, ann)
    tokens = json.loads(flow.exchange(client, code).body)
    assert flow.uses(tokens["access_token"]).status == 200
    again = flow.exchange(client, code)
    assert (again.status, error(again)) == (400, "invalid_grant")
    assert flow.uses(tokens["access_token"]).status == 401
    assert error(flow.renew(client, tokens["refresh_token"])) == "invalid_grant"


@each(
    ("changed", "expected"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": CHALLENGE}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_request"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "https://evil.test/callback"}, "invalid_request"),
        ({"redirect_uri": None}, "invalid_request"),
        ({"resource": "https://evil.test/mcp"}, "invalid_target"),
        ({"resource": f"{ISSUER}/mcp/documents"}, "invalid_target"),
        ({"code": "x" * 43}, "invalid_grant"),
        ({"client_id": "client-" + "0" * 24}, "invalid_client"),
    ],
)
def test_a_stolen_code_is_worth_nothing(flow: Flow, ann: str, changed: dict[str, str | None], expected: str) -> None:
    client = flow.client()
    code = flow.code(client, ann)
    answer = flow.exchange(client, code, **changed)
    assert error(answer) == expected
    assert answer.status == (401 if expected == "invalid_client" else 400)
    assert flow.exchange(client, code).status == 200


def test_a_code_of_one_client_is_not_injected_into_another(flow: Flow, ann: str) -> None:
    mine, other = flow.client(), flow.client()
    code = flow.code(mine, ann)
    assert error(flow.exchange(other, code)) == "invalid_grant"
    assert flow.exchange(mine, code).status == 200


@each(
    "changed",
    [
        {"code_challenge_method": "plain"},
        {"code_challenge_method": "s256"},
        {"code_challenge": ""},
        {"code_challenge": "c" * 42},
        {"code_challenge": "c" * 44},
        {"code_challenge": VERIFIER, "code_challenge_method": "plain"},
        {"code_challenge": "c" * 42 + "="},
        {"code_challenge": "c" * 43 + "\n"},
    ],
)
def test_pkce_is_neither_left_out_nor_weakened(flow: Flow, changed: dict[str, str | None]) -> None:
    assert shown(flow.authorize(flow.client(), **changed)) == "invalid_request"


def test_a_redirect_that_was_not_named_is_not_named_later(flow: Flow, ann: str) -> None:
    client = flow.client()
    code = flow.code(client, ann, redirect_uri=None)
    assert error(flow.exchange(client, code)) == "invalid_request"
    assert flow.exchange(client, code, redirect_uri=None).status == 200
