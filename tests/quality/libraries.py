"""Libraries that are measured: the same models and the same search, on either index."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.reranker import OnnxReranker
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.library import Library
from loci.model_store.models import ModelsFolder
from loci.search.search import Search


@dataclass(frozen=True, slots=True)
class Searched:
    """Documents, a search among them, and the app whose tools search there."""

    documents: Library
    search: Search
    app: App


def library(data: Path, models: Path | None, rerank: float, index: OpenSearchIndex | None) -> Searched:
    """A library: all of it in SQLite, or its passages in that index and its records in SQLite."""
    app = build_app(load_settings({"data": data, "models": models, "rerank_seconds": rerank}))
    parts, settings = app.documents.parts, app.settings
    if index is not None:
        reranker = OnnxReranker(CurrentModel(ModelsFolder(settings.models_folder), "reranker", settings.reranker))
        writer = IndexWriter(parts.catalog, index, parts.embedder, time.time)
        locks = FolderWriteLocks(settings.data / "turns")
        parts = app.documents.parts = replace(
            parts,
            index=index,
            library=Library(parts.catalog, writer, app.blobs, locks),
            search=Search(index, parts.embedder, reranker, None, rerank_seconds=rerank),
        )
    return Searched(parts.library, parts.search, app)
