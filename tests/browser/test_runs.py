"""The pages of runs, as somebody watches them."""

from collections.abc import Generator
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from tests.browser.flows import GATED, HOSTILE, Flows, approve, configured, flows
from tests.support.axe import barriers
from tests.support.browser import PATIENCE, Browser
from tests.support.polling import until
from tests.support.serving import call, post, serving
from tests.surface.workflows.conftest import task

pytestmark = pytest.mark.browser


@pytest.fixture
def at(tmp_path: Path) -> Generator[Flows]:
    with flows(tmp_path) as running:
        yield running


def over(at: Flows, id: str) -> None:
    until(lambda: at.run(id)["ended"], PATIENCE)


def state(browser: Browser, id: str) -> str:
    """The classes of a task in the picture."""
    return browser.run("return document.querySelector(`a[href='#${arguments[0]}']`).getAttribute('class')", id)


def becomes(browser: Browser, id: str, state: str) -> None:
    browser.until("document.querySelector(`a.${arguments[1]}[href='#${arguments[0]}']`)", id, state)


def status(browser: Browser) -> str:
    return browser.run("return document.getElementById('status').innerText")


@pytest.mark.smoke
def test_a_run_is_watched_from_its_start_to_its_end(browser: Browser, at: Flows, tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = task("slow", "wait_for", "t1", file=str(go))
    plan = (task("t1", "items"), slow, {**GATED, "dependsOn": ["slow"]}, task("after", "note", "deploy", value=1))
    browser.go(f"{at.url}/runs")
    assert "No workflow has run" in browser.run("return document.querySelector('#runs .counts').innerText")
    id = at.begin(*plan)
    browser.until("document.querySelector('#runs a')")
    assert browser.run("return document.querySelector('#runs .match').innerText") == "running"
    browser.run("document.querySelector('#runs a').focus()")
    browser.press("Enter")
    browser.until("location.pathname.startsWith('/ui/runs/')")
    becomes(browser, "slow", "running")
    assert [state(browser, one) for one in ("t1", "deploy", "after")] == [
        "node success",
        "node waiting",
        "node waiting",
    ]
    assert status(browser) == "running"
    go.touch()
    becomes(browser, "deploy", "asks")
    assert status(browser) == "waiting"
    browser.run("document.querySelector('#asked a').click()")
    browser.until("location.pathname === '/ui/approve'")
    browser.type("#feedback", "go live")
    approve(browser)
    browser.run("document.querySelector('main a').click()")
    browser.until("location.pathname.startsWith('/ui/runs/')")
    becomes(browser, "after", "success")
    browser.until("document.querySelector('#status.complete')")
    assert browser.run("return document.title").startswith("complete: journal:items, ")
    assert id in browser.run("return document.getElementById('origin').innerText")
    assert browser.run("return document.getElementById('abort')") is None
    told = browser.run("return document.getElementById('answers').innerText")
    assert "approve deploy by the person with the PIN, “go live”" in told
    assert browser.complaints() == []


def test_a_task_that_was_tried_again_tells_of_its_tries(browser: Browser, at: Flows) -> None:
    id = at.waits(task("t1", "flaky", key="a") | {"retry": 1}, {**GATED, "dependsOn": ["t1"]})
    browser.go(f"{at.url}/runs/{id}#t1")
    browser.until("document.getElementById('detail-body').innerText.includes('Try 1 failed: ')")
    assert "done, " in browser.run("return document.getElementById('detail-line').innerText")
    assert ", try 2" in browser.run("return document.getElementById('detail-line').innerText")


def test_a_workflow_that_failed_is_said_to_have_failed(browser: Browser, at: Flows) -> None:
    id = at.begin(task("bad", "fail"))
    over(at, id)
    browser.go(f"{at.url}/runs/{id}")
    assert status(browser) == "failed"


def test_the_keyboard_walks_among_the_tasks_and_reads_one(browser: Browser, at: Flows) -> None:
    id = at.waits(task("t1", "items"), task("t2", "echo", value="$t1.result.items[0].name"), GATED)
    browser.go(f"{at.url}/runs/{id}")
    browser.run("document.getElementById('picture').focus()")
    browser.press("Tab")
    assert browser.run("return document.activeElement.getAttribute('href')") == "#t1"
    browser.press("Right")
    assert browser.run("return document.activeElement.getAttribute('href')") == "#t2"
    browser.press("Enter")
    browser.until("document.getElementById('detail-body').innerText.includes('Result')")
    assert "journal:echo: done" in browser.run("return document.getElementById('detail-line').innerText")
    parts = browser.run("return document.getElementById('detail-body').innerText")
    assert '"value": "a"' in parts
    assert "$t1.result.items[0].name" in parts
    browser.press("Escape")
    assert browser.run("return document.getElementById('detail').hidden")
    assert browser.run("return document.activeElement.getAttribute('href')") == "#t2"


def test_a_large_result_is_shown_when_somebody_wants_all_of_it(browser: Browser, at: Flows) -> None:
    id = at.waits(task("t1", "large", characters=50_000), GATED)
    browser.go(f"{at.url}/runs/{id}#t1")
    browser.until("document.querySelector('#detail-body .act')")
    long = "return document.querySelector('#detail-body pre').innerText.length"
    assert browser.run(long) == 20_000
    browser.run("document.querySelector('#detail-body .act').click()")
    browser.until("document.querySelector('#detail-body pre').innerText.length > 50000")


def test_a_run_is_aborted_with_a_reason(browser: Browser, at: Flows, tmp_path: Path) -> None:
    id = at.begin(task("slow", "wait_for", file=str(tmp_path / "never")), task("t2", "note", "slow", value=1))
    browser.go(f"{at.url}/runs/{id}")
    browser.run("document.getElementById('abort').click()")
    browser.press("Escape")
    assert status(browser) == "running"
    browser.run("document.getElementById('abort').click()")
    browser.type("dialog input", "changed my mind\n")
    browser.until("document.querySelector('#status.aborted')")
    assert "changed my mind" in browser.run("return document.getElementById('answers').innerText")
    (tmp_path / "never").touch()


def test_a_run_that_waits_after_a_layer_goes_on_from_its_page(browser: Browser, at: Flows) -> None:
    id = at.begin(task("t1", "echo", value=1), task("t2", "note", "t1", value=2), by_layer=True)
    browser.go(f"{at.url}/runs/{id}")
    browser.until("document.querySelector('#asked a')")
    assert "Next: t2." in browser.run("return document.getElementById('asked').innerText")
    browser.run("document.querySelector('#asked a').click()")
    approve(browser, "")
    browser.go(f"{at.url}/runs/{id}")
    becomes(browser, "t2", "success")


def test_nothing_in_a_run_takes_effect(browser: Browser, tmp_path: Path) -> None:
    with flows(tmp_path, HOSTILE) as at:
        failing = task("bad", "fail", message=HOSTILE) | {"on_error": "continue"}
        id = at.waits(task("t1", "echo", value=HOSTILE), failing, task("t2", "echo", value="$t1.result.value"), GATED)
        for tool in ("t1", "t2", "bad"):
            browser.go(f"{at.url}/runs/{id}#{tool}")
            browser.until("document.querySelector('#detail-body pre')")
            assert "<script>document.title='owned'</script>" in browser.run("return document.body.innerText")
            assert browser.run("return document.title") == "waiting: journal:echo, journal:fail, journal:deploy - Loci"
            held = "return document.querySelectorAll('main img, aside img, main script, aside script, body b').length"
            assert browser.run(held) == 0
        browser.go(f"{at.url}/runs")
        assert browser.run("return document.title") == "(1) Runs - Loci"
        assert browser.complaints() == []


def test_a_picture_of_two_hundred_tasks_is_there_at_once(browser: Browser, at: Flows) -> None:
    first = [task(f"a{number}", "echo", value=number) for number in range(100)]
    second = [task(f"b{number}", "echo", f"a{number}", value=number) for number in range(99)]
    id = at.waits(*first, *second, GATED)
    browser.go(f"{at.url}/runs/{id}")
    for view in ("graph", "timeline"):
        browser.run("document.querySelector(`#views [value=${arguments[0]}]`).click()", view)
        assert browser.run("return document.querySelectorAll('#picture a').length") == 200
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")


def test_the_list_shows_what_fits_the_filter_in_its_address(browser: Browser, at: Flows) -> None:
    for one in (task("t1", "fail"), task("t1", "echo", value=1)):
        over(at, at.begin(one))
    browser.go(f"{at.url}/runs?text=journal")
    titles = "[...document.querySelectorAll('#runs .title')].map((one) => one.innerText).join()"
    assert browser.run(f"return {titles}") == "journal:echo,journal:fail"
    browser.run("document.querySelector('#states [value=error]').click()")
    browser.until(f"{titles} === 'journal:fail'")
    assert browser.url().endswith("/ui/runs?text=journal&state=error")
    browser.run("document.querySelector('#runs .title').click()")
    browser.until("document.getElementById('again')")
    assert browser.url().endswith(f"/ui/runs/{at.flow.app.workflows.views.all(LOCAL)[1]['id']}")
    browser.run("history.back()")
    browser.until("document.querySelector('#states [value=error]')?.getAttribute('aria-pressed') === 'true'")
    assert browser.run(f"return {titles}") == "journal:fail"
    browser.type("#search", " nothing")
    browser.until("document.querySelector('#runs .counts').innerText === 'No run fits.'")
    assert browser.complaints() == []


def test_the_timeline_stays_chosen_and_shows_the_wait_for_a_person(browser: Browser, at: Flows) -> None:
    id = at.waits(task("t1", "echo", value=1), {**GATED, "dependsOn": ["t1"]}, task("after", "note", "deploy", value=1))
    at.decide(id)
    over(at, id)
    browser.go(f"{at.url}/runs/{id}")
    browser.run("document.querySelector('#views [value=timeline]').click()")
    assert browser.url().endswith("?as=timeline")
    browser.go(browser.url())
    waited = "return [...document.querySelectorAll('#timeline .wait')].map((one) => one.closest('a')?.hash).join()"
    assert browser.run(waited) == "#deploy"
    lines = "return [...document.querySelectorAll('#timeline a')].map((one) => one.hash).join()"
    assert browser.run(lines) == "#t1,#deploy,#after"
    browser.run("document.querySelector('#timeline a').focus()")
    browser.press("Down")
    browser.press("+")
    assert browser.run("const box = document.getElementById('picture'); return box.scrollWidth > box.clientWidth")
    browser.press("0")
    assert browser.run("const box = document.getElementById('picture'); return box.scrollWidth <= box.clientWidth")
    browser.press("Enter")
    browser.until("document.getElementById('detail-title').innerText === 'deploy'")
    assert browser.url().endswith("?as=timeline#deploy")
    assert barriers(browser) == []
    assert browser.complaints() == []


def test_a_run_is_started_again_from_its_page_and_asks_again(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    at.decide(id)
    over(at, id)
    browser.go(f"{at.url}/runs/{id}")
    browser.run("document.getElementById('again').click()")
    assert "Called: journal:deploy." in browser.run("return document.querySelector('dialog').innerText")
    browser.run("document.querySelector('dialog .gone').click()")
    browser.until("document.querySelector('#asked a')")
    assert id in browser.run("return document.getElementById('origin').innerText")
    assert at.deployed() == 1
    browser.run("document.querySelector('#asked a').click()")
    approve(browser)
    assert until(at.deployed) == 2
    assert browser.complaints() == []


def test_an_open_page_learns_of_a_change_by_an_event(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    browser.go(f"{at.url}/runs/{id}")
    # As soon as it hears events it asks by itself after ten seconds only, and from now on never.
    browser.run(
        """const later = window.setTimeout;
        window.setTimeout = (call, ms) => (ms < 10_000 ? later(call, ms) : (window.hears = true) && 0);
        document.dispatchEvent(new Event('visibilitychange'));"""
    )
    browser.until("window.hears")
    at.decide(id)
    browser.until("document.querySelector('#status.complete')")


def test_a_run_s_page_that_was_left_open_goes_on_after_the_server_was_started_anew(
    browser: Browser, tmp_path: Path
) -> None:
    data, journal = tmp_path / "data", tmp_path / "journal.jsonl"
    configured(data, journal).close()
    with serving(data) as server:
        port = server.url.rpartition(":")[2]
        tasks = [task("t1", "items"), {**GATED, "dependsOn": ["t1"]}, task("after", "note", "deploy", value=1)]
        post(f"{server.url}/mcp", call("pml_execute_dag", {"workflow": {"tasks": tasks}}))
        browser.go(f"{server.url}/ui/runs")
        browser.until("document.querySelector('#runs a')")
        browser.run("document.querySelector('#runs a').click()")
        browser.until("document.querySelector('#asked a')")
        server.stop()
        browser.until("document.getElementById('trouble')?.innerText.includes('cannot be reached')")
        assert state(browser, "t1") == "node success"  # what was there is still to be seen
    with serving(data, "--port", port):
        browser.until("document.getElementById('trouble').hidden")
        browser.run("document.querySelector('#asked a').click()")
        browser.until("location.pathname === '/ui/approve'")
        approve(browser)
        browser.run("document.querySelector('main a').click()")
        becomes(browser, "after", "success")
        browser.until("document.querySelector('#status.complete')")
        told = browser.run("return document.getElementById('answers').innerText")
        assert "approve deploy by the person with the PIN" in told
