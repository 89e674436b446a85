"""Libraries that are measured: the same models and the same search, on either index."""

from dataclasses import dataclass, replace
from pathlib import Path

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.documents.library import Library
from loci.search.document_index import DocumentIndex
from loci.search.search import Search
from tests.support.with_parts import with_parts


@dataclass(frozen=True, slots=True)
class Searched:
    """Documents, a search among them, and the app whose tools search there."""

    documents: Library
    search: Search
    app: App


def library(data: Path, models: Path | None, rerank: float, index: DocumentIndex | None) -> Searched:
    """A library: all of it in SQLite, or its passages in that index and its records in SQLite."""
    app = build_app(load_settings({"data": data, "models": models, "rerank_seconds": rerank}))
    if index is not None:
        app = with_parts(app, search_adapters=replace(app.search_adapters, index=index))
    return Searched(app.documents.parts.library, app.search, app)
