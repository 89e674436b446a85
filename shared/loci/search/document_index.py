"""What documents need: an index, and where people put what shall become documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.ranking import Candidate, Chunk, Counts, Embedding, Marks, Vector, Where


def damaged_vectors() -> Unavailable:
    """What a search raises where the index holds vectors that no model has made: they would rank anywhere."""
    return Unavailable("The index holds damaged vectors", "Run: loci doctor --fix", code="INDEX_DAMAGED")


class DocumentIndex(Protocol):
    """Chunks, found by their words and by their vectors. A collection is a part of what is an owner's."""

    def put(self, owner: Owner, collection: str, document: str, chunks: Sequence[Chunk], marks: Marks) -> None:
        """The document has these chunks from now on, and no others: all or none. A search after it sees them."""
        ...

    def remove(self, owner: Owner, collection: str, document: str) -> None:
        """Take the document's chunks out; no error where there are none. A search after it sees none."""
        ...

    def embeddings(self, owner: Owner, model: str, hashes: Sequence[str]) -> dict[str, Embedding]:
        """Those that the owner's chunks already have from that model, by the chunks' hashes."""
        ...

    def candidates(
        self, owner: Owner, collection: str, words: Sequence[str], vector: Vector | None, *, limit: int, where: Where
    ) -> list[Candidate]:
        """The best `limit` chunks by BM25 over the words, and the `limit` nearest to the vector, together.

        A chunk that holds none of the words is in the lexical leg's place nowhere; one without an embedding of the
        vector's model is in the vector leg's place nowhere. Ties go by chunk id.
        """
        ...

    def chunks(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, Chunk]:
        """Those of the chunks that are there, whole, by id."""
        ...

    def passages(self, owner: Owner, collection: str) -> Iterator[Chunk]:
        """Every chunk. One that is written meanwhile may be missing; none comes twice."""
        ...

    def counts(self, owner: Owner, collection: str) -> Counts: ...

    def state(self, owner: Owner, collection: str) -> str:
        """Another one wherever the collection is another: who remembers something asks whether it still holds."""
        ...

    def documents(self, owner: Owner, collection: str) -> dict[str, int]:
        """All documents that have chunks, by id, and how many each has."""
        ...


@dataclass(frozen=True, slots=True)
class Upload:
    """What somebody uploaded, as it was at one moment."""

    version: str
    content: bytes


class Uploads(Protocol):
    """Objects that people put where Loci only reads. Their keys say whose they are."""

    def named(self, notice: str) -> list[str]:
        """The keys of the objects that a notice says something of; none where it is about something else."""
        ...

    def version(self, key: str) -> str:
        """What changes with the content of the object; `ABSENT` where there is none."""
        ...

    def read(self, key: str, most: int) -> Upload | None:
        """The object as it is now, None where there is none; `Refused` where it has more than so many bytes."""
        ...
