"""Without a mouse: on every page the Tab key reaches all that can be used, and it shows where it is."""

from collections.abc import Generator

import pytest

from loci.core.identity import LOCAL
from loci.web.page import PLACES
from tests.browser.flows import GATED, Flows, flows
from tests.support.browser import Browser
from tests.support.much import learn_many
from tests.surface.workflows.conftest import task

pytestmark = pytest.mark.browser
USABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']"
FIND = """
const isSeen = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
window.usable = [...document.querySelectorAll(arguments[0])].filter(
  (one) => isSeen(one) && !one.disabled && one.type !== 'hidden' && one.tabIndex >= 0);
return window.usable.length;
"""
HERE = """
const one = document.activeElement;
const style = getComputedStyle(one);
const at = window.usable.indexOf(one);
const box = one.matches('.node') ? one.querySelector('rect') : null; // a task in the picture
const isSeen = style.outlineStyle !== 'none' || style.boxShadow !== 'none' || one.matches('#chosen') ||
  (box && parseFloat(getComputedStyle(box).strokeWidth) > 3);
return [at, isSeen || at < 0, one.outerHTML.slice(0, 120)];
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Generator[Flows]:
    with flows(tmp_path_factory.mktemp("keyboard")) as running:
        app = running.flow.app
        app.documents.parts.library.add(LOCAL, "boat.md", b"# Boats\n\nSee [[harbour]].\n")
        app.files.add(LOCAL, "boat.md", b"# Boats\n\nThe ferry leaves at dawn.", wait=60)
        learn_many(app, LOCAL, 60)
        running.waits(task("t1", "echo", value=1), task("bad", "fail") | {"on_error": "continue"}, GATED)
        yield running


@pytest.mark.parametrize("page", [*PLACES, "run"])
def test_tab_reaches_all_that_can_be_used_and_shows_where_it_is(browser: Browser, at: Flows, page: str) -> None:
    [asked] = at.flow.app.workflows.views.questions(LOCAL)
    browser.go(f"{at.url}/runs/{asked['workflow_id']}" if page == "run" else f"{at.url}/{page}")
    if page == "tools":  # the others come when the first ones are painted
        browser.until("document.querySelectorAll('#learned li').length === 50")
    if page == "settings":
        browser.until("document.querySelectorAll('#findings li').length > 5")
    usable = browser.run(FIND, USABLE)
    assert usable > 5
    reached = set[int]()
    for _ in range(usable + 20):
        browser.press("Tab")
        at_one, is_shown, element = browser.run(HERE)
        assert is_shown, element
        reached.add(at_one)
    reached.discard(-1)
    missed = browser.run(
        "return usable.filter((one, at) => !arguments[0].includes(at)).map((one) => one.outerHTML.slice(0, 150))",
        [*reached],
    )
    assert missed == []
