"""The pages without a bar: the sign-in, and what a signed link leads to. Three widths, light and dark, no barriers."""

from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.browser.flows import GATED, configured
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.support.polling import until
from tests.support.serving import Serving, call, post, serving

pytestmark = pytest.mark.browser
WIDTHS = (360, 768, 1280)
WIDE = "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
Asked = Callable[[], str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    configured(folder / "data", folder / "journal.jsonl").close()
    return folder / "data"


@pytest.fixture(scope="module")
def key(data: Path) -> str:
    """The key of a person, who may approve."""
    with closing(build_app(load_settings({"data": data, "models": data.parent / "models"}))) as app:
        return app.api_keys.create(LOCAL, "mine", is_person=True)[1]


@pytest.fixture(scope="module")
def server(data: Path, key: str) -> Generator[Serving]:
    with serving(data, LOCI_AUTH="required") as running:
        yield running


@pytest.fixture
def asked(server: Serving, key: str) -> Asked:
    """Begin a workflow that waits; the signed link that its caller got."""

    def begin() -> str:
        headers = {"Authorization": f"Bearer {key}"}
        answer = post(f"{server.url}/mcp", call("pml_execute_dag", {"workflow": {"tasks": [GATED]}}), headers).message()
        return str(answer["result"]["structuredContent"]["approval_url"])

    return begin


def signed_in(browser: Browser, key: str) -> None:
    browser.until("document.getElementById('key')")
    browser.type("#key", f"{key}\n")


def fits(browser: Browser) -> None:
    """The page in the window, whatever that is."""
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.resize(width, 800)
            assert browser.run(WIDE) <= width, (width, scheme)
            assert barriers(browser) == [], (width, scheme)


@pytest.mark.smoke
def test_the_sign_in(browser: Browser, server: Serving) -> None:
    browser.go(f"{server.url}/ui/runs")
    browser.until("document.getElementById('key')")
    fits(browser)
    assert browser.complaints() == []


def test_the_page_of_the_signed_link_before_and_after_the_answer(
    browser: Browser, server: Serving, key: str, asked: Asked, data: Path
) -> None:
    browser.go(asked())
    signed_in(browser, key)
    browser.until("document.querySelector('button[value=approve]')")
    shown = browser.run("return document.body.innerText")
    for one in (
        "v2",
        "Deploy a version to production",
        "writes",
        "Asked by somebody with the API key “",
    ):
        assert one in shown, one
    run, waiting = browser.run("return [...document.querySelectorAll('main a')].map((one) => one.pathname)")
    assert (run.startswith("/ui/runs/wf_"), waiting) == (True, "/ui/runs")
    fits(browser)
    browser.run("document.getElementById('feedback').focus()")
    for one in "fine":
        browser.press(one)
    browser.press("Tab")
    assert browser.run("return document.activeElement.innerText") == "Approve"
    browser.press("Enter")
    browser.until("document.querySelector('[role=status]')")
    assert "Approved: the workflow goes on." in browser.run("return document.body.innerText")
    fits(browser)
    journal = data.parent / "journal.jsonl"
    assert until(lambda: journal.exists() and journal.read_text().count('"end"')) == 1
    assert browser.complaints() == []


def test_a_link_that_was_followed_in_two_tabs_is_answered_once(
    browser: Browser, server: Serving, key: str, asked: Asked
) -> None:
    link, first = asked(), browser.tab()
    browser.go(link)
    signed_in(browser, key)
    browser.until("document.querySelector('button[value=reject]')")
    second = browser.new_tab()
    browser.go(link)
    browser.until("document.querySelector('button[value=approve]')")
    try:
        browser.show(first)
        browser.run("document.querySelector('button[value=reject]').click()")
        browser.until("document.querySelector('[role=status]')")
        browser.show(second)
        browser.run("document.querySelector('button[value=approve]').click()")
        browser.until("document.querySelector('[role=status]')")
        assert "answered already" in browser.run("return document.querySelector('[role=status]').innerText")
    finally:
        browser.show(second)
        browser.close_tab(first)
