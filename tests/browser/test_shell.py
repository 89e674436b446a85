"""What all pages have in common: the bar, three widths, light and dark, the keyboard, and no barriers."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from loci.web.page import PLACES
from tests.browser.flows import GATED, Flows, flows
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.support.serving import loci, serving
from tests.surface.workflows.conftest import task

pytestmark = pytest.mark.browser
WIDTHS = (360, 768, 1280)
PAGES = (*PLACES, "run")
WIDE = "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Generator[Flows]:
    """A server with a bit of everything."""
    folder = tmp_path_factory.mktemp("shell")
    with flows(folder) as running:
        app = running.flow.app
        app.documents.parts.library.add(LOCAL, "boat.md", b"# Boats\n\nSee [[harbour]].\n")
        app.files.add(LOCAL, "boat.md", b"# Boats\n\nThe ferry leaves at dawn.")
        app.files.add(LOCAL, "empty.txt", b" ")
        running.waits(task("t1", "echo", value=1), task("bad", "fail") | {"on_error": "continue"}, GATED)
        yield running


def address(at: Flows, page: str) -> str:
    [asked] = at.flow.app.workflows.views.questions(LOCAL)
    return f"{at.url}/runs/{asked['workflow_id']}" if page == "run" else f"{at.url}/{page}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_three_widths_in_light_and_dark_and_keeps_nobody_out(
    browser: Browser, at: Flows, page: str
) -> None:
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.resize(width, 800)
            browser.go(address(at, page))
            assert browser.run(WIDE) <= width, (width, scheme)
            assert barriers(browser) == [], (width, scheme)
    assert browser.complaints() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_what_opens_beside_a_page_keeps_nobody_out(browser: Browser, at: Flows, width: int) -> None:
    browser.resize(width, 800)
    browser.go(f"{at.url}/files")
    browser.run("[...document.querySelectorAll('#files a')].find((one) => one.innerText === 'boat.md').click()")
    browser.until("document.querySelector('#passages article')")
    assert barriers(browser) == []
    browser.go(f"{at.url}/graph#boat")
    browser.until("!document.getElementById('detail').hidden")
    assert barriers(browser) == []
    browser.go(f"{address(at, 'run')}#bad")
    browser.until("document.querySelector('#detail-body pre')")
    assert barriers(browser) == []
    assert browser.run(WIDE) <= width


@pytest.mark.parametrize("page", PAGES)
def test_the_keyboard_reaches_the_navigation_and_can_skip_it(browser: Browser, at: Flows, page: str) -> None:
    browser.go(address(at, page))
    browser.press("Tab")
    assert browser.run("return document.activeElement.id") == "skip"
    browser.press("Tab")
    assert browser.run("return document.activeElement.id") == "mark"
    browser.press("Tab")
    assert browser.run("return document.activeElement.parentNode.id") == "places"
    browser.go(address(at, page))
    browser.press("Tab")
    browser.press("Enter")
    assert browser.run("return document.activeElement.id") == "content"


@pytest.mark.parametrize("page", PAGES)
def test_the_bar_leads_from_every_page_to_every_other_one(browser: Browser, at: Flows, page: str) -> None:
    browser.go(address(at, page))
    links = browser.run("return [...document.querySelectorAll('#places a')].map((one) => [one.innerText, one.href])")
    named = {**PLACES, "runs": "Runs 1 waiting for you"}
    assert [[" ".join(name.split()), url] for name, url in links] == [
        [title, f"{at.url}/{name}"] for name, title in named.items()
    ]
    assert browser.run("return document.getElementById('mark').href") == f"{at.url}/home"
    here = browser.run("return document.querySelector('#places [aria-current]').innerText")
    assert " ".join(here.split()) == named["runs" if page == "run" else page]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_comes_whole_in_one_small_answer(browser: Browser, at: Flows, page: str) -> None:
    browser.go(address(at, page))
    sizes = browser.run("return performance.getEntriesByType('navigation').map((one) => one.transferSize)")
    assert 0 < sum(sizes) <= 60_000
    later = ("seen=", "/events?", "settings/health")  # what a page asks again and again, and what takes long
    asked = [one for one in browser.requests() if not any(part in one for part in later)]
    assert len(asked) == 1  # all that it needs came with it


@pytest.mark.smoke
def test_who_signed_in_signs_out_from_a_page_below(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = json.loads(loci(data, "keys", "create", "--json").stdout)["key"]
    with serving(data, LOCI_AUTH="required") as server:
        browser.go(f"{server.url}/ui/runs")
        browser.type("#key", f"{key}\n")
        browser.until("location.pathname === '/ui/runs' && document.querySelector('#out button')")
        browser.run("document.querySelector('#out button').click()")
        browser.until("location.pathname === '/ui/sign-in'")
        assert barriers(browser) == []
