"""The page of tools, as somebody uses it."""

import time
from collections.abc import Generator

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.auth.pins import Pins
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.browser.flows import HOSTILE, PIN, prove
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
    page.until("!document.getElementById('form').hidden || document.querySelector('#tool-says .error')")


def text_of(page: Browser, css: str) -> str:
    return page.run("return document.querySelector(arguments[0]).innerText", css)


def test_the_keyboard_alone_opens_a_tool_and_calls_it(page: Browser) -> None:
    page.run("[...document.querySelectorAll('#servers summary')].at(1).focus()")
    page.press("Enter")
    page.until("document.querySelector('a[href*=add_numbers]')")
    page.run("document.querySelector('a[href*=add_numbers]').focus()")
    page.press("Enter")
    page.until("document.getElementById('field-1')")
    page.type("#field-0", "20")
    page.type("#field-1", "22\n")
    page.until("document.querySelector('#result pre')")
    assert text_of(page, "#result pre").find("42") >= 0
    page.until("document.querySelector('#rows').innerText.includes('shop:add_numbers')")
    assert barriers(page) == []
    page.press("Escape")
    assert text_of(page, ":focus") == "add_numbers"
    assert page.complaints() == []


@pytest.mark.smoke
def test_a_call_that_a_person_must_approve_is_made_when_they_do(page: Browser) -> None:
    opened(page, "shop:break_plate")
    page.type("#field-0", "china\n")
    page.until("document.querySelector('#result .error')")
    assert "APPROVAL_PENDING" in text_of(page, "#result")
    prove(page)
    page.run("document.getElementById('approved').click()")
    page.run("document.getElementById('call').click()")
    page.until("document.getElementById('result').innerText.includes('china broke')")
    assert not page.run("return document.getElementById('approved').checked")


def test_a_denied_tool_has_no_form(page: Browser) -> None:
    opened(page, "shop:advise")
    assert "denies it" in text_of(page, "#tool-says")
    assert page.run("return document.getElementById('form').hidden")


def test_a_changed_tool_shows_the_difference_until_a_person_accepts_it(page: Browser) -> None:
    opened(page, "zine:read")
    assert "changed since it was first seen" in text_of(page, "#tool-says")
    assert "+ description: <b>Send keys</b>" in text_of(page, "#tool-says pre")
    assert barriers(page) == []
    prove(page)
    page.run("document.querySelector('#tool-says button').click()")
    page.until("!document.querySelector('#tool-says pre')")
    assert "changed since" not in text_of(page, "#tool-says")
    assert not page.run("return document.getElementById('servers').innerText.includes('to look at')")
    assert page.complaints() == []


def test_a_picture_in_a_result_is_named_and_not_loaded(page: Browser) -> None:
    opened(page, "shop:draw_cat")
    page.run("document.getElementById('call').click()")
    page.until("document.querySelector('#result pre')")
    assert "image, image/png" in text_of(page, "#result")
    assert page.run("return document.querySelectorAll('img').length") == 0


def test_a_form_has_a_field_for_each_kind_of_argument(page: Browser) -> None:
    opened(page, "loci:search_documents")
    kinds = page.run(
        "return [...document.querySelectorAll('#fields label')].map((one) => [one.innerText, one.control.tagName])"
    )
    assert ["query", "TEXTAREA"] in kinds
    assert ["limit", "INPUT"] in kinds
    assert ["explain", "SELECT"] in kinds
    assert ["properties", "TEXTAREA"] in kinds
    page.type("[id^=field]:is(textarea, input)", "boats")
    page.run(
        """const field = [...document.querySelectorAll('#fields label')].find((one) => one.innerText === 'properties');
        field.control.value = '{broken';
        document.getElementById('call').click();"""
    )
    assert page.run("return document.activeElement.getAttribute('aria-invalid')") == "true"


def test_nothing_that_a_server_says_takes_effect(page: Browser) -> None:
    page.run("[...document.querySelectorAll('#servers details')].forEach((one) => (one.open = true))")
    page.until("document.querySelectorAll('#servers details li a').length > 20")
    opened(page, "hostile:deploy")
    assert "<script>" in text_of(page, "#tool-says")
    assert page.run("return document.title") == "Tools - Loci"
    assert page.run("return document.querySelectorAll('img, main b, aside b, main script, aside script').length") == 0
    assert page.complaints() == []


@pytest.mark.parametrize("width", [360, 768])
def test_an_open_tool_fits_the_window(page: Browser, width: int) -> None:
    page.resize(width, 700)
    opened(page, "shop:add_numbers")
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
