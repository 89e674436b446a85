"""The parts of the documents vertical, put together on the adapters of a runtime, and their upkeep."""

import time
from dataclasses import dataclass

from loci.core.events import Tell, untold
from loci.core.settings import Settings
from loci.core.stores import BlobStore, RecordStore
from loci.documents.archive import DocumentArchive
from loci.documents.catalog import Catalog
from loci.documents.graph.gaps import Remarks
from loci.documents.graph.graphs import Graphs
from loci.documents.graph.own_links import OwnLinks
from loci.documents.ingest.folder_ingest import FolderIngest, IngestedFolders
from loci.documents.ingest.folder_scan import FolderScan
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.ingest.uploads import ClientSync
from loci.documents.library import Library
from loci.documents.recently_read import RecentlyRead
from loci.documents.upkeep import Upkeep
from loci.documents.writing.edits import Edits
from loci.search.adapters import SearchAdapters
from loci.search.document_index import DocumentIndex
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
    edits: Edits
    ingest: FolderIngest
    folders: IngestedFolders
    upkeep: Upkeep
    sync: ClientSync
    archive: DocumentArchive
    catalog: Catalog
    graphs: Graphs
    recently_read: RecentlyRead
    remarks: Remarks


def document_parts(
    settings: Settings,
    records: RecordStore,
    blobs: BlobStore,
    adapters: SearchAdapters,
    language_model: LanguageModel | None,
    tell: Tell = untold,
) -> DocumentParts:
    """Put the parts together."""
    is_local = settings.mode == "embedded"
    index, embedder = adapters.index, adapters.embedder
    catalog = Catalog(records)
    scan = FolderScan(settings.use_gitignore)
    writer = IndexWriter(catalog, index, embedder, time.time)
    library = Library(catalog, writer, blobs, adapters.locks)
    model_name, seconds = settings.language_model or "", settings.language_model_seconds
    language_stage = LanguageStage(language_model, model_name, seconds=seconds)
    own_links = OwnLinks(catalog, index)
    graphs = Graphs(catalog, index, embedder)
    write_roots = settings.write_roots if is_local else ()  # there are no folders on AWS
    edits = Edits(catalog, writer, blobs, adapters.locks, write_roots, own_links, graphs, scan)
    return DocumentParts(
        index=index,
        embedder=embedder,
        search=Search(index, embedder, adapters.reranker, language_stage, rerank_seconds=settings.rerank_seconds),
        library=library,
        edits=edits,
        ingest=FolderIngest(catalog, writer, scan, tell),
        folders=IngestedFolders(catalog),
        upkeep=Upkeep(catalog, writer, index, embedder, library, edits.repair),
        sync=ClientSync(catalog, library, tell),
        archive=DocumentArchive(catalog, library, writer, blobs, adapters.locks),
        catalog=catalog,
        graphs=graphs,
        recently_read=RecentlyRead(records, time.time),
        remarks=Remarks(language_model, model_name, seconds),
    )
