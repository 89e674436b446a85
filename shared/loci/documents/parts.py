"""The parts of the documents vertical, put together on the adapters of a runtime, and their upkeep."""

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from loci.core.errors import LociError
from loci.core.events import Tell, untold
from loci.core.identity import LOCAL, Owner
from loci.core.settings import Settings
from loci.core.stores import BlobStore, RecordStore
from loci.core.whole_files import remove_if_left
from loci.documents.archive import DocumentArchive
from loci.documents.catalog import Catalog
from loci.documents.graph.clusters import Clusters
from loci.documents.graph.graph import Graphs
from loci.documents.graph.neighbours_index import SimilarLinks
from loci.documents.graph.own_links import OwnLinks
from loci.documents.graph.remarks import Remarks
from loci.documents.graph.similarity import Similarities
from loci.documents.ingest.folder_ingest import FolderIngest
from loci.documents.ingest.folder_scan import FolderScan
from loci.documents.ingest.index_writer import COLLECTION, PARSER_VERSION, IndexWriter
from loci.documents.ingest.ingested_folders import IngestedFolders
from loci.documents.ingest.missing_vectors import MissingVectors
from loci.documents.ingest.partial_embeddings import PartialEmbeddings
from loci.documents.ingest.reindex import Reindex
from loci.documents.ingest.uploads import ClientSync
from loci.documents.library import Library
from loci.documents.recently_read import RecentlyRead
from loci.documents.writing.deletions import Deletions
from loci.documents.writing.edits import Edits
from loci.search.adapters import SearchAdapters
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder
from loci.search.language_model import LanguageModel
from loci.search.language_stage import LanguageStage
from loci.search.ranking import QueryVector, Where
from loci.search.search import Search

BESIDE_DOCUMENTS = re.compile(r"\.loci-[0-9a-f]{1,32}\.tmp")
"""The names of the temp files of writes."""


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
    missing_vectors: MissingVectors
    reindex: Reindex
    sync: ClientSync
    archive: DocumentArchive
    catalog: Catalog
    own_links: OwnLinks
    graphs: Graphs
    similarities: Similarities
    similar_links: SimilarLinks
    clusters: Clusters
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
    folders = IngestedFolders(records, catalog)
    partial, scan = PartialEmbeddings(records, time.time), FolderScan(settings.use_gitignore)
    seconds_to_parse = settings.parse_seconds
    writer = IndexWriter(catalog, index, embedder, time.time, parse_seconds=seconds_to_parse, partial=partial)
    deletions = Deletions(records)
    library = Library(catalog, writer, blobs, adapters.locks, deletions)
    model_name, seconds = settings.language_model or "", settings.language_model_seconds
    language_stage = LanguageStage(language_model, model_name, seconds=seconds)
    own_links = OwnLinks(catalog, index)
    graphs, similarities = Graphs(catalog, index), Similarities(index, embedder)
    write_roots = settings.write_roots if is_local else ()  # there are no folders on AWS
    return DocumentParts(
        index=index,
        embedder=embedder,
        search=Search(index, embedder, adapters.reranker, language_stage, rerank_seconds=settings.rerank_seconds),
        library=library,
        edits=Edits(catalog, writer, records, blobs, adapters.locks, time.time, write_roots, own_links, graphs, scan),
        ingest=FolderIngest(catalog, writer, folders, scan, tell),
        folders=folders,
        missing_vectors=MissingVectors(catalog, writer),
        reindex=Reindex(catalog, writer, index, library),
        sync=ClientSync(catalog, library, tell),
        archive=DocumentArchive(catalog, library, writer, blobs, adapters.locks, deletions),
        catalog=catalog,
        own_links=own_links,
        graphs=graphs,
        similarities=similarities,
        # A Lambda function has no time between requests.
        similar_links=SimilarLinks(similarities, in_background=is_local),
        clusters=Clusters(graphs, similarities),
        recently_read=RecentlyRead(records, time.time),
        remarks=Remarks(language_model, model_name, seconds=seconds),
    )


class Upkeep:
    """Repairs, embeds and warms up."""

    def __init__(self, parts: DocumentParts) -> None:
        self._parts = parts

    def repair(self, owner: Owner) -> None:
        """Finish or take back writes that a crash interrupted."""
        self._parts.edits.repair(owner)

    def sweep(self, owner: Owner) -> None:
        """Remove the temp files that killed writes left beside the owner's documents."""
        for root in self._parts.catalog.roots(owner).values():
            for here, _, files in os.walk(root.folder):  # follows no links, and skips what cannot be read
                for name in filter(BESIDE_DOCUMENTS.fullmatch, files):
                    remove_if_left(Path(here, name))

    def model(self) -> str | None:
        """The identity of the model that embeds; None if there is none."""
        model = self._parts.embedder.model()
        return model.identity if model else None

    def read_again(self, owner: Owner, stop: Callable[[], bool]) -> None:
        """Read the documents again that an older version has read, or that could not be parsed for want of time."""
        for document in [*self._parts.library.cached(owner)]:
            if stop():
                return
            if document.parser_version < PARSER_VERSION:
                with suppress(LociError):  # its file may be gone: the next ingest says so
                    self._parts.library.reindex(owner, document.id)

    def embed_missing(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> None:
        """Embed the passages that have no vector of the current model."""
        self._parts.missing_vectors.run(owner, stop=stop)

    def warm_search(self) -> None:
        """Load the model and the vectors; otherwise the first search would wait half a second for them.

        The cross-encoder is not loaded: it may take gigabytes, and not every server gets a search.
        """
        with suppress(LociError):  # the first search reports the problem
            asked = self._parts.embedder.query("warm")
            near = QueryVector.of(asked.model, asked.vector)
            self._parts.index.candidates(LOCAL, COLLECTION, ["warm"], near, limit=1, where=Where())

    def warm_ingestion(self) -> None:
        """Load the model, so that the first file does not wait for it."""
        with suppress(LociError):
            if self._parts.embedder.model():
                self._parts.embedder.passages(["warm"])
