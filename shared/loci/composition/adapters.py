"""What the ports are made of, on one runtime. What only some requests need is made when one of them comes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.ports.stores import BlobStore, LocalLinks, RecordStore, Turns
from loci.signing import Keyring

if TYPE_CHECKING:
    from loci.ports.code import Errands, Executors, Sandbox
    from loci.ports.documents import DocumentIndex
    from loci.ports.models import Embedder, LanguageModel, Reranker


@dataclass(frozen=True, slots=True)
class ForDocuments:
    """What documents need."""

    index: "DocumentIndex"
    embedder: "Embedder"
    reranker: "Reranker"
    turns: Turns
    language_model: "LanguageModel | None"


@dataclass(frozen=True, slots=True)
class ForCode:
    """What runs of code need."""

    executors: "Callable[[], Executors]"
    sandbox: "Callable[[], Sandbox]"
    errands: "Errands | None"
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
