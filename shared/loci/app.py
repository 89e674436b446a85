"""The product, assembled."""

from dataclasses import dataclass

from loci.api_keys import ApiKeys
from loci.code.elsewhere import Elsewhere
from loci.code.runner import Runner
from loci.code.typescript import TypeScript
from loci.documents.alike import Likeness
from loci.documents.catalog import Catalog
from loci.documents.clusters import Clusters
from loci.documents.edits import Edits
from loci.documents.feed import Feed
from loci.documents.fill import Fill
from loci.documents.graphs import Graphs
from loci.documents.ingest import Ingest
from loci.documents.library import Library
from loci.documents.read_lately import ReadLately
from loci.documents.remarks import Remarks
from loci.documents.similar import Similar
from loci.ports.documents import DocumentIndex
from loci.ports.models import Embedder
from loci.ports.stores import BlobStore, LocalLinks, RecordStore
from loci.scratchpad import Scratchpad
from loci.search.search import Search
from loci.settings import Settings
from loci.signing import Keyring
from loci.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class App:
    """Everything that a door (MCP, command line, web) may call."""

    settings: Settings
    telemetry: Telemetry
    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
    local_links: LocalLinks | None
    scratchpad: Scratchpad
    api_keys: ApiKeys
    index: DocumentIndex
    embedder: Embedder
    search: Search
    documents: Library
    edits: Edits
    ingest: Ingest
    fill: Fill
    feed: Feed
    catalog: Catalog
    graphs: Graphs
    likeness: Likeness
    similar: Similar
    clusters: Clusters
    read_lately: ReadLately
    remarks: Remarks
    runner: Runner
    typescript: TypeScript
    elsewhere: Elsewhere | None
    """Where runs are driven by another process; None: by this one."""
