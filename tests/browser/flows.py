"""A server whose workflows call the tools of the journal, for the pages of runs and of what waits."""

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loci.app import App
from loci.auth.pins import Pins
from loci.compose import build_app
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.support.answerers import PERSON
from tests.support.browser import PATIENCE, Browser
from tests.support.polling import until
from tests.surface.workflows.conftest import JOURNAL, Flow, task

HOSTILE = (
    "</pre></script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><b>bold</b>"
)
PIN = "hedgehog 7"
GATED: dict[str, Any] = task("deploy", "deploy", value="v2") | {"approve": "human"}


def configured(data: Path, journal: Path, says: str = "Deploy a version to production") -> App:
    """The app on that folder, which knows the server. Its person has a PIN."""
    app = build_app(load_settings({"data": data, "models": data.parent / "models", "log_level": "ERROR"}))
    app.tools.add(LOCAL, "journal", {"command": sys.executable, "args": [str(JOURNAL), str(journal), says]})
    app.tools.ask(LOCAL, "journal")
    Pins(app.records, time.time).set(PIN)
    return app


@dataclass(frozen=True, slots=True)
class Flows:
    """A running server."""

    url: str
    flow: Flow

    def begin(self, *tasks: dict[str, Any], by_layer: bool = False) -> str:
        """Begin a workflow, and return its id. Nobody waits for what comes of it."""
        views = self.flow.app.workflows.views
        before = {str(one["id"]) for one in views.all(LOCAL)}

        def start() -> None:
            self.flow.app.workflows.start(LOCAL_CALLER, {"tasks": [*tasks]}, by_layer=by_layer)

        threading.Thread(target=start).start()
        [id] = until(lambda: {str(one["id"]) for one in views.all(LOCAL)} - before, PATIENCE)
        return id

    def waits(self, *tasks: dict[str, Any]) -> str:
        """Begin a workflow, and return its id when it waits for an answer."""
        id = self.begin(*tasks)
        until(lambda: self.run(id)["checkpoint"], PATIENCE)
        return id

    def run(self, id: str) -> dict[str, Any]:
        """The run as it is."""
        return self.flow.app.workflows.views.run(LOCAL, id)

    def decide(self, id: str, note: str | None = None) -> None:
        """Approve what the run waits for, elsewhere than on a page."""
        checkpoint = self.run(id)["checkpoint"]["checkpoint_id"]
        self.flow.app.workflows.decide(LOCAL, id, checkpoint, approved=True, by=PERSON, feedback=note)

    def deployed(self) -> int:
        """How often the tool ran that people approve."""
        return [name for name, _ in self.flow.begun()].count("deploy")


def approve(browser: Browser, pin: str = PIN) -> None:
    """Approve on the page of a question, which is open."""
    browser.until("document.querySelector('button[value=approve]')")
    if pin:
        browser.type("#pin", pin)
    browser.run("document.querySelector('button[value=approve]').click()")
    browser.until("document.querySelector('[role=status], [role=alert]')")


@contextmanager
def flows(folder: Path, says: str = "Deploy a version to production") -> Generator[Flows]:
    """The server, in this process."""
    journal = folder / "journal.jsonl"
    app = configured(folder / "data", journal, says)
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield Flows(f"http://127.0.0.1:{door.port}/ui", Flow(app, journal))
    app.close()
