"""The start page in a browser: the first steps, what waits, and what is here."""

from collections.abc import Generator
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from tests.browser.flows import GATED, Flows, flows
from tests.support.browser import Browser
from tests.support.serving import serving

pytestmark = pytest.mark.browser
WAITS = "const one = document.getElementById('waits'); return [!one.hidden, one.firstChild.innerText]"
ROWS = """return [...document.querySelectorAll('.chart tr')].slice(1).map((row) =>
    [...row.cells].map((one) => one.textContent))"""
MIDDLE = """const box = document.querySelector('.plot .first').getBoundingClientRect();
    return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]"""
LINES = "return [...document.querySelectorAll('#begin pre')].map((one) => one.innerText)"


@pytest.fixture
def at(tmp_path: Path) -> Generator[Flows]:
    with flows(tmp_path) as running:
        yield running


def test_an_empty_server_shows_the_first_steps_with_the_lines_that_it_said_at_its_start(
    browser: Browser, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with serving(data) as server:
        browser.go(f"{server.url}/")
        browser.until("location.pathname === '/ui/home'")
        browser.until("!document.getElementById('begin').hidden")
        ingest, code, other, search = browser.run(LINES)
        assert code in server.welcome
        assert other in server.welcome
        for command in (ingest, search):
            assert command.startswith("loci ")
            assert command.endswith(f" --data {data}")
        assert browser.run("return document.getElementById('contents').checkVisibility()") is False
        assert browser.complaints() == []


def test_what_waits_is_there_until_it_is_answered_elsewhere(browser: Browser, at: Flows) -> None:
    id = at.waits(GATED)
    browser.go(f"{at.url}/home")
    assert browser.run("return document.querySelector('#waiting h3').innerText").startswith("deploy wants to call")
    assert "waiting" in browser.run("return document.querySelector('#runs h3').innerText")
    at.decide(id)
    browser.until("document.getElementById('waiting').hidden")
    browser.until("document.querySelector('#runs h3').innerText.includes('complete')")
    assert browser.complaints() == []


@pytest.mark.parametrize("page", ["home", "runs", "runs/{}"])
def test_a_live_page_keeps_the_number_of_questions_in_the_bar(browser: Browser, at: Flows, page: str) -> None:
    first = at.waits(GATED)
    browser.go(f"{at.url}/{page.format(first)}")
    assert browser.run(WAITS) == [True, "1"]
    second = at.waits(GATED)
    browser.until(f"(() => {{ {WAITS} }})()[1] === '2'")
    at.decide(second)
    browser.until(f"(() => {{ {WAITS} }})()[1] === '1'")
    at.decide(first)
    browser.until(f"!(() => {{ {WAITS} }})()[0]")
    assert browser.complaints() == []


def test_a_chart_tells_each_day_to_the_mouse_to_the_keyboard_and_in_a_table(browser: Browser, at: Flows) -> None:
    for number in range(3):
        at.flow.app.documents.parts.library.add(LOCAL, f"note {number}.md", b"# Note\n")
    browser.resize(1280, 800)
    browser.go(f"{at.url}/home")
    told, whole = "return document.querySelector('.chart p').innerText", "3 documents, 0 files in 30 days"
    assert browser.run(told) == whole
    rows = browser.run(ROWS)
    days = [f"{day}: {documents} documents, {files} files" for day, documents, files in rows]
    [at_day] = [number for number, row in enumerate(rows) if row[1:] == ["3", "0"]]
    assert len(rows) == 30
    browser.run("document.querySelector('.plot').scrollIntoView({ block: 'center' })")
    browser.point(*browser.run(MIDDLE))
    assert browser.run(told) == days[at_day]
    browser.point(5, 5)
    assert browser.run(told) == whole
    browser.run("document.querySelector('.plot').focus()")
    browser.press("Right")
    assert browser.run(told) == days[-1]
    browser.press("Left")
    assert browser.run(told) == browser.run("return document.getElementById('said').innerText") == days[-2]
    assert browser.complaints() == []


def test_a_large_library_is_counted_when_the_page_is_painted(browser: Browser, at: Flows) -> None:
    for number in range(60):
        at.flow.app.documents.parts.library.add(LOCAL, f"note {number}.md", b"# Note\n")
    browser.go(f"{at.url}/home")
    browser.until("document.querySelector('.tiles b')?.innerText === '60'")
    browser.run("document.querySelector('.tiles a').click()")
    browser.until("location.pathname === '/ui/graph'")
    assert browser.complaints() == []
