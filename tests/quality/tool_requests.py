"""The labelled requests for tools, and the tools that they are searched among."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.gateway.tool_search import KnownTool
from tests.quality.tool_definitions import listed_tools

FOLDER = Path(__file__).parent / "tool_sets"


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants to do, and the tools that do it."""

    text: str
    group: str
    fits: frozenset[str]


def requests() -> list[Request]:
    """The requests that the weights were chosen on."""
    return _read("requests.json")


def held_out() -> list[Request]:
    """Requests that were written after the weights were chosen."""
    return _read("held_out.json")


def _read(file: str) -> list[Request]:
    found: Any = json.loads((FOLDER / file).read_text("utf-8"))
    return [Request(one["text"], one["group"], frozenset(one["fits"])) for one in found]


def all_tools() -> list[KnownTool]:
    """These and Loci's own."""
    with tempfile.TemporaryDirectory() as folder:
        app = build_app(load_settings({"data": Path(folder) / "data", "models": Path(folder) / "models"}))
        try:
            return [*listed_tools(), *app.tools.own_tools()]
        finally:
            app.close()
