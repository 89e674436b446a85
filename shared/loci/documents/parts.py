"""The parts of the documents vertical, put together on the adapters of a runtime, and their upkeep."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from loci.core.events import Tell, untold
from loci.core.identity import Owner
from loci.core.settings import Settings
from loci.core.stores import BlobStore, RecordStore
from loci.documents.archive import DocumentArchive
from loci.documents.catalog import Catalog
from loci.documents.ingest.folder_ingest import FolderIngest, IngestedFolders
from loci.documents.ingest.folder_scan import FolderScan
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.ingest.uploads import ClientSync
from loci.documents.library import Library
from loci.documents.recently_read import RecentlyRead
from loci.documents.upkeep import Upkeep
from loci.search.document_index import DocumentIndex, SearchAdapters
from loci.search.inference import Embedder
from loci.search.language_model import LanguageModel
from loci.search.language_stage import LanguageStage
from loci.search.search import Search


@dataclass(frozen=True, slots=True)
class DocumentParts:
    """Everything that `Documents` is made of. Tests and doctor's checks look at single parts."""

    index: DocumentIndex
    embedder: Embedder
    search: Search
    library: Library
    ingest: FolderIngest
    folders: IngestedFolders
    upkeep: Upkeep
    sync: ClientSync
    archive: DocumentArchive
    catalog: Catalog
    scan: FolderScan
    writer: IndexWriter
    recently_read: RecentlyRead


def document_parts(
    settings: Settings,
    records: RecordStore,
    blobs: BlobStore,
    adapters: SearchAdapters,
    language_model: LanguageModel | None,
    repair: Callable[[Owner], int],
    tell: Tell = untold,
) -> DocumentParts:
    """Put the parts together. `repair`: repairs interrupted writes, and returns how many there were."""
    index, embedder = adapters.index, adapters.embedder
    catalog = Catalog(records)
    scan = FolderScan(settings.use_gitignore)
    writer = IndexWriter(catalog, index, embedder, time.time)
    library = Library(catalog, writer, blobs, adapters.locks)
    name, seconds = settings.language_model or "", settings.language_model_seconds
    language_stage = LanguageStage(language_model, name, seconds=seconds) if language_model else None
    return DocumentParts(
        index=index,
        embedder=embedder,
        search=Search(index, embedder, adapters.reranker, language_stage, rerank_seconds=settings.rerank_seconds),
        library=library,
        ingest=FolderIngest(catalog, writer, scan, tell),
        folders=IngestedFolders(catalog),
        upkeep=Upkeep(catalog, writer, index, embedder, library, repair),
        sync=ClientSync(catalog, library, tell),
        archive=DocumentArchive(catalog, library, writer, blobs, adapters.locks),
        catalog=catalog,
        scan=scan,
        writer=writer,
        recently_read=RecentlyRead(records, time.time),
    )
