"""Documents, assembled."""

from dataclasses import dataclass

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
from loci.search.search import Search


@dataclass(frozen=True, slots=True)
class Documents:
    """Everything on documents that a door may call."""

    index: DocumentIndex
    embedder: Embedder
    search: Search
    library: Library
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
