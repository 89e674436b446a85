"""A page of another site, with a link to Loci: a client, or a chat."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import parse_qs, urlsplit

from tests.support.browser import Browser


class OtherSite(ThreadingHTTPServer):
    """Its page leads to Loci. The browser may come back to `/callback`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        # Another site than Loci's, for which the browser has other cookies.
        self.url = f"http://localhost:{self.server_address[1]}"
        self.leads_to = ""
        self.answers: list[dict[str, str]] = []
        """With what the browser came back."""

    def lead(self, browser: Browser, to: str) -> None:
        """Do what somebody does there: follow the link."""
        self.leads_to = to
        browser.go(self.url)
        browser.run("document.getElementById('link').click()")


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site, parts = cast("OtherSite", self.server), urlsplit(self.path)
        if parts.path == "/callback":
            site.answers.append({name: values[0] for name, values in parse_qs(parts.query).items()})
        body = (
            f'<!doctype html><title>Another site</title><a id="link" href="{escape(site.leads_to)}">Go on</a>'.encode()
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def other_site() -> Generator[OtherSite]:
    """One that serves."""
    with OtherSite() as site:
        threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield site
        site.shutdown()
