"""Attacks on the built-in authorization server, each through uvicorn and through API Gateway's events."""

import base64
import json
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from loci.core.identity import SYSTEM
from loci.mcp.auth.hourly_limits import MOST_OF_ADDRESS
from loci.mcp.auth.oauth_clients import KIND
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import lambda_doors
from tests.attack.oauth_flow import (
    CHALLENGE,
    FORM_TYPE,
    HERE,
    HOST,
    ISSUER,
    REDIRECT,
    VERIFIER,
    Flow,
    encoded,
    error,
    parameters,
    shown,
)
from tests.attack.wire import Ask, call, legacy


@pytest.fixture
def ann(flow: Flow) -> str:
    """A key of Ann's."""
    return flow.app.api_keys.create(ANN, "ann")[1]


@pytest.fixture
def bob(flow: Flow) -> str:
    return flow.app.api_keys.create(BOB, "bob")[1]


# Open redirects (RFC 9700, 2.1, 4.1, 4.11)


@pytest.mark.parametrize(
    "redirect",
    [
        "https://evil.test/callback",
        f"{REDIRECT}/",
        f"{REDIRECT}/../x",
        f"{REDIRECT}?next=https://evil.test",
        f"{REDIRECT}#part",
        f"{REDIRECT}%2f..%2fx",
        "https://client.test.evil.test/callback",
        "https://client.test@evil.test/callback",
        "https://client.test\\@evil.test/callback",
        "https://client.test:444/callback",
        "http://client.test/callback",
        "https://CLIENT.test/Callback",
        "//evil.test/callback",
        "javascript:alert(1)",
        "https://evil.test/?https://client.test/callback",
        "\thttps://evil.test/callback",
    ],
)
def test_a_browser_goes_only_where_the_client_has_registered(flow: Flow, redirect: str) -> None:
    assert shown(flow.authorize(flow.client(), redirect_uri=redirect)) == "invalid_request"


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        ("http://127.0.0.1:1/callback", "http://127.0.0.1:2/other"),
        ("http://127.0.0.1:1/callback", "http://127.0.0.1.evil.test:1/callback"),
        ("http://127.0.0.1:1/callback", "http://127.0.0.1:1@evil.test/callback"),
        ("http://127.0.0.1:1/callback", "https://127.0.0.1:1/callback"),
        ("http://127.0.0.1:1/callback", "http://localhost:1/callback"),
        ("http://localhost:1/callback", "http://localhost:2/callback?more=1"),
        ("https://client.test/callback", "https://client.test:8443/callback"),
    ],
)
def test_only_the_port_of_loopback_may_differ(flow: Flow, registered: str, asked: str) -> None:
    assert shown(flow.authorize(flow.client(registered), redirect_uri=asked)) == "invalid_request"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"resource": "https://evil.test/mcp"}, "invalid_target"),
        ({"code_challenge": None}, "invalid_request"),
    ],
)
def test_a_fault_is_shown_and_sends_nobody_away(flow: Flow, changed: dict[str, str | None], expected: str) -> None:
    assert shown(flow.authorize(flow.client(), **changed)) == expected


def test_an_unknown_client_is_shown_as_text_only(flow: Flow) -> None:
    answer = flow.authorize("<script>alert(1)</script>")
    assert shown(answer) == "invalid_request"
    assert b"<script>" not in answer.body
    assert "default-src 'none'" in (answer.header("content-security-policy") or "")


@pytest.mark.parametrize("redirect", ["javascript:alert(1)", "data:text/html,x", "http://evil.test/", "https://a;b/c"])
def test_nobody_registers_a_redirect_that_harms_the_person(flow: Flow, redirect: str) -> None:
    answer = flow.register(redirect)
    assert (answer.status, error(answer)) == (400, "invalid_redirect_uri")


def test_the_question_cannot_be_changed_on_its_way(flow: Flow, ann: str) -> None:
    cookie, wish = flow.cookie(ann), flow.wish(flow.client())
    for forged in (f"{wish}x", wish[:-1], wish.replace("wish=", "wish=x"), "/ui/consent?wish=eyJjIjoieCJ9.AAAA"):
        assert flow.page(forged, cookie).status == 404


def test_a_deny_goes_back_without_a_code(flow: Flow, ann: str) -> None:
    cookie, wish = flow.cookie(ann), flow.wish(flow.client())
    answer = flow.decide(wish, cookie, flow.form(wish, cookie), answer="deny")
    told = parameters(answer.header("location") or "")
    assert (told["error"], told["state"], told["iss"]) == ("access_denied", "s1", ISSUER)
    assert "code" not in told


# Mix-up (4.4), CSRF of the client (4.7)


def test_each_answer_names_its_issuer_and_brings_the_state_back(flow: Flow, ann: str) -> None:
    cookie, state = flow.cookie(ann), "a b&iss=https://evil.test#ü"
    wish = flow.wish(flow.client(), state=state)
    location = flow.decide(wish, cookie, flow.form(wish, cookie), "files:read").header("location") or ""
    told = parameters(location)
    assert location.startswith(f"{REDIRECT}?")
    assert (told["state"], told["iss"], set(told)) == (state, ISSUER, {"code", "state", "iss"})


def test_the_query_of_a_redirect_stays_as_it_is(flow: Flow, ann: str) -> None:
    redirect = f"{REDIRECT}?tenant=a%2fb&x"
    cookie, wish = flow.cookie(ann), flow.wish(flow.client(redirect), redirect_uri=redirect)
    location = flow.decide(wish, cookie, flow.form(wish, cookie), "files:read").header("location") or ""
    assert location.startswith(f"{redirect}&code=")


# Codes: replay, injection, theft (4.5), PKCE downgrade (4.8)


def test_a_code_that_comes_twice_ends_its_tokens(flow: Flow, ann: str) -> None:
    client = flow.client()
    code = flow.code(client, ann)
    tokens = json.loads(flow.exchange(client, code).body)
    assert flow.uses(tokens["access_token"]).status == 200
    again = flow.exchange(client, code)
    assert (again.status, error(again)) == (400, "invalid_grant")
    assert flow.uses(tokens["access_token"]).status == 401
    assert error(flow.renew(client, tokens["refresh_token"])) == "invalid_grant"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": CHALLENGE}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_request"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "https://evil.test/callback"}, "invalid_grant"),
        ({"redirect_uri": None}, "invalid_grant"),
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


@pytest.mark.parametrize(
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
    assert error(flow.exchange(client, code)) == "invalid_grant"
    assert flow.exchange(client, code, redirect_uri=None).status == 200


# Forged consent, clickjacking (4.16), cookies


def test_no_other_site_sends_the_form(flow: Flow, ann: str) -> None:
    cookie, wish = flow.cookie(ann), flow.wish(flow.client())
    body = urlencode({"form": flow.form(wish, cookie), "answer": "allow", "scope": "files:read"}).encode()
    for header in (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"), ("Origin", "https://evil.test")):
        ask = Ask(body, (("Host", HOST), FORM_TYPE, ("Cookie", cookie), header), target=wish)
        assert flow.door.ask(ask).status == 403


@pytest.mark.parametrize("form", ["", "x", "eyJ3IjoieCJ9.AAAA"])
def test_the_form_needs_the_token_of_its_page(flow: Flow, ann: str, form: str) -> None:
    cookie, wish = flow.cookie(ann), flow.wish(flow.client())
    assert flow.decide(wish, cookie, form, "files:read").status == 403


def test_the_token_of_another_question_is_not_good(flow: Flow, ann: str) -> None:
    cookie, client = flow.cookie(ann), flow.client()
    one, other = flow.wish(client), flow.wish(client, state="s2")
    assert flow.decide(one, cookie, flow.form(other, cookie), "files:read").status == 403


def test_the_token_of_another_person_is_not_good(flow: Flow, ann: str, bob: str) -> None:
    wish = flow.wish(flow.client())
    assert flow.decide(wish, flow.cookie(ann), flow.form(wish, flow.cookie(bob)), "files:read").status == 403


def test_nobody_allows_anything_without_signing_in(flow: Flow, ann: str) -> None:
    wish = flow.wish(flow.client())
    form = flow.form(wish, flow.cookie(ann))
    body = urlencode({"form": form, "answer": "allow", "scope": "files:read"}).encode()
    for cookie in ("", "loci_visit=x", "loci_visit=eyJ0IjoiYWNtZSJ9.AAAA"):
        ask = Ask(body, (*HERE, FORM_TYPE, ("Cookie", cookie)), target=wish)
        assert flow.door.ask(ask).status == 401


def test_a_get_allows_nothing(flow: Flow, ann: str) -> None:
    cookie, wish = flow.cookie(ann), flow.wish(flow.client())
    answer = flow.page(f"{wish}&answer=allow&scope=files:read&form={encoded(flow.form(wish, cookie))}", cookie)
    assert answer.status == 200
    assert answer.header("location") is None


def test_more_is_not_allowed_than_was_asked(flow: Flow, ann: str) -> None:
    client, cookie = flow.client(), flow.cookie(ann)
    wish = flow.wish(client, scope="documents:read")
    form = flow.form(wish, cookie)
    assert flow.decide(wish, cookie, form, "files:write").status == 400
    answer = flow.decide(wish, cookie, form, "documents:read", "files:write")
    code = parameters(answer.header("location") or "")["code"]
    assert json.loads(flow.exchange(client, code).body)["scope"] == "documents:read"


def test_no_page_shows_the_question_in_a_frame_or_keeps_it(flow: Flow, ann: str) -> None:
    answer = flow.page(flow.wish(flow.client()), flow.cookie(ann))
    policy = answer.header("content-security-policy") or ""
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy or "'none'" in policy
    assert f"form-action 'self' {REDIRECT.removesuffix('/callback')}" in policy
    assert answer.header("x-frame-options") == "DENY"
    assert "no-store" in (answer.header("cache-control") or "")


def test_a_name_is_text_and_its_host_is_said(flow: Flow, ann: str) -> None:
    registered = flow.register(REDIRECT, client_name="<img src=x onerror=alert(1)>\u202eClaude")
    client = json.loads(registered.body)["client_id"]
    page = flow.page(flow.wish(client), flow.cookie(ann)).body.decode()
    assert "<img" not in page
    assert "\u202e" not in page
    assert "<b>client.test</b>" in page
    assert "It chose this name itself" in page


def test_the_cookie_is_of_this_host_and_of_no_script(flow: Flow, ann: str) -> None:
    body = urlencode({"key": ann}).encode()
    answer = flow.door.ask(Ask(body, (*HERE, FORM_TYPE), target="/ui/sign-in"))
    attributes = (answer.header("set-cookie") or "").split("; ")[1:]
    assert {"HttpOnly", "SameSite=Strict", "Secure"} <= set(attributes)
    assert not [one for one in attributes if one.startswith("Domain")]


def test_a_question_is_too_old_after_a_change_of_its_client(flow: Flow, ann: str) -> None:
    client, cookie = flow.client(), flow.cookie(ann)
    wish = flow.wish(client)
    flow.app.records.remove(SYSTEM, KIND, client)
    assert flow.page(wish, cookie).status == 404


# Tokens: stolen, of others, of elsewhere (2.2, 4.9, 4.10, 4.14)


def test_a_stolen_refresh_token_ends_with_its_grant(flow: Flow, ann: str) -> None:
    client = flow.client()
    first = flow.tokens(client, ann)
    second = json.loads(flow.renew(client, first["refresh_token"]).body)
    third = json.loads(flow.renew(client, second["refresh_token"]).body)
    assert error(flow.renew(client, first["refresh_token"])) == "invalid_grant"
    assert flow.uses(third["access_token"]).status == 401
    assert error(flow.renew(client, third["refresh_token"])) == "invalid_grant"


def test_another_client_gains_nothing_by_a_refresh_token(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    assert error(flow.renew(flow.client(), tokens["refresh_token"])) == "invalid_grant"
    assert flow.renew(client, tokens["refresh_token"]).status == 200


def test_a_refresh_token_is_no_access_token_and_the_other_way_round(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    renews, access = tokens["refresh_token"], tokens["access_token"]
    swapped = "loci-access-" + renews.removeprefix("loci-renew-")
    assert flow.uses(renews).status == flow.uses(swapped).status == 401
    for wrong in (access, "loci-renew-" + access.removeprefix("loci-access-"), "", "x"):
        assert flow.renew(client, wrong).status == 400


def test_scopes_do_not_grow_at_a_renewal(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann, "documents:read", "files:read")
    assert error(flow.renew(client, tokens["refresh_token"], scope="documents:read tools:write")) == "invalid_scope"
    less = json.loads(flow.renew(client, tokens["refresh_token"], scope="documents:read").body)
    assert less["scope"] == "documents:read"
    read = legacy(call("search_memory", {"query": "x"}), less["access_token"]).having("Host", HOST)
    assert flow.door.ask(read).tool_code == "INSUFFICIENT_SCOPE"


def test_a_renewal_does_not_lead_to_another_resource(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    answer = flow.renew(client, tokens["refresh_token"], resource=f"{ISSUER}/mcp/files")
    assert error(answer) == "invalid_target"


def test_a_token_acts_for_its_own_person_only(flow: Flow, ann: str, bob: str) -> None:
    reads = ("documents:read", "files:read", "tools:read", "workflows:read")
    id = flow.app.scratchpad.keep(ANN, "test", "secret").id
    client = flow.client()
    for key, expected in ((bob, "SCRATCHPAD_NOT_FOUND"), (ann, None)):
        token = flow.tokens(client, key, *reads)["access_token"]
        answer = flow.door.ask(legacy(call("scratchpad_read", {"id": id}), token).having("Host", HOST))
        assert answer.tool_code == expected


def test_a_key_that_is_revoked_ends_the_code_that_is_still_on_its_way(flow: Flow, ann: str) -> None:
    client = flow.client()
    code = flow.code(client, ann)
    flow.app.api_keys.revoke(flow.app.api_keys.id_in(ann) or "")
    assert error(flow.exchange(client, code)) == "invalid_grant"


def test_a_token_in_the_query_is_none(flow: Flow, ann: str) -> None:
    token = flow.tokens(flow.client(), ann)["access_token"]
    for target in (f"/mcp?apikey={encoded(token)}", f"/mcp?access_token={encoded(token)}"):
        ask = legacy(b"{}").having("Host", HOST).at(target)
        assert flow.door.ask(ask).status == 401
    assert flow.door.ask(legacy(b"{}").having("Host", HOST).having("X-API-Key", token)).status == 401


def test_a_token_of_an_endpoint_is_none_of_another(flow: Flow, ann: str) -> None:
    client = flow.client()
    resource = f"{ISSUER}/mcp/documents"
    code = flow.code(client, ann, resource=resource)
    token = json.loads(flow.exchange(client, code, resource=resource).body)["access_token"]
    assert flow.uses(token, "/mcp/documents").status == 200
    for target in ("/mcp", "/mcp/files", "/mcp/tools"):
        assert flow.uses(token, target).status == 401


def test_a_token_that_was_changed_is_none(flow: Flow, ann: str) -> None:
    token = flow.tokens(flow.client(), ann)["access_token"]
    head, _, seal = token.rpartition(".")
    claims = base64.urlsafe_b64encode(b'{"g":"x","e":9999999999,"s":["tools:write"]}').decode().rstrip("=")
    for forged in (f"{head}x.{seal}", f"{head}.{seal[:-1]}", head, f"loci-access-{claims}.{seal}", token.upper()):
        assert flow.uses(forged).status == 401


def test_another_client_revokes_nothing(flow: Flow, ann: str) -> None:
    token = flow.tokens(flow.client(), ann)["access_token"]
    assert flow.post("/revoke", {"token": token, "client_id": flow.client()}).status == 200
    assert flow.uses(token).status == 200


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "saml2", ""])
def test_a_revoked_token_takes_the_other_with_it(flow: Flow, ann: str, which: str, hint: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    fields = {"token": tokens[which], "client_id": client, "token_type_hint": hint}
    assert flow.post("/revoke", fields).status == 200
    assert flow.uses(tokens["access_token"]).status == 401
    assert error(flow.renew(client, tokens["refresh_token"])) == "invalid_grant"


def test_revoking_what_is_no_token_says_nothing_about_it(flow: Flow) -> None:
    client = flow.client()
    for token in ("x", "loci-access-x", "loci-renew-x.y", "loci_" + "0" * 12):
        assert flow.post("/revoke", {"token": token, "client_id": client}).status == 200


# Smuggling: parameters and headers that come twice, or in another form


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "code_challenge", "scope", "state", "resource"])
def test_a_parameter_of_the_browser_comes_once(flow: Flow, name: str) -> None:
    client = flow.client()
    fields = [("response_type", "code"), ("client_id", client), ("code_challenge", CHALLENGE), (name, "x"), (name, "y")]
    ask = Ask(headers=(("Host", HOST),), method="GET", target=f"/authorize?{urlencode(fields)}")
    assert shown(flow.door.ask(ask)) == "invalid_request"


@pytest.mark.parametrize("name", ["grant_type", "client_id", "code", "code_verifier", "redirect_uri"])
def test_a_parameter_of_a_form_comes_once(flow: Flow, name: str) -> None:
    body = urlencode([("grant_type", "authorization_code"), (name, "x"), (name, "y")]).encode()
    answer = flow.door.ask(Ask(body, (("Host", HOST), FORM_TYPE), target="/token"))
    assert (answer.status, error(answer)) == (400, "invalid_request")


def test_what_is_in_the_query_of_the_token_endpoint_does_not_count(flow: Flow, ann: str) -> None:
    client = flow.client()
    query = urlencode({"grant_type": "authorization_code", "client_id": client, "code": flow.code(client, ann)})
    assert error(flow.post(f"/token?{query}&code_verifier={VERIFIER}", {})) == "invalid_client"


def test_the_header_and_the_form_name_the_same_client(flow: Flow) -> None:
    basic = "Basic " + base64.b64encode(f"{flow.client()}:".encode()).decode()
    fields = {"grant_type": "refresh_token", "refresh_token": "x", "client_id": flow.client()}
    answer = flow.post("/token", fields, ("Authorization", basic))
    assert (answer.status, error(answer)) == (401, "invalid_client")


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


@pytest.mark.parametrize(
    "kind", ["implicit", "password", "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"]
)
def test_no_other_grant_is_given(flow: Flow, kind: str) -> None:
    answer = flow.post("/token", {"grant_type": kind, "client_id": flow.client(), "username": "ann", "assertion": "x"})
    assert (answer.status, error(answer)) == (400, "unsupported_grant_type")


# Registration


def test_an_address_cannot_register_without_end(flow: Flow) -> None:
    answers = [flow.register(REDIRECT) for _ in range(MOST_OF_ADDRESS + 1)]
    assert answers[-1].status == 429
    assert error(answers[-1]) == "temporarily_unavailable"
    assert answers[-1].header("retry-after") == "3600"


def test_behind_a_proxy_each_viewer_is_counted(flow: Flow) -> None:
    settings = flow.app.settings.model_copy(update={"address_header": "x-viewer-ip"})
    body = json.dumps({"redirect_uris": [REDIRECT]}).encode()
    headers = (("Host", HOST), ("Content-Type", "application/json"))
    with lambda_doors(asgi(replace(flow.app, settings=settings))) as (rest, _):

        def registers(address: str) -> int:
            return rest.ask(Ask(body, (*headers, ("x-viewer-ip", address)), target="/register")).status

        for number in range(MOST_OF_ADDRESS):
            assert registers(f"{number}.0.0.1, 198.51.100.7") == 201
        assert registers("198.51.100.7") == 429
        assert registers("198.51.100.8") == 201


@pytest.mark.parametrize(
    "told",
    [
        {"redirect_uris": []},
        {"redirect_uris": [REDIRECT] * 11},
        {"redirect_uris": "x"},
        {"scope": "everything"},
        {"grant_types": ["password"]},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"jwks": {"keys": []}, "response_types": ["token"]},
    ],
)
def test_a_registration_that_asks_for_something_else_is_refused(flow: Flow, told: dict[str, object]) -> None:
    answer = flow.register(REDIRECT, **told) if "redirect_uris" not in told else flow.register(**told)
    assert answer.status in (400, 429)
    assert error(answer) in ("invalid_client_metadata", "invalid_redirect_uri", "temporarily_unavailable")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"redirect_uris": ' + b"[" * 200, b"x" * 70_000])
def test_a_registration_that_is_no_small_json_is_refused(flow: Flow, body: bytes) -> None:
    headers = (("Host", HOST), ("Content-Type", "application/json"))
    answer = flow.door.ask(Ask(body, headers, target="/register"))
    assert answer.status in (400, 413)


def test_nothing_secret_is_in_the_log(flow: Flow, ann: str, capfd: pytest.CaptureFixture[str]) -> None:
    client = flow.client()
    code = flow.code(client, ann)
    tokens = json.loads(flow.exchange(client, code).body)
    flow.exchange(client, code)
    flow.uses(tokens["access_token"])
    told = "".join(capfd.readouterr())
    for secret in (code, tokens["access_token"], tokens["refresh_token"], ann):
        assert secret not in told


# Documents of clients


@pytest.mark.parametrize(
    "id",
    [
        "https://127.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/client.json",
        "https://localhost/client.json",
        "https://client.test/",
        "https://ann:secret@client.test/client.json",
        "https://client.test/../client.json",
        "https://client.test/client.json#part",
    ],
)
def test_a_document_is_read_only_where_everybody_can(flow: Flow, id: str) -> None:
    answer = flow.authorize(id)
    assert shown(answer) == "invalid_client"
    assert answer.status == 400


def test_a_token_is_not_given_to_a_document_that_nobody_has_read(flow: Flow) -> None:
    answer = flow.renew("https://127.0.0.1/client.json", "x")
    assert (answer.status, error(answer)) == (401, "invalid_client")
