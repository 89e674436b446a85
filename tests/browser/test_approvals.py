"""What waits for a person, on the page of runs, and the page of one question, as somebody uses them."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.browser.flows import GATED, HOSTILE, PIN, Flows, approve, configured, flows
from tests.support.browser import Browser
from tests.support.polling import until
from tests.support.serving import call, post, serving
from tests.surface.workflows.conftest import task

pytestmark = pytest.mark.browser
OPEN = "document.querySelectorAll('#waiting li').length"


@pytest.fixture
def at(tmp_path: Path) -> Generator[Flows]:
    with flows(tmp_path) as running:
        yield running


def opened(browser: Browser, at: Flows) -> None:
    """The page of the first question."""
    browser.go(f"{at.url}/runs")
    browser.run("document.querySelector('#waiting a').click()")
    browser.until("location.pathname === '/ui/approve'")


def said(browser: Browser) -> str:
    return browser.run("return document.querySelector('[role=status], [role=alert]').innerText")


def test_a_question_shows_what_will_run_and_is_counted_in_the_title(browser: Browser, at: Flows) -> None:
    at.waits(
        task("t1", "echo", value="version 2"), task("deploy", "deploy", value="$t1.result.value") | {"approve": "human"}
    )
    browser.go(f"{at.url}/runs")
    assert "deploy wants to call journal:deploy" in browser.run("return document.getElementById('waiting').innerText")
    assert browser.run("return document.title") == "(1) Runs - Loci"
    opened(browser, at)
    shown = browser.run("return document.querySelector('main').innerText")
    for told in (
        "deploy wants to call journal:deploy",
        "version 2",
        "Only a person may answer.",
        "own words: nobody has checked them",
        "Deploy a version to production",
        "destructive",
    ):
        assert told in shown, told
    assert browser.complaints() == []


def test_the_answers_to_a_long_question_are_in_sight_without_scrolling(browser: Browser, tmp_path: Path) -> None:
    with flows(tmp_path, "\n".join(["Deploy a version to production, and tell those who wait for it."] * 60)) as at:
        at.waits(GATED)
        browser.resize(1280, 800)
        opened(browser, at)
        assert browser.run("return document.documentElement.scrollHeight") > 800
        for answer in ("approve", "reject"):
            bottom = browser.run(
                "return document.querySelector(arguments[0]).getBoundingClientRect().bottom", f"button[value={answer}]"
            )
            assert bottom <= 800


@pytest.mark.smoke
def test_the_keyboard_alone_approves_with_a_note_and_a_pin(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    browser.go(f"{at.url}/runs")
    browser.run("document.querySelector('#waiting a').focus()")
    browser.press("Enter")
    browser.until("document.getElementById('feedback')")
    browser.run("document.getElementById('feedback').focus()")
    for key in "fine":
        browser.press(key)
    browser.press("Tab")
    assert browser.run("return document.activeElement.id") == "pin"
    browser.press("Tab")
    assert browser.run("return document.activeElement.innerText") == "Approve"
    browser.press("Enter")
    browser.until("document.querySelector('[role=alert]')?.innerText.includes('Give your PIN')")
    approve(browser, "a wrong one")
    assert "PIN is wrong" in said(browser)
    assert at.deployed() == 0
    browser.type("#feedback", "fine")
    approve(browser)
    assert said(browser) == "Approved: the workflow goes on."
    [decision] = at.run(id)["decisions"]
    assert (decision["what"], decision["reason"]) == ("approve deploy", "fine")
    browser.go(f"{at.url}/runs")
    assert browser.run("return document.title") == "Runs - Loci"


def test_a_question_appears_while_the_page_is_open_and_is_gone_when_it_is_answered(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    browser.go(f"{at.url}/runs")
    at.waits(GATED)
    browser.until("document.title === '(2) Runs - Loci'")
    assert browser.run(f"return {OPEN}") == 2
    # A tab that nobody sees only counts, and seldom.
    browser.run(
        """const later = window.setTimeout;
        window.setTimeout = (call, ms) => later(call, ms === 30000 ? 20 : ms);
        Object.defineProperty(document, 'hidden', { value: true, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));"""
    )
    at.decide(id, "by phone")
    browser.until("document.title === '(1) Runs - Loci'")
    assert browser.run(f"return {OPEN}") == 1


def test_of_two_tabs_the_second_learns_that_it_is_answered(browser: Browser, at: Flows) -> None:
    at.waits(GATED)
    first = browser.tab()
    opened(browser, at)
    second = browser.new_tab()
    opened(browser, at)
    try:
        browser.show(first)
        browser.run("document.querySelector('button[value=reject]').click()")
        browser.until("document.querySelector('[role=status]')")
        assert said(browser) == "Rejected: it does not run."
        browser.show(second)
        approve(browser)
        assert "answered already" in said(browser)
    finally:
        browser.show(second)
        browser.close_tab(first)
    assert at.deployed() == 0


def test_two_who_approve_at_once_run_it_once(browser: Browser, at: Flows) -> None:
    at.waits(GATED)
    first = browser.tab()
    opened(browser, at)
    second = browser.new_tab()
    opened(browser, at)
    told = list[str]()
    try:
        for tab in (first, second):
            browser.show(tab)
            browser.type("#pin", PIN)
        for tab in (first, second):
            browser.show(tab)
            browser.run("document.querySelector('button[value=approve]').click()")
        for tab in (first, second):
            browser.show(tab)
            browser.until("document.querySelector('[role=status]')")
            told.append(said(browser))
    finally:
        browser.show(second)
        browser.close_tab(first)
    assert sorted(one.partition(":")[0].partition(",")[0] for one in told) == [
        "Approved",
        "This question is answered already",
    ]
    assert until(at.deployed) == 1


@pytest.mark.smoke
def test_nothing_that_a_tool_says_or_is_called_with_takes_effect(browser: Browser, tmp_path: Path) -> None:
    with flows(tmp_path, HOSTILE) as at:
        hostile = task("deploy", "deploy", value=HOSTILE) | {"approve": True, "intent": HOSTILE}
        at.waits(hostile)
        opened(browser, at)
        shown = browser.run("return document.querySelector('main').innerText")
        assert shown.count("<script>document.title='owned'</script>") == 3
        assert browser.run("return document.title") == "Approve a step"
        assert browser.run("return document.querySelectorAll('main img, main script, main b').length") == 0
        assert browser.complaints() == []


def test_a_page_that_was_left_open_goes_on_after_the_server_was_started_anew(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    configured(data, tmp_path / "journal.jsonl").close()
    with serving(data) as server:
        port = server.url.rpartition(":")[2]
        browser.go(f"{server.url}/ui/runs")
        post(f"{server.url}/mcp", call("pml_execute_dag", {"workflow": {"tasks": [GATED]}}))
        browser.until("document.title === '(1) Runs - Loci'")
        server.stop()
        browser.until("document.getElementById('trouble')?.innerText.includes('cannot be reached')")
    with serving(data, "--port", port):
        browser.until("document.getElementById('trouble').hidden")
        browser.run("document.querySelector('#waiting a').click()")
        browser.until("location.pathname === '/ui/approve'")
        approve(browser)
        assert said(browser) == "Approved: the workflow goes on."
        journal = tmp_path / "journal.jsonl"
        assert until(lambda: journal.exists() and journal.read_text().count('"end"')) == 1
