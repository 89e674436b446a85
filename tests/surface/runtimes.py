"""The runtimes that documents' tools are tested on, and a folder of notes on each of them."""

from pathlib import Path

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.vault.library import vault_library

RUNTIMES = ["embedded", *(pytest.param(name, marks=pytest.mark.aws) for name in ("opensearch", "vectors"))]
WITH_OPENSEARCH_3 = [*RUNTIMES, pytest.param("opensearch3", marks=pytest.mark.aws)]
"""For a walk: what the index itself answers on either version, its contract says."""
WITHOUT_SEARCH = [
    *RUNTIMES[:1],
    pytest.param("opensearch", marks=[pytest.mark.aws, pytest.mark.exhaustive]),
    RUNTIMES[2],
]
"""For what no index answers: on AWS either of them will do."""


def take_in(app: App, folder: Path) -> None:
    """The folder as it is now: read here, or brought to the upload address."""
    if app.settings.mode == "embedded":
        app.documents.parts.ingest.run(LOCAL, [str(folder)])
        return
    files = {f"{folder.name}/{file.relative_to(folder).as_posix()}": file for file in sorted(folder.rglob("*.md"))}
    for path, file in files.items():
        app.documents.parts.library.add(LOCAL, path, file.read_bytes())
    for document in app.documents.parts.library.documents(LOCAL):
        if document.path.startswith(f"{folder.name}/") and document.path not in files:
            app.documents.parts.library.remove_upload(LOCAL, document.path)


def vault_by_words(folders: pytest.TempPathFactory) -> App:
    """The whole vault without a model, which takes seconds: made once, for tests that only read it."""
    if not _VAULTS:
        _VAULTS.append(vault_library(folders.mktemp("vault"), with_model=False))
    return _VAULTS[0]


_VAULTS: list[App] = []
