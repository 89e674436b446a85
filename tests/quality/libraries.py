"""Libraries that are measured: the same models and the same search, on either index."""

import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.vector_index import VectorIndex
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.search.document_index import DocumentIndex
from tests.support.domain import domain
from tests.support.moto_aws import VECTORS, moto_aws
from tests.support.with_parts import with_parts

INDEXES = {"opensearch": "OpenSearch", "vectors": "S3 Vectors"}


def opened(data: Path, models: Path, rerank: float, index: DocumentIndex | None = None) -> App:
    """Loci on this folder: all of it in SQLite, or its passages in that index and its records in SQLite."""
    app = build_app(load_settings({"data": data, "models": models, "rerank_seconds": rerank}))
    return with_parts(app, search_adapters=replace(app.search_adapters, index=index)) if index else app


@contextmanager
def index_of(name: str) -> Generator[DocumentIndex | None]:
    """The index with this name, new and empty."""
    with ExitStack() as stack:
        if name == "opensearch":
            yield OpenSearchIndex(*stack.enter_context(domain()))
        elif name == "vectors":
            stack.enter_context(moto_aws())
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            yield VectorIndex(VECTORS, SqliteRecords(Database(folder / "loci.db"), time.time), Clients())
        else:
            yield None
