"""A headless Chromium, driven over WebDriver with the standard library alone."""

import base64
import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from tests.support.polling import until

CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING: Final = (
    "No Chromium with its driver is here. Install both: "
    "apt-get install -y --no-install-recommends chromium chromium-driver (make test-browser does, as root)"
)
FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
)
KEYS: Final = {
    "Tab": "\ue004",
    "Space": "\ue00d",
    "Escape": "\ue00c",
    "Enter": "\ue007",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
}
PATIENCE = 60


def chromium() -> tuple[str, str] | None:
    """The browser and its driver; None where one of them is missing."""
    browser = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@dataclass(frozen=True, slots=True)
class Browser:
    """One window."""

    session: str
    """Its address."""

    def go(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def forget(self) -> None:
        """An empty page, without cookies of any site, in daylight; and whatever it said before is read."""
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Network.clearBrowserCookies", "params": {}})
        self.go("about:blank")
        self.prefer("light")
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})
        self.requests()
        self.complaints()

    def tab(self) -> str:
        """The tab that it shows."""
        return self._ask("GET", "/window")

    def new_tab(self) -> str:
        """Another tab, which it shows from now on."""
        made = self._ask("POST", "/window/new", {"type": "tab"})["handle"]
        self.show(made)
        return made

    def show(self, tab: str) -> None:
        self._ask("POST", "/window", {"handle": tab})

    def close_tab(self, then: str) -> None:
        """Close the tab that it shows, and show that one."""
        self._ask("DELETE", "/window")
        self.show(then)

    def url(self) -> str:
        return self._ask("GET", "/url")

    def run(self, script: str, *arguments: object) -> Any:
        """The value that the script returns. If that is a promise, wait for its value."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": arguments})

    def until(self, script: str, *arguments: object) -> Any:
        """The value of the expression, as soon as that is true."""
        return until(lambda: self.run(f"return {script}", *arguments) or None, PATIENCE)

    def type(self, css: str, text: str) -> None:
        """Keys into the element of that selector."""
        [element] = self._found(css).values()
        self._ask("POST", f"/element/{element}/value", {"text": text})

    def enter(self, css: str) -> None:
        """From now on, look into this frame."""
        self._ask("POST", "/frame", {"id": self._found(css)})

    def leave(self) -> None:
        """From now on, look into the page again."""
        self._ask("POST", "/frame", {"id": None})

    def press(self, key: str) -> None:
        """A key, wherever the focus is."""
        value = KEYS.get(key, key)
        actions = [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def point(self, x: int, y: int, *, click: bool = False) -> None:
        """The mouse over that place of the window."""
        actions: list[dict[str, object]] = [{"type": "pointerMove", "duration": 0, "x": x, "y": y}]
        if click:
            actions.extend({"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp"))
        self._ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def resize(self, width: int, height: int) -> None:
        """The window that wide and high, as on a phone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics})

    def picture(self) -> bytes:
        """The window as a PNG."""
        return base64.b64decode(self._ask("GET", "/screenshot"))

    def requests(self) -> list[str]:
        """The addresses that its pages asked for since the last time."""
        log = cast("list[dict[str, str]]", self._ask("POST", "/se/log", {"type": "performance"}))
        events = [json.loads(entry["message"])["message"] for entry in log]
        sent = (event["params"] for event in events if event["method"] == "Network.requestWillBeSent")
        # Its own start page is the browser's.
        return [one["request"]["url"] for one in sent if not one["documentURL"].startswith("chrome:")]

    def complaints(self) -> list[str]:
        """The errors in the console."""
        log = cast("list[dict[str, str]]", self._ask("POST", "/se/log", {"type": "browser"}))
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def block(self, *patterns: str) -> None:
        """Let no request to these addresses through, from now on."""
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Network.enable", "params": {}})
        blocked = {"cmd": "Network.setBlockedURLs", "params": {"urls": [*patterns]}}
        self._ask("POST", "/goog/cdp/execute", blocked)

    def prefer(self, scheme: str) -> None:
        """Light or dark, as the person's system would say."""
        self._says("prefers-color-scheme", scheme)

    def stand_still(self) -> None:
        """Nothing glides, as some people have told their system, until the scheme is told."""
        self._says("prefers-reduced-motion", "reduce")

    def _says(self, feature: str, value: str) -> None:
        params = {"features": [{"name": feature, "value": value}]}
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": params})

    def _found(self, css: str) -> dict[str, str]:
        return cast("dict[str, str]", self._ask("POST", "/element", {"using": "css selector", "value": css}))

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        return _asked(method, self.session + path, body)


@contextmanager
def browsing(width: int = 1280, height: int = 800) -> Generator[Browser]:
    """A fresh browser, without a past and without a network of its own."""
    found = chromium()
    assert found, MISSING
    program, driver = found
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as scratch:
        log = Path(scratch) / "driver.txt"
        with log.open("w", encoding="utf-8") as output:
            process = subprocess.Popen([driver, "--port=0"], stdout=output, stderr=subprocess.STDOUT)
        try:
            port = until(lambda: _port(log.read_text("utf-8")), PATIENCE)
            options = {
                "binary": program,
                "args": [*FLAGS, f"--user-data-dir={scratch}/user", f"--window-size={width},{height}"],
            }
            logs = {"performance": "ALL", "browser": "ALL"}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}
            root = f"http://127.0.0.1:{port}/session"
            begun = _asked("POST", root, {"capabilities": {"alwaysMatch": wanted}})
            session = f"{root}/{begun['sessionId']}"
            try:
                yield Browser(session)
            finally:
                _asked("DELETE", session)
        finally:
            process.terminate()
            process.wait()


def _port(said: str) -> str | None:
    _, found, rest = said.partition("started successfully on port ")
    return rest.partition(".")[0] if found and "." in rest else None


def _asked(method: str, url: str, body: object = None) -> Any:
    raw = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, raw, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(error.read().decode()[:2000]) from None
