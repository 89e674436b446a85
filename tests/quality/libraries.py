"""Libraries that are measured: the same models and the same search, on either index."""

import time
from dataclasses import dataclass
from pathlib import Path

from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.reranker import OnnxReranker
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.library import Library
from loci.documents.writing.deletions import Deletions
from loci.model_store.models_folder import ModelsFolder
from loci.search.language_stage import LanguageStage
from loci.search.search import Search


@dataclass(frozen=True, slots=True)
class Searched:
    """Documents, and a search among them."""

    documents: Library
    search: Search


def library(data: Path, models: Path | None, rerank: float, index: OpenSearchIndex | None) -> Searched:
    """A new library: all of it in SQLite, or its passages in that index and its records in SQLite."""
    app = build_app(load_settings({"data": data, "models": models, "rerank_seconds": rerank}))
    if index is None:
        return Searched(app.documents.parts.library, app.documents.parts.search)
    settings = app.settings
    reranker = OnnxReranker(CurrentModel(ModelsFolder(settings.models_folder), "reranker", settings.reranker))
    nobody = LanguageStage(None, "", seconds=0)
    return Searched(
        Library(
            app.documents.parts.catalog,
            IndexWriter(app.documents.parts.catalog, index, app.documents.parts.embedder, time.time),
            app.blobs,
            FolderWriteLocks(settings.data / "turns"),
            Deletions(app.records),
        ),
        Search(index, app.documents.parts.embedder, reranker, nobody, rerank_seconds=rerank),
    )
