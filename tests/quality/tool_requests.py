"""The labelled requests for tools, and the tools that they are searched among."""

import json
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.gateway.tool_search import KnownTool
from tests.quality.sets import json_lines
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


def tool_sets(folder: Path, only: Collection[str] = ()) -> Iterator[tuple[str, list[KnownTool], list[Request]]]:
    """The sets of tools below the folder, or those of these names: the tools, and the requests that they fit."""
    for queries in sorted(folder.rglob("queries.jsonl")):
        if only and queries.parent.name not in only:
            continue
        texts = json_lines(queries.with_name("corpus.jsonl"))
        first = next(texts)
        if "tool" not in first.get("meta", {}):
            continue
        fits: dict[str, set[str]] = {}
        for row in json_lines(queries.with_name("qrels.jsonl")):
            fits.setdefault(row["query_id"], set()).add(row["doc_id"])
        asked = [
            Request(row["text"], queries.parent.name, frozenset(fits[row["_id"]]))
            for row in json_lines(queries)
            if row["_id"] in fits
        ]
        yield queries.parent.name, [_tool(row) for row in (first, *texts)], asked


def _tool(row: dict[str, Any]) -> KnownTool:
    meta = row["meta"]
    return KnownTool(row["_id"], "", meta["description"], {"type": "object", "properties": meta["parameters"]})


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
