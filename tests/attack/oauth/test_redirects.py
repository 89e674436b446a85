"""Open redirects and mix-up (RFC 9700, 4.1, 4.4, 4.7, 4.11): where a browser is sent, and what it brings there."""

from tests.attack.oauth.flow import (
    ISSUER,
    REDIRECT,
    Flow,
    error,
    parameters,
    shown,
)
from tests.support.each import each


@each(
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


@each(
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


@each(
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


@each("redirect", ["javascript:alert(1)", "data:text/html,x", "http://evil.test/", "https://a;b/c"])
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
