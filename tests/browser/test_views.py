"""Views in the official host: of an official server, through Loci, and of Loci's own tools."""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import loci
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.workflows.run import Answerer
from tests.attack.doors import uvicorn_door
from tests.servers.upstream.real import node_server
from tests.support.browser import Browser
from tests.support.each import each
from tests.support.npm_packages import install

pytestmark = pytest.mark.browser
HERE = Path(__file__).parent


class Files(SimpleHTTPRequestHandler):
    """The page of the host, and the packages that it loads."""

    def guess_type(self, path: object) -> str:
        return "text/javascript" if str(path).endswith(("js", "mjs")) else "text/html"

    def translate_path(self, path: str) -> str:
        return str(HERE / "host.html") if path.startswith("/?") else super().translate_path(path)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Generator[str]:
    """Where the host's page is."""
    install(HERE)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(HERE / "node_modules"))) as files:
        threading.Thread(target=files.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://localhost:{files.server_address[1]}"
        files.shutdown()


def test_a_host_shows_a_view_with_its_result_and_the_view_calls_its_own_tools(
    browser: Browser, host: str, tmp_path: Path
) -> None:
    given = {"data": tmp_path, "models": tmp_path / "models", "allowed_origins": host, "tools_listed": "monitor:*"}
    program = node_server("system-monitor", "--stdio")
    with closing(build_app(load_settings({**given, "log_level": "ERROR"}))) as app:
        entry = {"command": program.command, "args": [*program.args]}
        app.tools.add(LOCAL, "monitor", entry, trust_views=True)
        app.tools.ask(LOCAL, "monitor")
        with uvicorn_door(asgi(app, on_loopback=True)) as door:
            asked = {"mcp": f"http://127.0.0.1:{door.port}/mcp", "tool": "monitor_get_system_info"}
            browser.go(f"{host}/?{urlencode(asked)}")
            shown = browser.until("window.shown")
            assert shown["uri"] == "ui://loci/monitor/system-monitor/mcp-app.html"
            assert shown["type"] == "text/html;profile=mcp-app"
            browser.until("calls.some((one) => one.name === 'poll-system-stats' && one.worked)")
            browser.enter("iframe")
            browser.until("document.body.innerText.includes(arguments[0])", shown["told"]["hostname"])
            browser.go("about:blank")  # the view asks on and on


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat with Loci in which views are shown."""

    browser: Browser
    host: str
    app: App
    port: int

    def show(self, tool: str, arguments: Mapping[str, object], *, theme: str = "light") -> Any:
        """Call the tool, and look into its view. Returns the data of its answer."""
        at = f"http://127.0.0.1:{self.port}/mcp/{'documents' if tool == 'graph_neighbors' else ''}".rstrip("/")
        asked = {"mcp": at, "tool": tool, "arguments": json.dumps(arguments), "theme": theme}
        self.browser.go(f"{self.host}/?{urlencode(asked)}")
        told = self.browser.until("window.shown")["told"]
        self.browser.enter("iframe")
        self.browser.until("document.getElementById('view').childElementCount")
        return told

    def click(self, css: str) -> None:
        self.browser.run("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click'))", css)

    def opened(self) -> str:
        """The page that the view had opened."""
        self.browser.leave()
        return str(self.browser.until("window.opened"))


@pytest.fixture
def chat(browser: Browser, host: str, tmp_path: Path) -> Generator[Chat]:
    given = {"data": tmp_path, "models": tmp_path / "models", "pull_models": False, "allowed_origins": host}
    with closing(build_app(load_settings({**given, "tools_approval": "all", "log_level": "ERROR"}))) as app:
        app.documents.parts.ingest.run(LOCAL, [str(Path(loci.__file__).parent / "example")])
        with uvicorn_door(asgi(app, on_loopback=True)) as door:
            yield Chat(browser, host, app, door.port)
        browser.go("about:blank")


SEARCH = {"query": "battery"}
SHIPS = "ship,crew,year\nAda,12,1999\nBea,3,2004\nCid,40,1987\n"
PLAN = {
    "tasks": [
        {"id": "first", "type": "code_execution", "code": "return 1"},
        {"id": "asks", "type": "code_execution", "code": "return 6 * 7", "approve": True},
    ]
}


def test_results_show_what_was_found_and_lead_to_it_in_loci(chat: Chat) -> None:
    told = chat.show("search_documents", SEARCH)
    shown = [one for one in told["results"] if one["snippet"]]
    titles = chat.browser.run("return [...document.querySelectorAll('button.title')].map((one) => one.textContent)")
    assert titles == [one["preview"] for one in shown]
    chat.click("button.title")
    assert chat.opened() == f"{chat.app.settings.base_url}/ui/search#doc/{shown[0]['id']}"


def test_the_graph_goes_on_from_a_document_that_is_clicked(chat: Chat) -> None:
    told = chat.show("graph_neighbors", {"id": "example-people", "depth": 2})
    drawn = "document.querySelectorAll('.picture circle').length"
    assert chat.browser.run(f"return {drawn}") == len(told["neighbors"]) + 1
    first = told["neighbors"][0]["id"]
    chat.click(".picture g.linked")
    chat.browser.until("document.querySelector('.center text').textContent === arguments[0].slice(0, 23) + '…'", first)


def test_a_table_is_sorted_by_a_column_and_drawn_as_bars(chat: Chat) -> None:
    stored = chat.app.files.add(LOCAL, "ships.csv", SHIPS.encode())
    chat.show("query_table", {"memory_id": stored.id, "sql": "select * from t1"})
    cells = "return [...document.querySelectorAll('tbody td:first-child')].map((one) => one.textContent)"
    assert chat.browser.run(cells) == ["Ada", "Bea", "Cid"]
    chat.click("th:nth-child(2) button")
    assert chat.browser.run(cells) == ["Bea", "Ada", "Cid"]
    chat.click("th:nth-child(2) button")
    assert chat.browser.run(cells) == ["Cid", "Ada", "Bea"]
    chat.click(".chip:nth-child(2)")
    widths = chat.browser.run("return [...document.querySelectorAll('.bars i')].map((one) => one.style.width)")
    assert widths == ["100%", "30%", "7.5%"]


def test_a_figure_is_a_picture_beside_what_the_code_gave_back(chat: Chat) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()\nprint('<b>plotted</b>')\n6 * 7"
    chat.show("run_memory_code", {"code": code})
    assert chat.browser.until("document.querySelector('img').naturalWidth") > 100
    said = chat.browser.run("return [...document.querySelectorAll('pre')].map((one) => one.textContent.trim())")
    assert said == ["42", "<b>plotted</b>"]


def test_a_run_shows_its_question_leads_to_its_page_and_goes_on(chat: Chat) -> None:
    told = chat.show("pml_execute_dag", {"workflow": PLAN})
    assert "return 6 * 7" in chat.browser.run("return document.querySelector('.question').textContent")
    assert chat.browser.run("return document.querySelectorAll('.question button').length") == 1
    chat.click(".question button")
    assert chat.opened() == told["approval_url"]
    by = Answerer("a person", "page", is_person=True)
    chat.app.workflows.decide(LOCAL, told["workflow_id"], told["checkpoint_id"], approved=True, by=by)
    chat.browser.enter("iframe")
    chat.browser.until("document.querySelector('h2 .match').textContent === 'complete'")


def test_a_call_that_waits_for_a_person_leads_to_its_page_and_decides_nothing(chat: Chat) -> None:
    program = node_server("system-monitor", "--stdio")
    chat.app.tools.add(LOCAL, "monitor", {"command": program.command, "args": [*program.args]})
    chat.app.tools.ask(LOCAL, "monitor")
    chat.show("pml_call_tool", {"tool": "monitor:get-system-info", "arguments": {"a": "</script><b>x"}})
    assert "monitor:get-system-info" in chat.browser.run("return document.querySelector('.question').textContent")
    assert "</script><b>x" in chat.browser.run("return document.querySelector('.question pre').textContent")
    chat.click(".question button")
    assert chat.opened().startswith(f"{chat.app.settings.base_url}/ui/approve")


@each("tool", ["search_documents", "explore_links"])
def test_a_view_keeps_to_its_width_follows_the_theme_and_asks_for_nothing(chat: Chat, tool: str) -> None:
    arguments = SEARCH if tool == "search_documents" else {"id": "example-people"}
    papers = set[str]()
    for theme, width in (("light", 390), ("dark", 1280)):
        chat.browser.resize(width, 800)
        chat.show(tool, arguments, theme=theme)
        assert chat.browser.run("return document.documentElement.scrollWidth <= innerWidth")
        papers.add(chat.browser.run("return getComputedStyle(document.body).backgroundColor"))
        assert chat.browser.run("return performance.getEntriesByType('resource').length") == 0
    assert len(papers) == 2
