"""Sign-in at an OpenID Connect issuer (RFC 9700, 4.4, 4.5, 4.7): mixed up, forged, injected, replayed, and weakened."""

import json
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import lambda_doors, uvicorn_door
from tests.attack.issuer import issuing, new_rsa_key, signed
from tests.attack.oauth.flow import HERE, HOST, ISSUER, Flow, error, parameters
from tests.attack.wire import Answer, Ask
from tests.support.each import each
from tests.support.people_issuer import CLIENT, PeopleIssuer

SAID = "the-secret-of-loci"
DISCOVERY = "/.well-known/openid-configuration"
LED = (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"))
SITE = (("Host", HOST), *LED, ("Accept", "text/html"))


@dataclass(frozen=True, slots=True)
class Begun:
    """A browser that was sent to the issuer."""

    cookie: str
    asked: dict[str, str]
    set_cookie: str


@dataclass(frozen=True, slots=True)
class Browser:
    """The way of a browser to the issuer and back."""

    flow: Flow
    issuer: PeopleIssuer

    def begin(self, to: str = "") -> Begun:
        answer = self.flow.door.ask(Ask(headers=HERE, method="GET", target=f"/ui/issuer?{urlencode({'to': to})}"))
        assert answer.status == 303, answer
        where, kept = answer.header("location") or "", answer.header("set-cookie") or ""
        return Begun(kept.partition(";")[0], parameters(where), kept)

    def answered(self, begun: Begun) -> dict[str, str]:
        """What the issuer sends the browser back with."""
        return {"code": self.issuer.code(**begun.asked), "state": begun.asked["state"], "iss": self.issuer.url}

    def back(self, fields: dict[str, str] | str, cookie: str) -> Answer:
        query = fields if isinstance(fields, str) else urlencode(fields)
        shown = (("Cookie", cookie),) if cookie else ()
        return self.flow.door.ask(Ask(headers=(*SITE, *shown), method="GET", target=f"/ui/signed-in?{query}"))

    def signed_in(self) -> str:
        """The cookie of somebody who came the right way."""
        begun = self.begin()
        answer = self.back(self.answered(begun), begun.cookie)
        assert answer.status == 200, answer
        return session_in(answer) or ""


def session_in(answer: Answer) -> str | None:
    """The cookie that signs a browser in, if the answer sets one."""
    given = [value for name, value in answer.headers if name.lower() == "set-cookie"]
    return next((one.partition(";")[0] for one in given if one.startswith("loci_visit=")), None)


@pytest.fixture(scope="module")
def people() -> Generator[PeopleIssuer]:
    """Where all people sign in."""
    with issuing(PeopleIssuer) as issuer:
        issuer.secret = SAID
        yield issuer


@pytest.fixture(scope="module", params=["uvicorn", "rest"])
def browser(
    request: pytest.FixtureRequest, people: PeopleIssuer, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Browser]:
    with closing(_app(people, tmp_path_factory.mktemp("sign-in"))) as app:
        if request.param == "uvicorn":
            with uvicorn_door(asgi(app, on_loopback=True)) as door:
                yield Browser(Flow(app, door), people)
        else:
            with lambda_doors(asgi(app)) as (rest, _):
                yield Browser(Flow(app, rest), people)


@contextmanager
def served(issuer: PeopleIssuer, data: Path, **others: object) -> Generator[Browser]:
    """A browser and a deployment of its own."""
    with closing(_app(issuer, data, **others)) as app, uvicorn_door(asgi(app)) as door:
        yield Browser(Flow(app, door), issuer)


def _app(issuer: PeopleIssuer, data: Path, **others: object) -> App:
    told: dict[str, object] = {"data": data, "public_url": ISSUER, "oauth": "built-in", "log_level": "INFO"}
    told |= {"oidc_issuer": issuer.url, "oidc_client_id": CLIENT, "oidc_client_secret": SAID}
    return build_app(load_settings({**told, **others}))


@pytest.fixture(autouse=True)
def as_it_should_be(people: PeopleIssuer) -> Generator[None]:
    """Whatever a test changed at the issuer is changed back."""
    people.behave()
    people.secret = SAID
    yield
    people.pages = {}


def refused(browser: Browser, answer: Answer, *, asked: int | None = None) -> str:
    """The page of a sign-in that failed. Nobody is signed in, and the cookie is gone."""
    assert answer.status == 400, answer
    assert session_in(answer) is None
    assert "loci_sign_in=; Max-Age=0" in (answer.header("set-cookie") or "")
    if asked is not None:
        assert len(browser.issuer.used) == asked
    return answer.body.decode()


def test_who_comes_the_right_way_is_signed_in(browser: Browser) -> None:
    cookie = browser.signed_in()
    client = browser.flow.client()
    wish = browser.flow.wish(client)
    form = browser.flow.form(wish, cookie)
    answer = browser.flow.decide(wish, cookie, form, "files:read")
    code = parameters(answer.header("location") or "")["code"]
    assert browser.flow.exchange(client, code).status == 200


def test_the_question_is_asked_with_pkce_state_and_nonce(browser: Browser) -> None:
    one, other = browser.begin().asked, browser.begin().asked
    assert (one["response_type"], one["code_challenge_method"], one["scope"]) == ("code", "S256", "openid")
    assert one["redirect_uri"] == f"{ISSUER}/ui/signed-in"
    for name in ("state", "nonce", "code_challenge"):
        assert len(one[name]) >= 43
        assert one[name] != other[name]


def test_what_a_browser_keeps_is_for_no_script_and_no_other_host(browser: Browser) -> None:
    attributes = set(browser.begin().set_cookie.split("; ")[1:])
    assert {"HttpOnly", "Secure", "SameSite=Lax", "Max-Age=600"} == attributes


@each("state", ["", "x", None])
def test_an_answer_without_its_state_is_forged(browser: Browser, state: str | None) -> None:
    begun, used = browser.begin(), len(browser.issuer.used)
    fields = {**browser.answered(begun), "state": state or ""}
    if state is None:
        del fields["state"]
    refused(browser, browser.back(fields, begun.cookie), asked=used)


def test_an_answer_to_another_browser_signs_nobody_in(browser: Browser) -> None:
    mine, others = browser.begin(), browser.begin()
    used = len(browser.issuer.used)
    refused(browser, browser.back(browser.answered(others), mine.cookie), asked=used)


@each("cookie", ["", "loci_sign_in=x", "loci_sign_in=eyJzdGF0ZSI6IngifQ.AAAA"])
def test_a_browser_that_has_begun_nothing_is_not_signed_in(browser: Browser, cookie: str) -> None:
    """Nobody signs somebody else in as themselves."""
    used = len(browser.issuer.used)
    refused(browser, browser.back(browser.answered(browser.begin()), cookie), asked=used)


def test_a_cookie_of_another_purpose_is_none_of_this(browser: Browser) -> None:
    begun = browser.begin()
    visit = browser.signed_in().removeprefix("loci_visit=")
    refused(browser, browser.back(browser.answered(begun), f"loci_sign_in={visit}"))
    kept = begun.cookie.removeprefix("loci_sign_in=")
    answer = browser.flow.page(browser.flow.wish(browser.flow.client()), f"loci_visit={kept}")
    assert "sign-in" in (answer.header("location") or "")


def test_a_sign_in_that_took_too_long_begins_again(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loci.web.issuer_routes.SIGN_IN_SECONDS", -1)
    begun = browser.begin()
    refused(browser, browser.back(browser.answered(begun), begun.cookie))


@each("issuer", ["https://evil.test", "", None])
def test_an_answer_of_another_issuer_is_mixed_up(browser: Browser, issuer: str | None) -> None:
    begun, used = browser.begin(), len(browser.issuer.used)
    fields = {**browser.answered(begun), "iss": issuer or ""}
    if issuer is None:
        del fields["iss"]
    refused(browser, browser.back(fields, begun.cookie), asked=used)


def test_a_stolen_code_is_not_injected(browser: Browser) -> None:
    victim, attacker = browser.begin(), browser.begin()
    code = browser.answered(victim)["code"]
    refused(browser, browser.back({**browser.answered(attacker), "code": code}, attacker.cookie))


def test_a_stolen_code_is_not_injected_where_the_issuer_knows_no_pkce(browser: Browser) -> None:
    victim, attacker = browser.begin(), browser.begin()
    asked = {**attacker.asked, "nonce": victim.asked["nonce"]}
    fields = {**browser.answered(attacker), "code": browser.issuer.code(**asked)}
    assert "another sign-in" in refused(browser, browser.back(fields, attacker.cookie))


def test_an_answer_counts_once(browser: Browser) -> None:
    begun = browser.begin()
    fields = browser.answered(begun)
    assert browser.back(fields, begun.cookie).status == 200
    refused(browser, browser.back(fields, begun.cookie))


@each("twice", ["code", "state", "iss"])
def test_a_field_that_comes_twice_is_not_read(browser: Browser, twice: str) -> None:
    begun, used = browser.begin(), len(browser.issuer.used)
    fields = browser.answered(begun)
    answer = browser.back(f"{urlencode(fields)}&{urlencode({twice: fields[twice]})}", begun.cookie)
    refused(browser, answer, asked=used)


WRONG_CLAIMS: dict[str, dict[str, object]] = {
    "of another issuer": {"iss": "https://evil.test"},
    "for another client": {"aud": "another-client"},
    "for the endpoint": {"aud": f"{ISSUER}/mcp"},
    "for several without saying for whom": {"aud": [CLIENT, "another-client"]},
    "for several and another": {"aud": [CLIENT, "another-client"], "azp": "another-client"},
    "authorized for another": {"azp": "another-client"},
    "with another nonce": {"nonce": "n" * 43},
    "without a nonce": {"nonce": ...},
    "expired": {"exp": 1},
    "without an end": {"exp": ...},
    "without a subject": {"sub": ...},
    "with an empty subject": {"sub": ""},
    "for access": {"token_use": "access"},
}


@each("name", WRONG_CLAIMS)
def test_an_id_token_that_is_not_for_this_sign_in_names_nobody(browser: Browser, name: str) -> None:
    browser.issuer.changed = WRONG_CLAIMS[name]
    begun = browser.begin()
    refused(browser, browser.back(browser.answered(begun), begun.cookie))


Forge = Callable[[Browser, dict[str, Any]], object]
FORGED: dict[str, Forge] = {
    "of a key that is not the issuer's": lambda _, claims: signed(claims, new_rsa_key(), {"kid": "rsa"}),
    "of an unknown key": lambda _, claims: signed(claims, new_rsa_key(), {"kid": "new"}),
    "signed with the secret": lambda _, claims: signed(claims, SAID + SAID, {"kid": "rsa"}, "HS256"),
    "not signed": lambda _, claims: signed(claims, None, {"kid": "rsa"}, "none"),
    "an access token": lambda browser, _: browser.issuer.token(),
    "no text": lambda _, claims: claims,
    "nothing": lambda _, __: None,
    "too long": lambda _, __: "x" * 20_000,
}


@each("name", FORGED)
def test_a_forged_id_token_names_nobody(browser: Browser, name: str) -> None:
    begun = browser.begin()
    claims = browser.issuer.claims(aud=CLIENT, nonce=begun.asked["nonce"])
    browser.issuer.answered = {"id_token": FORGED[name](browser, claims)}
    refused(browser, browser.back(browser.answered(begun), begun.cookie))


def test_an_error_of_the_issuer_is_said_in_words_of_loci(browser: Browser) -> None:
    begun, used = browser.begin(), len(browser.issuer.used)
    fields = {"error": "access_denied", "error_description": "<b>call 555-0199", "state": begun.asked["state"]}
    page = refused(browser, browser.back({**fields, "iss": browser.issuer.url}, begun.cookie), asked=used)
    assert "did not sign you in" in page
    assert "555-0199" not in page


def test_a_code_that_the_issuer_does_not_know_signs_nobody_in(browser: Browser) -> None:
    begun = browser.begin()
    page = refused(browser, browser.back({**browser.answered(begun), "code": "made-up"}, begun.cookie))
    assert "of the issuer" not in page


def test_a_wrong_secret_is_said(browser: Browser) -> None:
    browser.issuer.secret = "another"
    begun = browser.begin()
    assert "oidc_client_id" in refused(browser, browser.back(browser.answered(begun), begun.cookie))


def test_a_secret_goes_where_the_issuer_reads_it(people: PeopleIssuer, tmp_path: Path) -> None:
    people.methods = ["client_secret_post"]
    with served(people, tmp_path) as browser:
        assert browser.signed_in()


@each("name", ["authorization_endpoint", "token_endpoint"])
@each("where", ["http://192.0.2.1/x", "ftp://127.0.0.1/x", "javascript:alert(1)", "", 5])
def test_nothing_goes_to_an_address_that_others_could_read(
    people: PeopleIssuer, tmp_path: Path, name: str, where: object
) -> None:
    people.pages = {}
    document = json.loads(urlopen(f"{people.url}{DISCOVERY}").read())
    people.pages = {DISCOVERY: json.dumps(document | {name: where}).encode()}
    with served(people, tmp_path) as fresh:
        if name == "authorization_endpoint":
            answer = fresh.flow.door.ask(Ask(headers=HERE, method="GET", target="/ui/issuer"))
        else:
            begun = fresh.begin()
            answer = fresh.back(fresh.answered(begun), begun.cookie)
    assert answer.status == 503
    assert session_in(answer) is None


@each("page", [b"<html>", b"[]", b"{}", b'{"issuer": "https://evil.test"}', b"[" * 100_000])
def test_an_issuer_that_describes_another_is_not_asked(people: PeopleIssuer, tmp_path: Path, page: bytes) -> None:
    people.pages = {DISCOVERY: page}
    with served(people, tmp_path) as browser:
        answer = browser.flow.door.ask(Ask(headers=HERE, method="GET", target="/ui/issuer"))
    assert (answer.status, answer.header("location")) == (503, None)
    assert "sign in with a key" in answer.body.decode()


def test_the_secret_follows_no_redirect(browser: Browser) -> None:
    begun = browser.begin()
    fields = browser.answered(begun)
    browser.issuer.moved = f"{browser.issuer.url}/elsewhere"
    answer = browser.back(fields, begun.cookie)
    assert (answer.status, session_in(answer)) == (503, None)
    assert "/elsewhere" not in browser.issuer.asked


@each(
    "to",
    ["https://evil.test", "//evil.test", "consent?wish=x&y=z", "approve", "../mcp", "javascript:alert(1)", 'x"><b>'],
)
def test_the_way_back_leads_to_pages_of_loci_only(browser: Browser, to: str) -> None:
    begun = browser.begin(to)
    answer = browser.back(browser.answered(begun), begun.cookie)
    assert 'content="0; url=home"' in answer.body.decode()
    assert answer.header("location") is None


def test_the_way_back_leads_to_the_question(browser: Browser) -> None:
    wish = browser.flow.wish(browser.flow.client()).removeprefix("/ui/")
    begun = browser.begin(wish)
    page = browser.back(browser.answered(begun), begun.cookie).body.decode()
    assert f'url={wish}"' in page


def test_a_token_of_the_issuer_lets_no_client_in(browser: Browser) -> None:
    """An access token is for the endpoint: whoever got hold of one must not turn it into a lasting connection."""
    flow = browser.flow
    cookie = flow.cookie(browser.issuer.token())
    assert cookie.startswith("loci_visit=")
    assert flow.page(flow.wish(flow.client()), cookie).status == 400


def test_an_id_token_is_no_access_token(browser: Browser) -> None:
    token = browser.issuer.token(aud=CLIENT, nonce="n")
    assert browser.flow.uses(token).status == 401


def test_who_lacks_a_scope_that_every_token_must_have_is_not_signed_in(people: PeopleIssuer, tmp_path: Path) -> None:
    with served(people, tmp_path, oidc_scopes="loci.use") as strict:
        begun = strict.begin()
        assert begun.asked["scope"] == "openid loci.use"
        people.answered = {"scope": "openid"}
        assert "loci.use" in refused(strict, strict.back(strict.answered(begun), begun.cookie))
        people.answered = {"scope": "openid loci.use"}
        assert strict.signed_in()


def test_what_came_from_the_issuer_ends_with_it(people: PeopleIssuer, tmp_path: Path) -> None:
    """Where nobody signs in there any more, sessions, consents and connections of its people are over."""
    with served(people, tmp_path) as before:
        cookie, client = before.signed_in(), before.flow.client()
        wish = before.flow.wish(client)
        decided = before.flow.decide(wish, cookie, before.flow.form(wish, cookie), "files:read")
        tokens = json.loads(before.flow.exchange(client, parameters(decided.header("location") or "")["code"]).body)
        assert before.flow.uses(tokens["access_token"]).status == 200
    with served(people, tmp_path, oidc_client_id=None) as browser:
        after = browser.flow
        assert after.uses(tokens["access_token"]).status == 401
        assert error(after.renew(client, tokens["refresh_token"])) == "invalid_grant"
        assert "sign-in" in (after.page(after.wish(client), cookie).header("location") or "")
        assert after.door.ask(Ask(headers=HERE, method="GET", target="/ui/issuer")).status == 404


def test_neither_secret_nor_code_nor_token_is_in_the_log(browser: Browser, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    begun = browser.begin()
    fields = browser.answered(begun)
    assert browser.back(fields, begun.cookie).status == 200
    browser.back(fields, begun.cookie)
    said = "".join(capfd.readouterr())
    assert "signed" in said
    for secret in (SAID, fields["code"], begun.asked["state"], begun.asked["nonce"], begun.cookie.partition("=")[2]):
        assert secret not in said
