"""Documents, on the adapters of a runtime."""

import time
from pathlib import Path

from loci.composition.adapters import ForDocuments
from loci.documents.alike import Likeness
from loci.documents.catalog import Catalog
from loci.documents.clusters import Clusters
from loci.documents.edits import Edits
from loci.documents.feed import Feed
from loci.documents.fill import Fill
from loci.documents.graphs import Graphs
from loci.documents.ingest import Ingest
from loci.documents.library import Library
from loci.documents.parts import Documents
from loci.documents.read_lately import ReadLately
from loci.documents.remarks import Remarks
from loci.documents.similar import Similar
from loci.documents.writer import Writer
from loci.ports.stores import BlobStore, RecordStore
from loci.search.reading import Reader
from loci.search.search import Search
from loci.settings import Settings


def documents(settings: Settings, records: RecordStore, blobs: BlobStore, made: ForDocuments) -> Documents:
    """Everything on documents."""
    catalog = Catalog(records)
    writer = Writer(catalog, made.index, made.embedder, time.time)
    library = Library(catalog, writer, blobs, made.turns)
    model_name, seconds = settings.language_model or "", settings.language_model_seconds
    reader = Reader(made.language_model, model_name, seconds=seconds)
    graphs, likeness = Graphs(catalog, made.index), Likeness(made.index, made.embedder)
    return Documents(
        index=made.index,
        embedder=made.embedder,
        search=Search(made.index, made.embedder, made.reranker, reader, rerank_seconds=settings.rerank_seconds),
        library=library,
        edits=Edits(catalog, writer, records, blobs, made.turns, time.time, _own_roots(settings)),
        ingest=Ingest(catalog, writer),
        fill=Fill(catalog, writer),
        feed=Feed(catalog, library, writer),
        catalog=catalog,
        graphs=graphs,
        likeness=likeness,
        similar=Similar(likeness, ahead=settings.mode == "embedded"),  # a function has no time between requests
        clusters=Clusters(graphs, likeness),
        read_lately=ReadLately(records, time.time),
        remarks=Remarks(made.language_model, model_name, seconds=seconds),
    )


def _own_roots(settings: Settings) -> tuple[Path, ...]:
    return settings.write_roots if settings.mode == "embedded" else ()  # on AWS there are no folders
