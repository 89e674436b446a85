"""Forged consent, clickjacking and cookies (RFC 9700, 4.7, 4.16)."""

import json
import re
from functools import partial
from urllib.parse import urlencode

from loci.auth.grants import Consents, consents_of, grants_of
from loci.auth.oauth_clients import KIND, clients_of
from loci.core.identity import SYSTEM
from loci.core.scopes import SCOPES
from tests.attack.oauth.flow import (
    FORM_TYPE,
    HERE,
    HOST,
    ISSUER,
    REDIRECT,
    Flow,
    encoded,
    later,
    parameters,
    shown,
)
from tests.attack.wire import Ask
from tests.support.each import each

SCOPE = re.compile(r'name="scope" value="([^"]+)"')


def test_no_other_site_sends_the_form(flow: Flow, ann: str) -> None:
    cookie, wish = flow.cookie(ann), flow.wish(flow.client())
    body = urlencode({"form": flow.form(wish, cookie), "answer": "allow", "scope": "files:read"}).encode()
    for header in (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"), ("Origin", "https://evil.test")):
        ask = Ask(body, (("Host", HOST), FORM_TYPE, ("Cookie", cookie), header), target=wish)
        assert flow.door.ask(ask).status == 403


@each("form", ["", "x", "eyJ3IjoieCJ9.AAAA"])
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


def test_a_consent_is_asked_for_each_time(flow: Flow, ann: str) -> None:
    client, cookie, scope = flow.client(), flow.cookie(ann), "documents:read"
    wish = flow.wish(client, scope=scope)
    code = flow.code(client, ann, scope=scope)
    assert flow.page(wish, cookie).status == 200
    assert flow.exchange(client, code).status == 200
    assert flow.page(wish, cookie).status == 200


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


def test_no_answer_comes_as_a_message_of_a_page(flow: Flow, ann: str) -> None:
    client = flow.client()
    for mode in ("web_message", "form_post", "fragment"):
        assert shown(flow.authorize(client, response_mode=mode)) == "invalid_request"
    sign_in = flow.door.ask(Ask(headers=HERE, method="GET", target="/ui/sign-in"))
    for page in (flow.page(flow.wish(client), flow.cookie(ann)), sign_in):
        assert page.status == 200
        assert page.header("cross-origin-opener-policy") == "same-origin"
        assert not re.search(rb"postMessage|opener|MessageChannel", page.body)


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


def test_a_question_is_too_old_after_ten_minutes(flow: Flow, ann: str) -> None:
    cookie, app = flow.cookie(ann), flow.app
    asked = consents_of(app).wish(parameters(flow.wish(flow.client()))["wish"]).asked
    for age, status in ((540, 200), (601, 404)):
        then = Consents(clients_of(app), grants_of(app), app.keyring, ISSUER, partial(later, -age))
        wish = then.page_for(asked).removeprefix(ISSUER)
        assert flow.page(wish, cookie).status == status, age
    assert flow.decide(wish, cookie, "", "files:read").status == 404


def test_a_question_is_too_old_after_a_change_of_its_client(flow: Flow, ann: str) -> None:
    client, cookie = flow.client(), flow.cookie(ann)
    wish = flow.wish(client)
    flow.app.records.remove(SYSTEM, KIND, client)
    assert flow.page(wish, cookie).status == 404


def test_a_client_of_a_part_is_allowed_nothing_of_the_others(flow: Flow, ann: str) -> None:
    client, resource = flow.client(), f"{ISSUER}/mcp/documents"
    page = flow.page(flow.wish(client, resource=resource), flow.cookie(ann)).body.decode()
    assert set(SCOPE.findall(page)) == {"documents:read", "documents:write"}
    page = flow.page(flow.wish(client, resource=resource, scope=" ".join(SCOPES)), flow.cookie(ann)).body.decode()
    assert set(SCOPE.findall(page)) == {"documents:read", "documents:write"}
    assert shown(flow.authorize(client, resource=resource, scope="tools:write")) == "invalid_scope"
