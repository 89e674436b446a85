"""The ports of the document index and of the bucket that people upload documents to; and the ports of a search."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from loci.core.identity import Owner
from loci.core.stores import WriteLocks
from loci.search.inference import Embedder, Embedding, Reranker
from loci.search.ranking import Candidate, Chunk, IndexCounts, QueryVector, TagsAndDate, Where


class DocumentIndex(Protocol):
    """Finds chunks by their words and by their vectors. A collection is one part of an owner's chunks."""

    def put(
        self,
        owner: Owner,
        collection: str,
        document: str,
        chunks: Sequence[Chunk],
        tags_and_date: TagsAndDate,
        *,
        is_new: bool = False,
    ) -> None:
        """Replace all chunks of the document by these, or change nothing. A later search sees them.

        `is_new`: nobody has written the document before. An index for many uploads may then show it a moment later.
        """
        ...

    def together(self) -> AbstractContextManager[None]:
        """Several writes of this thread, which may cost less together. Searches may see them when it ends.

        If it ends with an error, perhaps nothing is written.
        """
        ...

    def remove(self, owner: Owner, collection: str, document: str) -> None:
        """Remove the document's chunks, if there are any. A later search sees none."""
        ...

    def remove_all(self, owner: Owner) -> None:
        """Remove the chunks of all collections of the owner."""
        ...

    def embeddings(self, owner: Owner, model: str, hashes: Sequence[str]) -> dict[str, Embedding]:
        """The embeddings by that model which the owner's chunks already have, by the hashes of the chunks."""
        ...

    def candidates(
        self,
        owner: Owner,
        collection: str,
        words: Sequence[str],
        vector: QueryVector | None,
        *,
        limit: int,
        where: Where,
    ) -> list[Candidate]:
        """The `limit` best chunks by BM25 over the words, together with the `limit` nearest to the vector.

        A word that comes twice counts twice. A chunk without any of the words has no rank by words. A chunk without
        an embedding of the vector's model has no rank by vector. Chunks with equal scores are ordered by id. Each
        candidate has its exact BM25 and its exact cosine, even if only the other leg found it.
        """
        ...

    def chunks(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, Chunk]:
        """The chunks with these ids, whole, by id. Leaves out ids that no chunk has."""
        ...

    def passages(self, owner: Owner, collection: str) -> Iterator[Chunk]:
        """All chunks, each once. A chunk that is written meanwhile may be missing."""
        ...

    def counts(self, owner: Owner, collection: str) -> IndexCounts: ...

    def state(self, owner: Owner, collection: str) -> str:
        """A token that changes with the collection; use it to validate caches."""
        ...

    def documents(self, owner: Owner, collection: str, among: Sequence[str] | None = None) -> dict[str, int]:
        """The ids of all documents that have chunks, or of some `among` these, with the number of their chunks."""
        ...


def whole(_: Owner) -> None:
    """Say nothing: the index is whole."""


@dataclass(frozen=True, slots=True)
class SearchAdapters:
    """The ports besides the stores, on one runtime."""

    index: DocumentIndex
    embedder: Embedder
    reranker: Reranker
    locks: WriteLocks
    lacks: Callable[[Owner], str | None] = whole
    """Says that the owner's index is not whole yet, and why; None if it is."""


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded object as it was at one moment."""

    version: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ListedUpload:
    """An uploaded object in a listing."""

    key: str
    modified: float
    """The time of its last write, in seconds since 1970."""


class Uploads(Protocol):
    """The objects that people upload. Loci only reads them. Their keys say whose they are."""

    def named(self, notice: str) -> list[str]:
        """The keys of the objects that a notice is about; none if it is about something else."""
        ...

    def version(self, key: str) -> str:
        """A token that changes with the object's content; `ABSENT` if there is no such object."""
        ...

    def listed(self, prefix: str) -> Iterator[ListedUpload]:
        """The objects whose keys begin with the prefix, in the order of their keys."""
        ...

    def folders(self, prefix: str) -> list[str]:
        """The keys' next parts below the prefix, which ends in a slash: each with the prefix, and with its slash."""
        ...

    def read(self, key: str, most: int) -> Upload | None:
        """The object as it is now, or None if it does not exist. Raises `Refused` if it has more than `most` bytes."""
        ...
