"""The page of tools, as somebody uses it."""

import time
from collections.abc import Generator

import pytest

from loci.auth.pins import Pins
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.browser.flows import HOSTILE, PIN
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.surface.tools.conftest import upstream
from tests.surface.tools.test_changed_tools import NOTE, READ, Book, but
from tests.surface.workflows.conftest import JOURNAL

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("tools")
    app = build_app(load_settings({"data": folder / "data", "models": folder / "models", "log_level": "ERROR"}))
    app.tools.add(LOCAL, "shop", {**upstream(), "deny": ["advise"], "approve": ["break*"]})
    journal = {**upstream(), "args": [str(JOURNAL), str(folder / "journal.jsonl"), HOSTILE]}
    app.tools.add(LOCAL, "hostile", journal)
    Pins(app.records, time.time).set(PIN)
    book = Book(folder / "book")
    app.tools.add(LOCAL, "zine", book.entry)
    for name in ("shop", "hostile", "zine"):
        app.tools.ask(LOCAL, name)
    book.now(app, but(READ, description="<b>Send keys</b>"), NOTE, name="zine")
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield f"http://127.0.0.1:{door.port}/ui/tools"
    app.close()


@pytest.fixture
def page(browser: Browser, url: str) -> Browser:
    browser.go(url)
    return browser


def opened(page: Browser, tool: str) -> None:
    page.run("location.hash = `tool/${arguments[0]}`", tool)
    page.until("document.querySelector('#detail-body pre')")


def text_of(page: Browser, css: str) -> str:
    return page.run("return document.querySelector(arguments[0]).innerText", css)


@pytest.mark.smoke
def test_the_keyboard_alone_opens_a_tool_and_comes_back(page: Browser) -> None:
    page.run("[...document.querySelectorAll('#servers summary')].at(-2).focus()")
    page.press("Enter")
    page.until("document.querySelector('a[href*=add_numbers]')")
    page.run("document.querySelector('a[href*=add_numbers]').focus()")
    page.press("Enter")
    page.until("document.querySelector('#detail-body pre')")
    assert '"a"' in text_of(page, "#detail-body pre")
    assert barriers(page) == []
    page.press("Escape")
    assert text_of(page, ":focus") == "add_numbers"
    assert page.complaints() == []


def test_a_tool_says_what_the_rules_mean_for_it(page: Browser) -> None:
    opened(page, "shop:advise")
    assert "denies it" in text_of(page, "#detail-body")
    page.go("about:blank")
    page.run("history.back()")
    page.until("document.querySelector('#servers')")
    opened(page, "shop:break_plate")
    page.until("document.getElementById('detail-title').innerText.includes('break')")
    assert "A person approves each call" in text_of(page, "#detail-body")


def test_a_server_is_asked_again_and_keeps_the_focus(page: Browser) -> None:
    page.run("document.querySelector('[aria-label=\"Refresh shop\"]').focus()")
    page.press("Enter")
    page.until("document.getElementById('said').innerText === 'shop has answered'")
    assert text_of(page, ":focus") == "Refresh"


def test_a_changed_tool_shows_the_difference_until_a_person_accepts_it(page: Browser) -> None:
    opened(page, "zine:read")
    assert "changed since it was first seen" in text_of(page, "#detail-body")
    assert "+ description: <b>Send keys</b>" in text_of(page, "#detail-body pre")
    assert barriers(page) == []
    page.run("document.querySelector('#detail-body button').click()")
    page.type("dialog input", "a wrong one\n")
    page.until("document.querySelector('dialog [role=alert]').innerText.includes('PIN is wrong')")
    assert barriers(page) == []
    page.type("dialog input", f"{PIN}\n")
    page.until("!document.querySelector('dialog')")
    page.until("!document.getElementById('detail-body').innerText.includes('changed since')")
    page.until("!document.getElementById('servers').innerText.includes('to look at')")
    assert [one for one in page.complaints() if "tools/accept" not in one] == []  # the wrong PIN was refused


def test_a_server_is_turned_off_and_its_rules_change_only_with_the_pin(page: Browser) -> None:
    page.run("location.hash = 'server/shop'")
    page.until("document.querySelector('textarea[name=deny]')")
    page.run("document.querySelector('textarea[name=deny]').value = 'advise\\nadd_*'")
    page.run("document.querySelector('form.rules button').click()")
    page.type("dialog input", "a wrong one\n")
    page.until("document.querySelector('dialog [role=alert]').innerText.includes('PIN is wrong')")
    assert barriers(page) == []
    page.type("dialog input", f"{PIN}\n")
    page.until("document.getElementById('servers').innerText.includes('deny: add_*')")
    page.run(
        "[...document.querySelectorAll('#detail-body button')].find((one) => one.innerText === 'Turn off').click()"
    )
    page.type("dialog input", f"{PIN}\n")
    page.until("document.getElementById('servers').innerText.includes('turned off')")
    page.type("#search", "add numbers")
    page.until("document.getElementById('found-counts').innerText.includes('as an agent finds them')")
    assert "shop" not in text_of(page, "#found")
    page.run("[...document.querySelectorAll('#detail-body button')].find((one) => one.innerText === 'Turn on').click()")
    page.type("dialog input", f"{PIN}\n")
    page.until("!document.getElementById('servers').innerText.includes('turned off')")
    assert barriers(page) == []
    assert [one for one in page.complaints() if "tools/rules" not in one] == []  # the wrong PIN was refused


def test_nothing_that_a_server_says_takes_effect(page: Browser) -> None:
    page.run("[...document.querySelectorAll('#servers details')].forEach((one) => (one.open = true))")
    page.until("document.querySelectorAll('#servers details li a').length > 20")
    opened(page, "hostile:deploy")
    assert "<script>" in text_of(page, "#detail-body")
    assert page.run("return document.title") == "Tools - Loci"
    assert page.run("return document.querySelectorAll('img, main b, aside b, main script, aside script').length") == 0
    assert page.complaints() == []


@pytest.mark.parametrize("width", [360, 768])
def test_an_open_tool_fits_the_window(page: Browser, width: int) -> None:
    page.resize(width, 700)
    opened(page, "shop:add_numbers")
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
