"""The example collection: notes of an invented library of tools, so that the first question has an answer."""

import shutil
from collections.abc import Callable
from importlib.resources import as_file, files

from loci.app import App
from loci.core.identity import LOCAL

QUESTION = "Why was self-checkout withdrawn?"


def bring_example(app: App, say: Callable[[str], None]) -> None:
    """Copy it into the data folder and take it in; only where no document is yet."""
    folder = app.settings.data / "example"
    if folder.exists() or app.documents.library.documents(LOCAL):
        return
    with as_file(files("loci") / "example") as source:
        shutil.copytree(source, folder)
    summary = app.documents.ingest.run(LOCAL, [str(folder)])
    say(
        f"An example of {summary.processed} notes is in {folder}: ask your agent {QUESTION!r}\n"
        "Your own: loci ingest FOLDER. Without the example: loci forget example"
    )
