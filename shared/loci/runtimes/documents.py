"""Documents, on the adapters of a runtime."""

import time
from pathlib import Path

from loci.core.settings import Settings
from loci.core.stores import BlobStore, RecordStore
from loci.documents.api import Documents
from loci.documents.catalog import Catalog
from loci.documents.graph.clusters import Clusters
from loci.documents.graph.graph import Graphs
from loci.documents.graph.neighbours_index import SimilarLinks
from loci.documents.graph.remarks import Remarks
from loci.documents.graph.similarity import Similarities
from loci.documents.ingest.client_sync import ClientSync
from loci.documents.ingest.folder_ingest import FolderIngest
from loci.documents.ingest.index_writer import IndexWriter, MissingVectors
from loci.documents.library import Library
from loci.documents.recently_read import RecentlyRead
from loci.documents.writing.edits import Edits
from loci.runtimes.adapters import ForDocuments
from loci.search.language_stage import LanguageStage
from loci.search.search import Search


def documents(settings: Settings, records: RecordStore, blobs: BlobStore, made: ForDocuments) -> Documents:
    """Everything on documents."""
    catalog = Catalog(records)
    writer = IndexWriter(catalog, made.index, made.embedder, time.time)
    library = Library(catalog, writer, blobs, made.turns)
    model_name, seconds = settings.language_model or "", settings.language_model_seconds
    reader = LanguageStage(made.language_model, model_name, seconds=seconds)
    graphs, likeness = Graphs(catalog, made.index), Similarities(made.index, made.embedder)
    return Documents(
        index=made.index,
        embedder=made.embedder,
        search=Search(made.index, made.embedder, made.reranker, reader, rerank_seconds=settings.rerank_seconds),
        library=library,
        edits=Edits(catalog, writer, records, blobs, made.turns, time.time, _own_roots(settings)),
        ingest=FolderIngest(catalog, writer),
        fill=MissingVectors(catalog, writer),
        feed=ClientSync(catalog, library),
        catalog=catalog,
        graphs=graphs,
        likeness=likeness,
        similar=SimilarLinks(
            likeness, in_background=settings.mode == "embedded"
        ),  # a function has no time between requests
        clusters=Clusters(graphs, likeness),
        read_lately=RecentlyRead(records, time.time),
        remarks=Remarks(made.language_model, model_name, seconds=seconds),
    )


def _own_roots(settings: Settings) -> tuple[Path, ...]:
    return settings.write_roots if settings.mode == "embedded" else ()  # on AWS there are no folders
