"""Checks of a deployment on AWS: each service that Loci needs must answer."""

from collections.abc import Callable

from loci.app import App
from loci.core.diagnosis import Finding, counted, run_check, size_shown
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL, SYSTEM
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import BoundedIndex

NEARLY_FULL = 0.8
"""The share of an index's room from which on it is time to move."""


def check_aws(app: App, secrets: Callable[[], int]) -> list[Finding]:
    """Check each service. If one does not answer, its adapter explains why."""
    return [
        *run_check("table", lambda: _table(app)),
        *run_check("bucket", lambda: _bucket(app)),
        *run_check("secret", lambda: Finding("secret", "ok", f"{counted(secrets(), 'signing secret')} accepted")),
        *run_check("search", lambda: _search(app)),
        *run_check("inference", lambda: _inference(app)),
        *run_check("reader", lambda: _reader(app)),
    ]


def _table(app: App) -> Finding:
    return Finding("table", "ok", f"{app.settings.aws.table} answers, with {counted(len(app.api_keys.list()), 'key')}")


def _bucket(app: App) -> Finding:
    app.blobs.list(SYSTEM, "doctor/")
    return Finding("bucket", "ok", f"{app.settings.aws.bucket} answers")


def _search(app: App) -> Finding:
    try:
        index = app.documents.parts.index
        if isinstance(index, BoundedIndex):
            return _room(app, index)
        index.counts(LOCAL, COLLECTION)
    except Unavailable as error:
        if app.settings.aws.search_url is not None:
            raise
        return Finding("search", "warning", error.what, error.resolution)
    return Finding("search", "ok", f"{app.settings.aws.search_url} answers")


def _room(app: App, index: BoundedIndex) -> Finding:
    """The sizes of the indexes in the bucket, and a warning before an owner's is full."""
    rooms = {owner.key: index.room(owner) for owner in {LOCAL, *app.api_keys.owners()}}
    fullest = max(rooms.values(), key=lambda room: room.passages)
    size = size_shown(sum(room.bytes for room in rooms.values()))
    what = (
        f"The index in {app.settings.aws.bucket} has {size}; its fullest owner has {fullest.passages:,} of at"
        f" most {fullest.most_passages:,} passages"
    )
    if fullest.passages < NEARLY_FULL * fullest.most_passages:
        return Finding("search", "ok", what)
    advice = 'Deploy a stage with OpenSearch ("search": "domain") on the same data, then run: loci reindex --stack NAME'
    return Finding("search", "warning", what, advice)


def _inference(app: App) -> Finding | None:
    name = app.settings.aws.inference_function
    model = app.documents.parts.embedder.model()
    if name is None:
        return None if model else _without_model()
    if model is None:
        return Finding("inference", "warning", f"{name} has no embedder", "Build its image with one, and deploy it")
    return Finding("inference", "ok", f"{name} answers, and embeds with {model.identity}")


def _without_model() -> Finding:
    """Say what a model would add. A stage without one is a choice, not a fault."""
    what = (
        "None: documents are found by their words. With a model a search also finds those that say it in other words, "
        'and links similar documents: set "model_in_gateway" or "inference" in cdk.json, and deploy'
    )
    return Finding("inference", "ok", what)


def _reader(app: App) -> Finding:
    """Say what reads files. A stage without it is a choice, too."""
    name = app.settings.aws.extract_function
    if name is not None:
        return Finding("reader", "ok", f"{name} reads files")
    what = (
        "None: Loci reads only plain texts and Markdown. To read workbooks, PDFs and others, "
        'set "extract" in cdk.json, and deploy'
    )
    return Finding("reader", "ok", what)
