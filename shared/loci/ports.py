"""What Loci needs from outside. Each port has an embedded and an AWS adapter; one contract suite runs on both.

Every stored thing has an owner: it is the first argument, it has no default, and no key, prefix or link
reaches another owner's things.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from loci.errors import Conflict, Unavailable
from loci.model.code import Completed, Failed, Job
from loci.model.executors import Ran, Stored
from loci.model.identity import Owner
from loci.model.inference import EmbeddingModel, QueryEmbedding
from loci.model.records import Page, Record
from loci.model.search import Candidate, Chunk, Counts, Embedding, Marks, Vector, Where
from loci.model.values import Json, JsonObject

ABSENT: Final = ""
"""As an expected version: there must be no such record yet."""


def lost_race(kind: str) -> Conflict:
    """What a write raises that expected another version."""
    return Conflict(f"Somebody else wrote this {kind} first", "Read it again, then decide")


def damaged_vectors() -> Unavailable:
    """What a search raises where the index holds vectors that no model has made: they would rank anywhere."""
    return Unavailable("The index holds damaged vectors", "Run: loci doctor --fix", code="INDEX_DAMAGED")


class RecordStore(Protocol):
    """Small JSON documents with compare-and-set and expiry."""

    def get(self, owner: Owner, kind: str, key: str) -> Record | None:
        """The record as last written, or None where there is none or it has expired."""
        ...

    def put(
        self,
        owner: Owner,
        kind: str,
        key: str,
        value: JsonObject,
        *,
        expect_version: str | None = None,
        expires_at: float | None = None,
        durable: bool = True,
    ) -> Record:
        """Write it, and get it back with its new version.

        With `expect_version` the write happens only over that version (`ABSENT`: only where nothing is);
        otherwise `Conflict` is raised and nothing has changed. Without it, whatever was there is replaced.
        A write that is not `durable` survives a killed process, too, but perhaps not a power cut.
        """
        ...

    def remove(self, owner: Owner, kind: str, key: str, *, expect_version: str | None = None) -> bool:
        """Take it out; True where it was there. `expect_version` as in `put`."""
        ...

    def list(self, owner: Owner, kind: str, *, prefix: str = "", limit: int = 100, after: str | None = None) -> Page:
        """The records whose keys begin with `prefix`, by key, from the one behind `after` on."""
        ...


def every(records: RecordStore, owner: Owner, kind: str) -> Iterator[Record]:
    """All records of a kind, page by page."""
    after: str | None = None
    while True:
        page = records.list(owner, kind, limit=500, after=after)
        yield from page.records
        after = page.next
        if after is None:
            return


class BlobStore(Protocol):
    """Bytes under a key: a write is seen whole or not at all."""

    def read(self, owner: Owner, key: str) -> bytes:
        """The bytes as last written; `NotFound` where there are none."""
        ...

    def write(self, owner: Owner, key: str, content: bytes, *, durable: bool = True) -> None:
        """Put the bytes there. If not `durable`, they survive a killed process, too, but perhaps not a power cut."""
        ...

    def remove(self, owner: Owner, key: str) -> None:
        """Take it out; no error where it was not there."""
        ...

    def list(self, owner: Owner, prefix: str = "") -> list[str]:
        """The keys that begin with `prefix`, sorted."""
        ...

    def link(self, owner: Owner, key: str, seconds: int) -> str:
        """A URL that gives the bytes to whoever holds it, for so long."""
        ...


class Turns(Protocol):
    """One writer at a time, of all processes that use the stores."""

    def take(self, owner: Owner, name: str, seconds: float) -> AbstractContextManager[bool]:
        """Whether the turn came within so many seconds. It is over with the block, or a while after its process."""
        ...


@dataclass(frozen=True, slots=True)
class Linked:
    """What a local link leads to."""

    name: str
    content: bytes


class LocalLinks(Protocol):
    """The local server's side of `BlobStore.link`."""

    def follow(self, token: str) -> Linked:
        """What the link leads to; `NotFound` where it has expired, was tampered with, or leads nowhere."""
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


class Embedder(Protocol):
    """Texts as vectors, by a model that may come, go and change while Loci runs."""

    def model(self) -> EmbeddingModel | None:
        """The one that is used now; None while there is none."""
        ...

    def missing(self) -> str:
        """Where there is none: why, and what to do."""
        ...

    def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding a text, in order; `Unavailable` where there is no model now."""
        ...

    def query(self, text: str) -> QueryEmbedding:
        """The question as a vector, and its words as vectors; `Unavailable` where there is no model now."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many of the model's tokens each text has; without a model an estimate that is seldom too low."""
        ...


class Reranker(Protocol):
    """A cross-encoder: reads the question and a passage together."""

    def model(self) -> str | None:
        """The identity of the one that is used now; None while there is none."""
        ...

    def missing(self) -> str:
        """Where there is none: why, and what to do."""
        ...

    def scores(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """The relevance, 0 to 1, of the first texts: of as many as were read until the time was up.

        The first batch is always read. `Unavailable` where there is no model now.
        """
        ...


class LanguageModel(Protocol):
    """Reads a prompt and answers in JSON. There may be none."""

    def complete(self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int) -> JsonObject:
        """An answer that fits the schema, within the time.

        `Unavailable` where there is none: too slow, refused, unreachable, its tokens for today spent, or an answer
        that did not fit, and did not fit when it was asked for again.
        """
        ...


ToolCall = Callable[[str, JsonObject], Json]
"""Calls the tool of that id: what it answers; `LociError` where it fails."""


class Sandbox(Protocol):
    """Runs callers' TypeScript where it can reach nothing. The code is hostile, and whatever it says may be false."""

    def run(self, owner: Owner, job: Job, call: ToolCall) -> Completed | Failed:
        """What became of it; owners share nothing that one could change.

        `call` is called, from other threads, for tools of the job's clients only.

        `Unavailable` where no code can be run safely now.
        """
        ...

    def close(self) -> None:
        """End what is running."""
        ...


class Errands(Protocol):
    """Work that goes on though whoever asked for it has gone."""

    def send(self, errand: JsonObject) -> None:
        """Have it done, perhaps more than once; `Unavailable` where nobody can be asked to."""
        ...


class StoredFiles(Protocol):
    """Files that were stored, for code that computes on them."""

    def read(self, owner: Owner, id: str) -> Stored:
        """The file as it is now; `NotFound` where the owner has none of that id."""
        ...


class Executors(Protocol):
    """Python behind a wall. Each executor keeps its variables and its work folder from run to run."""

    def open(self, owner: Owner) -> str:
        """The id of a new one, which nobody can guess; `Unavailable` where code cannot run behind a wall here."""
        ...

    def run(self, owner: Owner, id: str, code: str, files: StoredFiles, keep_until: float) -> Ran:
        """What the code comes to, as soon as it ends or has to be ended.

        The executor's state is what its last run left, wherever that was; where it could not be kept, the answer
        says what is missing. It is kept until that moment. One run at a time: of a second one `Refused`.
        """
        ...

    def forget(self, owner: Owner, id: str) -> None:
        """Nothing of it is left; no error where there is none."""
        ...

    def close(self) -> None:
        """Keep what is not kept yet, and end what runs: the server stops."""
        ...
