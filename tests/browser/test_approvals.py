"""The page of what waits for a person, as somebody uses it."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.browser.flows import GATED, HOSTILE, PIN, Flows, configured, flows, prove
from tests.support.browser import Browser
from tests.support.polling import until
from tests.support.serving import call, post, serving
from tests.surface.workflows.conftest import task

pytestmark = pytest.mark.browser
OPEN = "document.querySelectorAll('.question form').length"


@pytest.fixture
def at(tmp_path: Path) -> Generator[Flows]:
    with flows(tmp_path) as running:
        yield running


def said(browser: Browser) -> str:
    return browser.run("return document.querySelector('.said').innerText")


def test_a_question_shows_what_will_run_and_is_counted_in_the_title(browser: Browser, at: Flows) -> None:
    at.waits(
        task("t1", "echo", value="version 2"), task("deploy", "deploy", value="$t1.result.value") | {"approve": "human"}
    )
    browser.go(f"{at.url}/approvals")
    shown = browser.run("return document.querySelector('.question').innerText")
    assert "deploy wants to call journal:deploy" in shown
    assert '"value": "version 2"' in shown
    assert "Only a person may answer." in shown
    assert "own words: nobody has checked them" in shown
    assert "Deploy a version to production" in shown
    assert "It may destroy something" in shown
    assert browser.run("return document.title") == "(1) Approvals - Loci"
    assert browser.complaints() == []


@pytest.mark.smoke
def test_the_keyboard_alone_approves_with_a_note(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    browser.go(f"{at.url}/approvals")
    for _ in range(30):
        browser.press("Tab")
        if browser.run("return document.activeElement.matches('.question input')"):
            break
    for key in "fine":
        browser.press(key)
    browser.press("Enter")  # which must not answer
    assert browser.run(f"return {OPEN}") == 1
    browser.press("Tab")
    assert browser.run("return document.activeElement.innerText") == "Approve"
    browser.press("Enter")
    browser.until("document.activeElement.matches('dialog input')")
    browser.type("dialog input", "a wrong one\n")
    browser.until("document.querySelector('dialog [role=alert]').innerText.includes('PIN is wrong')")
    browser.type("dialog input", f"{PIN}\n")
    browser.until(f"{OPEN} === 0")
    assert said(browser) == "Approved: the workflow goes on."
    assert browser.run("return document.activeElement.className") == "said"
    browser.until("document.title === 'Approvals - Loci'")
    [decision] = at.run(id)["decisions"]
    assert (decision["what"], decision["reason"]) == ("approve deploy", "fine")


def test_a_question_appears_while_the_page_is_open_and_what_is_typed_stays(browser: Browser, at: Flows) -> None:
    at.waits(GATED)
    browser.go(f"{at.url}/approvals")
    browser.type(".question input", "half a no")
    at.waits(GATED)
    browser.until("document.title === '(2) Approvals - Loci'")
    assert browser.run("return document.querySelector('.question input').value") == "half a no"
    assert browser.run("return document.activeElement.matches('.question input')")
    # A tab that nobody sees only counts, and seldom.
    browser.run(
        """const later = window.setTimeout;
        window.setTimeout = (call, ms) => later(call, ms === 30000 ? 20 : ms);
        Object.defineProperty(document, 'hidden', { value: true, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));"""
    )
    at.waits(GATED)
    browser.until("document.title === '(3) Approvals - Loci'")
    assert browser.run(f"return {OPEN}") == 2
    browser.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'));")
    browser.until(f"{OPEN} === 3")


def test_of_two_tabs_the_second_learns_that_it_is_answered(browser: Browser, at: Flows) -> None:
    at.waits(GATED)
    first = browser.tab()
    browser.go(f"{at.url}/approvals")
    second = browser.new_tab()
    browser.go(f"{at.url}/approvals")
    try:
        # This tab looks no more by itself, so what it shows is old.
        browser.run("Object.defineProperty(document, 'hidden', { value: true })")
        browser.show(first)
        browser.type(".question input", "by the first")
        browser.run("document.querySelectorAll('.question button')[1].click()")
        browser.until(f"{OPEN} === 0")
        assert said(browser) == "Rejected: it does not run."
        browser.show(second)
        assert browser.run(f"return {OPEN}") == 1
        browser.run("document.querySelector('.question button').click()")
        browser.until(f"{OPEN} === 0")
        told = "This question is answered already: reject deploy by somebody at this machine, “by the first”."
        assert said(browser) == told
    finally:
        browser.show(second)
        browser.close_tab(first)
    assert at.deployed() == 0


def test_a_tab_that_looks_learns_it_by_itself(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    browser.go(f"{at.url}/approvals")
    at.decide(id, "by phone")
    browser.until(f"{OPEN} === 0")
    assert said(browser) == "This question is answered already: approve deploy by a person, “by phone”."
    browser.until("document.getElementById('counts').innerText === 'Nothing waits for you.'")


def test_an_answered_question_leaves_the_next_one_in_its_place(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    at.waits(GATED)
    browser.go(f"{at.url}/approvals")
    browser.until(f"{OPEN} === 2")
    place = "[...document.querySelectorAll('.question button')].at(-1).getBoundingClientRect().top + scrollY"
    before = browser.run(f"return {place}")
    at.decide(id)
    browser.until(f"{OPEN} === 1")
    assert browser.run(f"return {place}") == before, "a second click would answer another question"
    assert browser.complaints() == []


def test_two_who_approve_at_once_run_it_once(browser: Browser, at: Flows) -> None:
    at.waits(GATED)
    first = browser.tab()
    browser.go(f"{at.url}/approvals")
    second = browser.new_tab()
    browser.go(f"{at.url}/approvals")
    prove(browser)
    try:
        browser.run("document.querySelector('.question button').click()")
        browser.show(first)
        browser.run("document.querySelector('.question button')?.click()")
        browser.until(f"{OPEN} === 0")
        told = [said(browser)]
        browser.show(second)
        browser.until(f"{OPEN} === 0")
        told.append(said(browser))
    finally:
        browser.show(second)
        browser.close_tab(first)
    assert sorted(one.partition(":")[0] for one in told) == ["Approved", "This question is answered already"]
    assert until(at.deployed) == 1


@pytest.mark.smoke
def test_nothing_that_a_tool_says_or_is_called_with_takes_effect(browser: Browser, tmp_path: Path) -> None:
    with flows(tmp_path, HOSTILE) as at:
        hostile = task("deploy", "deploy", value=HOSTILE) | {"approve": True, "intent": HOSTILE}
        at.waits(hostile)
        browser.go(f"{at.url}/approvals")
        shown = browser.run("return document.querySelector('.question').innerText")
        assert shown.count("<script>document.title='owned'</script>") == 3
        assert browser.run("return document.title") == "(1) Approvals - Loci"
        assert browser.run("return document.querySelectorAll('main img, main script, main b').length") == 0
        assert browser.complaints() == []


def test_a_page_that_was_left_open_goes_on_after_the_server_was_started_anew(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    configured(data, tmp_path / "journal.jsonl").close()
    with serving(data) as server:
        port = server.url.rpartition(":")[2]
        browser.go(f"{server.url}/ui/approvals")
        post(f"{server.url}/mcp", call("pml_execute_dag", {"workflow": {"tasks": [GATED]}}))
        browser.until("document.title === '(1) Approvals - Loci'")
        browser.type(".question input", "still here")
        server.stop()
        browser.until("document.getElementById('trouble')?.innerText.includes('cannot be reached')")
    with serving(data, "--port", port):
        browser.until("document.getElementById('trouble').hidden")
        assert browser.run("return document.querySelector('.question input').value") == "still here"
        prove(browser)
        browser.run("document.querySelector('.question button').click()")
        browser.until(f"{OPEN} === 0")
        assert said(browser) == "Approved: the workflow goes on."
        journal = tmp_path / "journal.jsonl"
        assert until(lambda: journal.exists() and journal.read_text().count('"end"')) == 1
