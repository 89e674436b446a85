"""The indexes on which searches over files are measured, with the passages of one lake."""

import tempfile
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.vector_index import VectorIndex
from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxReranker
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.app import App
from loci.core.identity import LOCAL
from loci.files.finder import FileFinder
from loci.files.search_query import COLLECTION
from loci.model_store.models import ModelsFolder
from loci.search.document_index import DocumentIndex
from loci.search.ranking import Chunk, TagsAndDate
from loci.search.search import Search
from tests.support.domain import domain
from tests.support.moto_aws import VECTORS, moto_aws


@contextmanager
def index_of(name: str) -> Generator[DocumentIndex | None]:
    """The index with this name, new and empty. None: the one that the app has."""
    with ExitStack() as stack:
        if name == "sqlite":
            yield None
        elif name == "opensearch":
            yield OpenSearchIndex(*stack.enter_context(domain()))
        else:
            stack.enter_context(moto_aws())
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            yield VectorIndex(VECTORS, SqliteRecords(Database(folder / "loci.db"), time.time), Clients())


def move(app: App, index: DocumentIndex) -> None:
    """Put the passages into this index, and search there from now on."""
    parts, chunks = app.files.parts, defaultdict[str, list[Chunk]](list)
    for one in parts.index.passages(LOCAL, COLLECTION):
        chunks[one.document].append(one)
    with index.together():
        for document, its in chunks.items():
            index.put(LOCAL, COLLECTION, document, its, TagsAndDate(), is_new=True)
    models = CurrentModel(ModelsFolder(app.settings.models_folder), "reranker", app.settings.reranker)
    search = Search(
        index,
        parts.embedder,
        OnnxReranker(models),
        None,
        rerank_seconds=app.settings.rerank_seconds,
    )
    parts.index, parts.finder = index, FileFinder(parts.lake, search, parts.versions.at, lambda: None)
