"""What the ports are made of, on one runtime. What only some requests need is made when one of them comes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.signing import Keyring
from loci.core.stores import BlobStore, LocalLinks, RecordStore, WriteLocks

if TYPE_CHECKING:
    from loci.code.ports import Executors, Jobs, Sandbox
    from loci.search.document_index import DocumentIndex
    from loci.search.inference import Embedder, Reranker
    from loci.search.language_model import LanguageModel


@dataclass(frozen=True, slots=True)
class ForDocuments:
    """What documents need."""

    index: "DocumentIndex"
    embedder: "Embedder"
    reranker: "Reranker"
    turns: WriteLocks
    language_model: "LanguageModel | None"


@dataclass(frozen=True, slots=True)
class ForCode:
    """What runs of code need."""

    executors: "Callable[[], Executors]"
    sandbox: "Callable[[], Sandbox]"
    jobs: "Jobs | None"
    """None: a run goes on in this process."""


@dataclass(frozen=True, slots=True)
class Adapters:
    """One of every port."""

    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
    local_links: LocalLinks | None
    documents: Callable[[], ForDocuments]
    code: Callable[[], ForCode]
