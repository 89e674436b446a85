"""The same code, and the same token, in many requests at the same moment; and requests that bend the rules of one."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.attack.oauth.flow import CHALLENGE, ISSUER, Flow, challenge_of, error, shown
from tests.support.each import each

MANY = 8
TIMES = 5


def test_of_many_exchanges_at_once_one_gets_tokens_which_are_worth_nothing(flow: Flow, ann: str) -> None:
    client = flow.client()
    with ThreadPoolExecutor(MANY) as people:
        for _ in range(TIMES):
            code = flow.code(client, ann)
            answers = [*people.map(partial(flow.exchange, client), [code] * MANY)]
            given = [json.loads(one.body) for one in answers if one.status == 200]
            assert len(given) <= 1
            assert {error(one) for one in answers if one.status != 200} == {"invalid_grant"}
            for tokens in given:
                assert flow.uses(tokens["access_token"]).status == 401
                assert error(flow.renew(client, tokens["refresh_token"])) == "invalid_grant"


def test_many_renewals_at_once_get_the_same_token(flow: Flow, ann: str) -> None:
    client = flow.client()
    token = flow.tokens(client, ann)["refresh_token"]
    with ThreadPoolExecutor(MANY) as people:
        for _ in range(TIMES):
            answers = [*people.map(partial(flow.renew, client), [token] * MANY)]
            assert {one.status for one in answers} == {200}
            assert flow.uses(json.loads(answers[0].body)["access_token"]).status == 200
            [token] = {json.loads(one.body)["refresh_token"] for one in answers}


def test_what_was_revoked_while_it_was_renewed_stays_revoked(flow: Flow, ann: str) -> None:
    client = flow.client()
    with ThreadPoolExecutor(MANY) as people:
        for _ in range(TIMES):
            tokens = flow.tokens(client, ann)
            renewed = people.submit(flow.renew, client, tokens["refresh_token"])
            revoked = people.submit(flow.post, "/revoke", {"token": tokens["access_token"], "client_id": client})
            assert revoked.result().status == 200
            later = json.loads(renewed.result().body)
            for token in (tokens["access_token"], later.get("access_token", "loci-access-x")):
                assert flow.uses(token).status == 401


@each("verifier", ["a", "a" * 42, "a" * 129, "\u00fc" * 43, "a b" * 20, "a" * 42 + "="])
def test_a_verifier_that_could_be_guessed_is_refused(flow: Flow, ann: str, verifier: str) -> None:
    client = flow.client()
    code = flow.code(client, ann, code_challenge=challenge_of(verifier))
    assert error(flow.exchange(client, code, code_verifier=verifier)) == "invalid_request"


def test_a_challenge_without_a_method_is_no_plain_one(flow: Flow, ann: str) -> None:
    client = flow.client()
    code = flow.code(client, ann, code_challenge=CHALLENGE, code_challenge_method=None)
    assert error(flow.exchange(client, code, code_verifier=CHALLENGE)) == "invalid_grant"
    assert flow.exchange(client, code).status == 200


@each(
    ("changed", "expected"),
    [
        *(({"response_mode": one}, "invalid_request") for one in ("fragment", "form_post", "query.jwt", "web_message")),
        *(({"response_type": one}, "unsupported_response_type") for one in ("code token", "id_token", "none", "CODE")),
        *(({"resource": f"{ISSUER}{one}"}, "invalid_target") for one in ("/MCP", "/mcp?x", "/mcp#x", "/transfer", "")),
        *(({"resource": f"{ISSUER}{one}/mcp"}, "invalid_target") for one in (":443", "/mcp/..", ".", "@evil.test")),
        ({"resource": f"{ISSUER}/mcp {ISSUER}/mcp/files"}, "invalid_target"),
        ({"resource": "http://loci.test/mcp"}, "invalid_target"),
        ({"state": "x" * 2049}, "invalid_request"),
    ],
)
def test_a_wish_that_loci_does_not_know_is_shown(flow: Flow, changed: dict[str, str | None], expected: str) -> None:
    assert shown(flow.authorize(flow.client(), **changed)) == expected


@each("more", [{"prompt": "none"}, {"request_uri": "https://evil.test/r"}, {"state": "\U0001f600" * 2048}])
def test_what_loci_does_not_know_otherwise_changes_nothing(flow: Flow, ann: str, more: dict[str, str | None]) -> None:
    wish = flow.wish(flow.client(), **more)
    answer = flow.page(wish, flow.cookie(ann))
    assert (answer.status, b"wants to use your Loci" in answer.body) == (200, True)
    assert len(wish) < 4096
