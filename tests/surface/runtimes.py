"""The runtimes that documents' tools are tested on, and a folder of notes on each of them."""

from pathlib import Path

import pytest

from loci.app import App
from loci.model.identity import LOCAL

RUNTIMES = [
    *(pytest.param("embedded", mode) for mode in ("legacy", "auto", "2026-07-28")),
    pytest.param("opensearch", "2026-07-28", marks=pytest.mark.aws),
]


def take_in(app: App, folder: Path) -> None:
    """The folder as each runtime gets it: read here, or uploaded."""
    if app.settings.mode == "embedded":
        app.ingest.run(LOCAL, [str(folder)])
        return
    for file in sorted(folder.rglob("*.md")):
        app.documents.add(LOCAL, f"{folder.name}/{file.relative_to(folder).as_posix()}", file.read_bytes())
