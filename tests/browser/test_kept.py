"""What was learned, on the page of tools; executors and health, on that of settings: as somebody uses them."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.settings import load_settings
from loci.gateway.capabilities.api import EndedRun
from loci.mcp.http.application import asgi
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.attack.doors import uvicorn_door
from tests.browser.flows import HOSTILE
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.support.deno import STRONGEST

pytestmark = pytest.mark.browser
CODE = "const told = await shop.addNumbers({a: context.first, b: 22});\nreturn told.sum // </script><b>bold</b>"


@dataclass(frozen=True, slots=True)
class Home:
    """A server on a laptop."""

    app: App
    url: str


@contextmanager
def home(folder: Path) -> Generator[Home]:
    app = build_app(load_settings({"data": folder / "data", "models": folder / "models", "log_level": "ERROR"}))
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield Home(app, f"http://127.0.0.1:{door.port}/ui")
    app.close()


@pytest.fixture
def at(tmp_path: Path) -> Generator[Home]:
    with home(tmp_path) as running:
        yield running


def learn(app: App, intent: str) -> None:
    app.tools.capabilities.learn(LOCAL, EndedRun(CODE, intent, {"first": 1}, ("shop:add_numbers",), worked=True))
    app.tools.finish_learning()


def text_of(page: Browser, css: str) -> str:
    return page.run("return document.querySelector(arguments[0]).innerText", css)


def test_a_capability_is_read_and_deleted_by_the_keyboard_once_that_is_meant(browser: Browser, at: Home) -> None:
    learn(at.app, "add two prices")
    browser.go(f"{at.url}/tools")
    browser.until("location.pathname === '/ui/tools'")
    assert text_of(browser, "#learned .counts") == "1 capability"
    browser.run("document.querySelector('#learned a').focus()")
    browser.press("Enter")
    browser.until("document.getElementById('detail-body').innerText.includes('shop')")
    assert barriers(browser) == []
    browser.run("document.querySelector('#detail .gone').focus()")
    browser.press("Enter")
    assert text_of(browser, "dialog :focus") == "Keep it"
    assert barriers(browser) == []
    browser.press("Escape")
    browser.until("!document.querySelector('dialog')")
    assert len(at.app.tools.capabilities.all(LOCAL)) == 1
    browser.press("Enter")
    browser.run("document.querySelector('dialog .gone').focus()")
    browser.press("Enter")
    browser.until("document.querySelector('#learned .counts').innerText.includes('Nothing is learned yet')")
    assert at.app.tools.capabilities.all(LOCAL) == []
    assert browser.complaints() == []


def test_what_was_learned_is_text(browser: Browser, at: Home) -> None:
    learn(at.app, HOSTILE)
    browser.go(f"{at.url}/tools")
    browser.run("document.querySelector('#learned a').click()")
    browser.until("document.getElementById('detail-body').innerText.includes('shop')")
    assert browser.run("return document.title") == "Tools - Loci"
    assert (
        browser.run("return document.querySelectorAll('main b, aside b, img, main script, aside script').length") == 0
    )
    assert browser.complaints() == []


@pytest.mark.skipif(not STRONGEST >= UNPRIVILEGED, reason="this machine has no wall to put around code")
def test_an_executor_is_shown_and_ended_once_that_is_meant(browser: Browser, at: Home) -> None:
    id = at.app.code.create_python(LOCAL)
    at.app.code.parts.python.get().run(LOCAL_CALLER, id, "prices = [1, 2]")
    browser.go(f"{at.url}/settings")
    assert "waits for code" in text_of(browser, "#executors h3")
    assert "prices" in text_of(browser, "#executors .chips")
    assert barriers(browser) == []
    browser.run("document.querySelector('#executors .gone').click()")
    assert "1 variable and its files are gone" in text_of(browser, "dialog")
    browser.run("document.querySelector('dialog [type=button]').click()")
    browser.until("!document.querySelector('dialog')")
    assert [one.id for one in at.app.code.executors(LOCAL)] == [id]
    browser.run("document.querySelector('#executors .gone').click()")
    browser.run("document.querySelector('dialog .gone').click()")
    browser.until("document.querySelector('#executors .counts').innerText.includes('There is no executor')")
    assert at.app.code.executors(LOCAL) == []
    assert browser.complaints() == []


@pytest.mark.smoke
def test_health_shows_what_the_doctor_finds_the_worst_first(browser: Browser, at: Home) -> None:
    browser.go(f"{at.url}/settings")
    browser.until("document.querySelectorAll('#findings li').length > 5")
    states = browser.run("return [...document.querySelectorAll('#findings .match')].map((one) => one.innerText)")
    assert states == sorted(states, key=["fault", "warning", "ok"].index)
    assert "loci doctor" in text_of(browser, "#findings-counts")
    assert barriers(browser) == []
    browser.resize(360, 700)
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    again = "[...document.querySelectorAll('#health button')].at(-1)"
    browser.run(f"{again}.click()")
    browser.until(f"!{again}.disabled")
    assert browser.complaints() == []
