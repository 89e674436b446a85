"""Checks of a deployment on AWS: each service that Loci needs must answer."""

from collections.abc import Callable

from loci.app import App
from loci.core.errors import Unavailable
from loci.core.finding import Finding, counted, run_check
from loci.core.identity import LOCAL, SYSTEM
from loci.documents.ingest.index_writer import COLLECTION


def check_aws(app: App, secrets: Callable[[], int]) -> list[Finding]:
    """Check each service. If one does not answer, its adapter explains why."""
    return [
        *run_check("table", lambda: _table(app)),
        *run_check("bucket", lambda: _bucket(app)),
        *run_check("secret", lambda: Finding("secret", "ok", f"{counted(secrets(), 'signing secret')} accepted")),
        *run_check("search", lambda: _search(app)),
        *run_check("inference", lambda: _inference(app)),
    ]


def _table(app: App) -> Finding:
    return Finding("table", "ok", f"{app.settings.table} answers, with {counted(len(app.api_keys.list()), 'key')}")


def _bucket(app: App) -> Finding:
    app.blobs.list(SYSTEM, "doctor/")
    return Finding("bucket", "ok", f"{app.settings.bucket} answers")


def _search(app: App) -> Finding:
    try:
        app.documents.parts.index.counts(LOCAL, COLLECTION)
    except Unavailable as error:
        if app.settings.search_url is not None:
            raise
        return Finding("search", "warning", error.what, error.resolution)
    return Finding("search", "ok", f"{app.settings.search_url} answers")


def _inference(app: App) -> Finding | None:
    name = app.settings.inference_function
    if name is None:
        return None
    model = app.documents.parts.embedder.model()
    if model is None:
        return Finding("inference", "warning", f"{name} has no embedder", "Build its image with one, and deploy it")
    return Finding("inference", "ok", f"{name} answers, and embeds with {model.identity}")
