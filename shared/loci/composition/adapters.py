"""What the ports are made of, on one runtime."""

from dataclasses import dataclass

from loci.ports.code import Errands, Executors, Sandbox
from loci.ports.documents import DocumentIndex
from loci.ports.models import Embedder, LanguageModel, Reranker
from loci.ports.stores import BlobStore, LocalLinks, RecordStore, Turns
from loci.signing import Keyring


@dataclass(frozen=True, slots=True)
class Adapters:
    """One of every port."""

    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
    local_links: LocalLinks | None
    index: DocumentIndex
    embedder: Embedder
    reranker: Reranker
    turns: Turns
    language_model: LanguageModel | None
    executors: Executors
    sandbox: Sandbox
    errands: Errands | None
    """None: a run goes on in this process."""
