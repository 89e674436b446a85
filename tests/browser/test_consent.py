"""The pages of sign-in and consent, as somebody uses them whom a client sends there."""

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.attack.issuer import issuing
from tests.attack.oauth.flow import CHALLENGE, VERIFIER
from tests.servers.ports import free_port
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.support.other_site import OtherSite, other_site
from tests.support.people_issuer import CLIENT, PeopleIssuer
from tests.support.polling import until

pytestmark = pytest.mark.browser
SECONDS = 30
CHOICES = "[...document.querySelectorAll('input[name=scope]')].map(one => one.value)"
CLICK = "const found = document.querySelector(arguments[0]); found.click(); return true"


@dataclass
class Served:
    """Loci with its authorization server, a client of it, and an issuer."""

    url: str
    key: str
    client: OtherSite
    issuer: PeopleIssuer
    ids: list[str] = field(default_factory=list[str])

    def connect(self, browser: Browser) -> None:
        """Do what somebody does in the client: the browser is led to Loci."""
        redirect = f"{self.client.url}/callback"
        told = {"client_name": "A notebook", "redirect_uris": [redirect]}
        self.ids.append(httpx2.post(f"{self.url}/register", json=told).json()["client_id"])
        fields = {
            "response_type": "code",
            "client_id": self.ids[-1],
            "redirect_uri": redirect,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": f"state-{len(self.ids)}",
            "scope": "documents:read files:read",
        }
        self.client.lead(browser, f"{self.url}/authorize?{urlencode(fields)}")

    def answer(self) -> dict[str, str]:
        """What the browser brought to the client."""
        state = f"state-{len(self.ids)}"
        return until(lambda: next((one for one in self.client.answers if one.get("state") == state), None), SECONDS)

    def token(self, code: str) -> dict[str, str]:
        form = {
            "grant_type": "authorization_code",
            "client_id": self.ids[-1],
            "code": code,
            "redirect_uri": f"{self.client.url}/callback",
            "code_verifier": VERIFIER,
        }
        answer = httpx2.post(f"{self.url}/token", data=form)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    port = free_port()
    with issuing(PeopleIssuer) as issuer, other_site() as client:
        url = f"http://127.0.0.1:{port}"
        told = {"data": tmp_path_factory.mktemp("consent"), "oauth": "built-in", "public_url": url}
        told |= {"oidc_issuer": issuer.url, "oidc_client_id": CLIENT, "log_level": "ERROR"}
        app = build_app(load_settings(told))
        key = app.api_keys.create(Owner("acme", "ann"), "ann")[1]
        with closing(app), uvicorn_door(asgi(app, on_loopback=True), port):
            yield Served(url, key, client, issuer)


def tab_to(browser: Browser, selector: str) -> None:
    """Press Tab until that part of the page has the focus."""
    for _ in range(12):
        browser.press("Tab")
        if browser.run("return document.activeElement.matches(arguments[0])", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


def is_asked(browser: Browser) -> None:
    """Wait for the question."""
    browser.until("document.querySelector('button[value=allow]') !== null")


@pytest.mark.smoke
def test_somebody_signs_in_with_a_key_and_allows_a_part_by_keyboard_alone(browser: Browser, served: Served) -> None:
    _asked_for_consent(browser, served)
    said = browser.run("return document.body.innerText")
    assert "A notebook" in said
    assert "this computer" in said
    assert browser.run(f"return {CHOICES}") == ["documents:read", "files:read"]
    tab_to(browser, "input[value='files:read']")
    browser.press(" ")
    tab_to(browser, "button[value=allow]")
    browser.press("Enter")
    answer = served.answer()
    assert answer["iss"] == served.url
    assert served.token(answer["code"])["scope"] == "documents:read"
    assert browser.complaints() == []


@pytest.mark.parametrize("page", ["question", "fault"])
def test_the_pages_fit_three_widths_in_light_and_dark_and_keep_nobody_out(
    browser: Browser, served: Served, page: str
) -> None:
    if page == "fault":
        browser.go(f"{served.url}/authorize?client_id=client-{'0' * 24}")
        browser.until("document.querySelector('h1 ~ p > code') !== null")
    else:
        _asked_for_consent(browser, served)
    for width in (360, 768, 1280):
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.resize(width, 800)
            assert browser.run("return document.documentElement.scrollWidth") <= width, (width, scheme)
            assert barriers(browser) == [], (width, scheme)


def test_a_connection_is_ended_by_keyboard_and_its_page_fits_in_light_and_dark(
    browser: Browser, served: Served
) -> None:
    _asked_for_consent(browser, served)
    browser.run(CLICK, "button[value=allow]")
    token = served.token(served.answer()["code"])["access_token"]
    browser.go(f"{served.url}/ui/settings")
    browser.until("location.pathname === '/ui/settings' && document.querySelector('#connections h3')")
    assert "A notebook" in browser.run("return document.querySelector('#connections h3').innerText")
    newest = browser.run("return document.querySelector('#connections li').dataset.id")
    browser.run(CLICK, "#connections .gone")
    for width in (360, 1280):
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.resize(width, 800)
            assert browser.run("return document.documentElement.scrollWidth") <= width, (width, scheme)
            assert barriers(browser) == [], (width, scheme)
    browser.go(f"{served.url}/ui/settings")
    browser.run("document.getElementById('content').focus()")
    tab_to(browser, "#connections .gone")
    browser.press("Enter")
    tab_to(browser, "dialog .gone")
    browser.press("Enter")
    browser.until("document.getElementById('said').innerText === 'Ended'")
    # Other tests of this server leave connections, which stay.
    assert newest not in browser.run(
        "return [...document.querySelectorAll('#connections li')].map(one => one.dataset.id)"
    )
    refused = httpx2.post(f"{served.url}/mcp", headers={"Authorization": f"Bearer {token}"}, json={})
    assert refused.status_code == 401
    assert browser.complaints() == []


def _asked_for_consent(browser: Browser, served: Served) -> None:
    served.connect(browser)
    browser.until("document.getElementById('key') !== null")
    browser.type("#key", served.key)
    browser.press("Enter")
    is_asked(browser)


def test_who_signed_in_before_is_asked_at_once_though_another_site_leads_here(browser: Browser, served: Served) -> None:
    _asked_for_consent(browser, served)
    served.connect(browser)
    is_asked(browser)
    browser.run(CLICK, "button[value=deny]")
    assert served.answer()["error"] == "access_denied"


def test_a_wrong_key_is_said_and_may_be_mended(browser: Browser, served: Served) -> None:
    served.connect(browser)
    browser.until("document.getElementById('key') !== null")
    browser.type("#key", "loci_wrong")
    browser.press("Enter")
    browser.until("document.querySelector('[role=alert]') !== null")
    browser.type("#key", served.key)
    browser.press("Enter")
    is_asked(browser)


def test_somebody_signs_in_at_the_issuer_and_comes_back_to_the_question(browser: Browser, served: Served) -> None:
    """The browser keeps strict cookies back on the way from the issuer: the page must lead on by itself."""
    served.connect(browser)
    browser.until("document.querySelector('a.button') !== null")
    assert urlsplit(served.issuer.url).netloc in browser.run("return document.querySelector('a.button').innerText")
    browser.run(CLICK, "a.button")
    is_asked(browser)
    browser.run(CLICK, "button[value=allow]")
    assert served.token(served.answer()["code"])["scope"] == "documents:read files:read"
    browser.go(f"{served.url}/ui/graph")
    browser.until("document.getElementById('counts') !== null")


@pytest.mark.smoke
def test_no_other_site_shows_the_question_in_a_frame(browser: Browser, served: Served, tmp_path: Path) -> None:
    served.connect(browser)
    browser.until("document.getElementById('key') !== null")
    browser.type("#key", served.key)
    browser.press("Enter")
    is_asked(browser)
    page = tmp_path / "evil.html"
    page.write_text(f"<iframe id=shown src={json.dumps(browser.url())}></iframe>", "utf-8")
    browser.go(page.as_uri())
    browser.until("document.readyState === 'complete'")
    browser.enter("#shown")
    assert browser.until("location.href !== 'about:blank' && location.href").startswith("chrome-error:")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_ask_nobody_else(browser: Browser, served: Served, scheme: str) -> None:
    browser.prefer(scheme)
    browser.go(f"{served.url}/ui/sign-in")
    browser.until("document.getElementById('key') !== null")
    assert {urlsplit(one).netloc for one in browser.requests() if one.startswith("http")} == {
        urlsplit(served.url).netloc
    }
    assert browser.complaints() == []
