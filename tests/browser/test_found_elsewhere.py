"""The `url` of a result that a client got from `search`, opened by a person: with and without a sign-in on the way."""

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.attack.issuer import issuing
from tests.servers.ports import free_port
from tests.support.browser import Browser
from tests.support.other_site import OtherSite, other_site
from tests.support.people_issuer import CLIENT, PeopleIssuer
from tests.support.serving import call, post, serving

pytestmark = pytest.mark.browser
ANN = Owner("acme", "ann")
LINES = "".join(f"Line {number} of a long report.\n" for number in range(400))
REPORT = f"{LINES}The walrus costs twelve euros.\n{LINES}"
ODD = "a b/100% ü & #1.md"
NOTES = {ODD: "# Odd\n\nThe walrus has an odd name.\n", "harbour.md": "# Harbour\n\nThe ferry leaves at dawn.\n"}


@dataclass(frozen=True, slots=True)
class Loci:
    """A server that asks people for a key or leads them to an issuer, and a chat that found something in it."""

    url: str
    key: str
    chat: OtherSite

    def found(self, words: str) -> dict[str, str]:
        """The addresses of the results, by their titles."""
        return found(self.url, words, Authorization=f"Bearer {self.key}")

    def follow(self, browser: Browser, to: str) -> None:
        """Click a link in the chat."""
        self.chat.lead(browser, to)

    def sign_in(self, browser: Browser) -> None:
        browser.until("document.getElementById('key')")
        browser.type("#key", f"{self.key}\n")


def found(url: str, words: str, **headers: str) -> dict[str, str]:
    answer = post(f"{url}/mcp/search", call("search", {"query": words}), headers).message()
    [content] = answer["result"]["content"]
    return {one["title"]: one["url"] for one in json.loads(content["text"])["results"]}


@pytest.fixture(scope="module")
def loci(tmp_path_factory: pytest.TempPathFactory) -> Generator[Loci]:
    port = free_port()
    with issuing(PeopleIssuer) as issuer, other_site() as chat:
        url = f"http://127.0.0.1:{port}"
        told = {"data": tmp_path_factory.mktemp("found") / "data", "public_url": url, "log_level": "ERROR"}
        told |= {"models": told["data"].parent / "models", "auth": "required"}  # type: ignore[union-attr]
        app = build_app(load_settings({**told, "oidc_issuer": issuer.url, "oidc_client_id": CLIENT}))
        for path, text in NOTES.items():
            app.documents.parts.library.add(ANN, path, text.encode())
        app.files.add(ANN, "report.txt", REPORT.encode(), wait=60)
        key = app.api_keys.create(ANN, "ann")[1]
        with closing(app), uvicorn_door(asgi(app, on_loopback=True), port):
            yield Loci(url, key, chat)


def reads(browser: Browser, css: str, text: str) -> None:
    browser.until(f"document.querySelector('{css}')?.innerText.includes({json.dumps(text)})")


def test_on_a_laptop_each_address_shows_its_document_or_its_passage(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    app = build_app(load_settings({"data": data, "models": tmp_path / "models", "log_level": "ERROR"}))
    for path, text in NOTES.items():
        app.documents.parts.library.add(LOCAL, path, text.encode())
    app.files.add(LOCAL, "report.txt", REPORT.encode(), wait=60)
    app.close()
    with serving(data) as server:
        urls = found(server.url, "walrus")
        assert all(one.startswith(f"{server.url}/ui/") for one in urls.values())
        browser.go(urls.pop("Odd"))
        reads(browser, "#document-text", "an odd name")
        [(title, passage)] = urls.items()
        assert title.startswith("report.txt, ")
        browser.go(passage)
        reads(browser, "#passages article.wanted", "twelve euros")
    assert browser.complaints() == []


def test_a_sign_in_leads_on_to_the_document(browser: Browser, loci: Loci) -> None:
    loci.follow(browser, loci.found("walrus")["Odd"])
    loci.sign_in(browser)
    reads(browser, "#document-text", "an odd name")
    assert browser.url() == loci.found("walrus")["Odd"]


def test_a_sign_in_leads_on_to_the_passage_also_after_a_wrong_key(browser: Browser, loci: Loci) -> None:
    [passage] = [url for title, url in loci.found("walrus").items() if title.startswith("report.txt")]
    loci.follow(browser, passage)
    browser.until("document.getElementById('key')")
    browser.type("#key", "loci_wrong\n")
    browser.until("document.querySelector('[role=alert]')")
    loci.sign_in(browser)
    reads(browser, "#passages article.wanted", "twelve euros")


def test_who_is_signed_in_comes_from_another_site_without_a_form(browser: Browser, loci: Loci) -> None:
    browser.go(f"{loci.url}/ui/sign-in")
    loci.sign_in(browser)
    browser.until("location.pathname === '/ui/home'")
    loci.follow(browser, loci.found("ferry")["Harbour"])
    reads(browser, "#document-text", "leaves at dawn")
    assert browser.complaints() == []


def test_a_page_that_is_asked_for_later_opens_nothing_by_itself(browser: Browser, loci: Loci) -> None:
    loci.follow(browser, loci.found("ferry")["Harbour"])
    loci.sign_in(browser)
    reads(browser, "#document-text", "leaves at dawn")
    browser.go(f"{loci.url}/ui/search")
    browser.until("document.getElementById('search')")
    assert browser.run("return document.getElementById('detail').hidden")


def test_the_place_is_kept_over_the_way_to_the_issuer(browser: Browser, loci: Loci) -> None:
    wanted = loci.found("ferry")["Harbour"]
    loci.follow(browser, wanted)
    browser.until("document.querySelector('a.button')")
    browser.run("document.querySelector('a.button').click()")
    browser.until("location.pathname === '/ui/search'")
    browser.until("!document.getElementById('detail').hidden")  # which this person does not have
    assert browser.url() == wanted
