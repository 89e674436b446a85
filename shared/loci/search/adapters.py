"""The adapters that documents and files search with."""

from dataclasses import dataclass

from loci.core.stores import WriteLocks
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, Reranker


@dataclass(frozen=True, slots=True)
class SearchAdapters:
    """The ports besides the stores, on one runtime."""

    index: DocumentIndex
    embedder: Embedder
    reranker: Reranker
    locks: WriteLocks
