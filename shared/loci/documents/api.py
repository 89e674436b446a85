"""Documents, assembled."""

from dataclasses import dataclass
from typing import Protocol

from loci.core.stores import BlobStore
from loci.documents.catalog import Catalog
from loci.documents.graph.clusters import Clusters
from loci.documents.graph.graph import Graphs
from loci.documents.graph.neighbours_index import SimilarLinks
from loci.documents.graph.remarks import Remarks
from loci.documents.graph.similarity import Similarities
from loci.documents.ingest.client_sync import ClientSync
from loci.documents.ingest.folder_ingest import FolderIngest
from loci.documents.ingest.index_writer import MissingVectors
from loci.documents.library import Library
from loci.documents.recently_read import RecentlyRead
from loci.documents.writing.edits import Edits
from loci.mcp.module import Host
from loci.scratchpad.api import Scratchpad
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder
from loci.search.search import Search


@dataclass(frozen=True, slots=True)
class Documents:
    """Everything on documents that a door may call."""

    index: DocumentIndex
    embedder: Embedder
    search: Search
    library: Library
    edits: Edits
    ingest: FolderIngest
    fill: MissingVectors
    feed: ClientSync
    catalog: Catalog
    graphs: Graphs
    likeness: Similarities
    similar: SimilarLinks
    clusters: Clusters
    read_lately: RecentlyRead
    remarks: Remarks


class DocumentsHost(Host, Protocol):
    """The product, as the doors to documents see it."""

    @property
    def blobs(self) -> BlobStore: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def scratchpad(self) -> Scratchpad: ...
