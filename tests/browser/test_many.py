"""Pages of somebody who has much, as they use them: the first things are there at once, the rest on demand."""

from pathlib import Path

import pytest

from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.workflows.parts import MOST_ACTIVE
from tests.browser.flows import approve, flows
from tests.browser.test_kept import Home, home
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.support.much import ask_many, learn_many

pytestmark = pytest.mark.browser


def text_of(page: Browser, css: str) -> str:
    return page.run("return document.querySelector(arguments[0]).innerText", css)


def rows(page: Browser, css: str) -> int:
    return page.run("return document.querySelectorAll(arguments[0]).length", css)


def filled(at: Home, number: int) -> None:
    for one in range(number):
        text = f"# Note {one}\n\nThe ferry number {one} sails. See [[note {one + 1}]].\n"
        at.app.documents.parts.library.add(LOCAL, f"note {one}.md", text.encode())


def test_a_graph_of_many_is_asked_for_when_its_page_is_painted(browser: Browser, tmp_path: Path) -> None:
    with home(tmp_path) as at:
        filled(at, 150)
        browser.go(f"{at.url}/graph#note-7")
        browser.until("document.getElementById('canvas').dataset.state === 'settled'")
        assert text_of(browser, "#counts") == "150 documents, 149 links"
        assert browser.run("return performance.getEntriesByType('navigation')[0].transferSize") <= 60_000
        assert [one for one in browser.requests() if "graph/picture" in one] == [f"{at.url}/graph/picture"]
        assert text_of(browser, "#detail-title") == "Note 7"
        browser.press("Escape")
        browser.press("/")
        browser.type("#search", "Note 149\n")
        browser.until("document.getElementById('detail-title').innerText === 'Note 149'")
        assert barriers(browser) == []
        assert browser.complaints() == []


def test_a_graph_that_does_not_come_is_said(browser: Browser, tmp_path: Path) -> None:
    with home(tmp_path) as at:
        filled(at, 60)
        browser.block("*graph/picture*")
        try:
            browser.go(f"{at.url}/graph")
            browser.until("document.getElementById('counts').innerText.includes('cannot show your documents')")
        finally:
            browser.block()


def test_capabilities_come_by_and_by_with_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    with home(tmp_path) as at:
        learn_many(at.app, LOCAL, 120)
        browser.go(f"{at.url}/tools")
        assert text_of(browser, "#learned .counts").endswith("of 120 capabilities")
        browser.until("document.querySelectorAll('#learned li').length === 50")
        browser.run("document.querySelector('#learned .step').focus()")
        browser.press("Enter")
        browser.until("document.querySelectorAll('#learned li').length === 120")
        assert browser.run("return document.querySelector('#learned .step').hidden")
        at_row = "return [...document.querySelectorAll('#learned li')].indexOf(document.activeElement.closest('li'))"
        assert browser.run(at_row) == 50
        assert barriers(browser) == []
        assert browser.complaints() == []


def test_questions_and_runs_come_by_and_by(browser: Browser, tmp_path: Path) -> None:
    with flows(tmp_path) as at:
        ask_many(at.flow.app, LOCAL_CALLER, MOST_ACTIVE)
        browser.go(f"{at.url}/runs")
        assert browser.run("return document.title") == f"({MOST_ACTIVE}) Runs - Loci"
        browser.until("document.querySelectorAll('#waiting li').length === 50")
        browser.run("document.querySelector('#waiting a').click()")
        browser.until("location.pathname === '/ui/approve'")
        assert "v0" in text_of(browser, ".arguments")
        approve(browser, "")
        assert "Approved" in text_of(browser, "[role=status]")
        browser.go(f"{at.url}/runs")
        browser.until(f"document.title === '({MOST_ACTIVE - 1}) Runs - Loci'")
        for name, number in (("waiting", MOST_ACTIVE - 1), ("runs", MOST_ACTIVE)):
            assert rows(browser, f"#{name} li") <= 50
            browser.run(f"document.querySelector('#{name} .step').click()")
            browser.until(f"document.querySelectorAll('#{name} li').length === {number}")
            assert browser.run(f"return document.querySelector('#{name} .step').hidden")
        assert barriers(browser) == []
        assert browser.complaints() == []
