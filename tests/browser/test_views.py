"""A view of an official server, in the official host, through Loci."""

import threading
from collections.abc import Generator
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.servers.upstream.real import node_server
from tests.support.browser import Browser
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
