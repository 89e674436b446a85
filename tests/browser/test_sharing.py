"""Sharing on the page of settings, as somebody uses it: on a phone and a desk, by day and by night."""

import os
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from loci.auth.pins import Pins
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.browser.flows import PIN
from tests.support.axe import barriers
from tests.support.browser import Browser

pytestmark = pytest.mark.browser
ANN, HOSTILE = Owner("acme", "ann"), Owner("acme", "<img src=x onerror=alert(1)>")


@pytest.fixture
def url(tmp_path: Path) -> Generator[str]:
    settings = load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"})
    with closing(build_app(settings)) as app, uvicorn_door(asgi(app, on_loopback=True)) as door:
        Pins(app.records, time.time).set(PIN)
        for owner in (LOCAL, ANN, HOSTILE):
            app.documents.parts.library.add(owner, "notes/plan.md", b"# Plan\n")
        for giver in (ANN, HOSTILE):
            app.sharing.give(giver, "notes", "local")
        yield f"http://127.0.0.1:{door.port}/ui/settings"


def take(page: Browser, name: str) -> None:
    """Keep a picture, if somebody wants to look at it."""
    if folder := os.environ.get("PICTURES"):
        Path(folder, f"{name}.png").write_bytes(page.picture())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_person_shares_a_folder_with_the_pin_and_ends_it(browser: Browser, url: str, width: int, scheme: str) -> None:
    browser.resize(width, 800)
    browser.prefer(scheme)
    browser.go(url)
    browser.until("document.getElementById('findings-counts').innerText.includes('ok')")
    browser.run("document.getElementById('shares').scrollIntoView()")
    assert browser.run("return document.querySelectorAll('#shares li').length") == 2
    assert browser.run("return document.querySelectorAll('#shares img').length") == 0
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    take(browser, f"shares-{width}-{scheme}")
    assert barriers(browser) == []
    browser.type("#shares input[name=folder]", "notes")
    browser.type("#shares input[name=with]", "acme/bob\n")
    browser.type("dialog input", "a wrong one\n")
    browser.until("document.querySelector('dialog [role=alert]').innerText.includes('PIN is wrong')")
    take(browser, f"asks-{width}-{scheme}")
    assert barriers(browser) == []
    browser.type("dialog input", f"{PIN}\n")
    browser.until("document.querySelector('#shares').innerText.includes('With acme/bob')")
    take(browser, f"shared-{width}-{scheme}")
    browser.run("document.querySelector('#shares li button').click()")
    browser.run("document.querySelector('dialog button.gone').click()")
    browser.until("!document.querySelector('#shares').innerText.includes('acme/bob')")
    assert [one for one in browser.complaints() if "settings/shares" not in one] == []  # the wrong PIN was refused
