"""The first paint of each page in a real Chromium, and what comes over the wire; beside the paint of an empty page.

First with a few things of each kind, then with very many.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, cast

from loci.app import App
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.web.page import PLACES
from loci.workflows.parts import MOST_ACTIVE
from tests.bench.figures import Figure, time_figure, verdict
from tests.bench.servers import Servers
from tests.browser.flows import GATED, flows
from tests.support.browser import MISSING, Browser, browsing, chromium
from tests.support.much import add_many, ask_many, learn_many, run_many, serve_many
from tests.surface.workflows.conftest import task

ROUNDS: Final = 11
WARM: Final = 4
SOONEST: Final = 0.150
MOST: Final = 4.0
"""Times as long as an empty page, which takes 38 ms on an idle machine."""
LATEST: Final = 1.0
MOST_OF_NUMBERS: Final = 12.0
"""As `MOST`, for what is read after the first paint of a page with much in it."""
LARGEST: Final = 60_000
PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
NUMBERS: Final = "document.querySelector('main').innerText.includes('passages') && performance.now()"
SIZE: Final = "performance.getEntriesByType('navigation')[0].transferSize"
DOCUMENTS: Final = 10_000
MUCH: Final = {
    "home": "much of everything",
    "files": "1,000 files",
    "runs": f"1,000 runs and {MOST_ACTIVE} questions",
    "tools": "200 servers and 200 capabilities",
    "search": f"{DOCUMENTS:,} documents",
    "graph": f"{DOCUMENTS:,} documents",  # the last: the server goes on with pictures that nobody waits for any more
}
EMPTY: Final = b"<!doctype html><title>Empty</title><p>Empty"


def pages(servers: Servers) -> list[Figure]:
    """The pages of a server with a few things in it."""
    if chromium() is None:
        return [Figure("pages", "", MISSING, "no budget")]
    folder = servers.scratch / "pages"
    folder.mkdir()
    with flows(folder) as at, _empty() as empty, browsing() as browser:
        app = at.flow.app
        for number in range(20):
            app.documents.parts.library.add(LOCAL, f"{number}.md", f"# Note {number}\n\nSee [[{number + 1}]].".encode())
            app.files.add(LOCAL, f"{number}.md", f"# File {number}".encode())
        run = at.waits(task("t1", "items"), task("t2", "echo", value="$t1.result.count"), GATED)
        shown = (*PLACES, f"runs/{run}")
        for page in shown * WARM:  # the first pages of a browser wait for its processes
            _paint(browser, f"{at.url}/{page}")
        figures: list[Figure] = []
        for page in shown:
            name = "runs/ID" if page.endswith(run) else page
            figures += _figures(browser, empty, f"{at.url}/{page}", f"/ui/{name}")
        _much(app, folder)
        figures.append(_contents(browser, empty, at.url))
        for page in MUCH:
            _paint(browser, f"{at.url}/{page}")  # what it shows is computed once
            figures += _figures(browser, empty, f"{at.url}/{page}", f"/ui/{page} of {MUCH[page]}")
    return figures


def _figures(browser: Browser, empty: str, url: str, name: str) -> list[Figure]:
    """The paint and the size of a page."""
    floor, took = list[float](), list[float]()
    for _ in range(ROUNDS):
        floor.append(_paint(browser, empty))
        took.append(_paint(browser, url))
    size = cast("int", browser.run(f"return {SIZE}"))
    return [time_figure(f"first paint of {name}", floor, took, SOONEST, most_ratio=MOST), _size(name, size)]


def _contents(browser: Browser, empty: str, url: str) -> Figure:
    """The numbers of much of everything, which the start page reads when its beginning is painted."""
    floor, took = list[float](), list[float]()
    for _ in range(ROUNDS):
        floor.append(_paint(browser, empty))
        _paint(browser, f"{url}/home")
        took.append(cast("float", browser.until(NUMBERS)) / 1000)
    return time_figure("the numbers on /ui/home", floor, took, LATEST, most_ratio=MOST_OF_NUMBERS)


def _much(app: App, folder: Path) -> None:
    """Much of everything."""
    for number in range(DOCUMENTS):
        note = folder / "notes" / str(number // 100) / f"note {number}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(
            f"# Note {number}\n\nSee [[note {number + 1}]] and [[note {number * 7 % DOCUMENTS}]].\n", "utf-8"
        )
    app.documents.ingest(LOCAL, [str(folder / "notes")])
    learn_many(app, LOCAL, 200)
    serve_many(app, LOCAL, 200)
    add_many(app, LOCAL, 1000)
    run_many(app, LOCAL_CALLER, 1000)
    ask_many(app, LOCAL_CALLER, MOST_ACTIVE - 1)


def _paint(browser: Browser, url: str) -> float:
    """Seconds until something is seen."""
    browser.go("about:blank")
    browser.go(url)
    return cast("float", browser.until(PAINT)) / 1000


def _size(name: str, size: int) -> Figure:
    kept = verdict(kept=size <= LARGEST)
    return Figure(f"{name} on the wire", "<= 60 KB", f"{size / 1000:.1f} KB", kept, numbers={"bytes": size})


@contextmanager
def _empty() -> Generator[str]:
    """A page with one word."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(EMPTY)))
            self.end_headers()
            self.wfile.write(EMPTY)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
