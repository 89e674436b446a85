"""What is searched, and what is found: chunks with their scores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Embedding:
    """What a model makes of a passage. Vectors of two models are never compared."""

    model: str
    """Identity: name and hash of its file."""
    vector: bytes
    """Normalised, little-endian float16."""
    bits: bytes
    """The signs of its tokens' vectors, two neighbours averaged: for late interaction."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: what is found, embedded and shown."""

    id: str
    """The document's id, `#`, and its number from 0 on."""
    document: str
    path: str
    """The document's, as people know it."""
    title: str
    """The document's."""
    heading: tuple[str, ...]
    """The path of headings above it, outermost first."""
    first_line: int
    last_line: int
    text: str
    hash: str
    """Of what is embedded: two chunks with one hash have one embedding."""
    words: str
    """What it is found by, as `search.words` cuts it, joined by spaces."""
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """What a document's chunks are filtered by."""

    tags: tuple[str, ...] = ()
    date: str | None = None
    """YYYY-MM-DD."""


@dataclass(frozen=True, slots=True)
class Where:
    """Which documents a search is about: all that fit every condition that is set."""

    any_tags: tuple[str, ...] = ()
    all_tags: tuple[str, ...] = ()
    no_tags: tuple[str, ...] = ()
    since: str | None = None
    """YYYY-MM-DD, included; a document without a date fits no range."""
    until: str | None = None
    """YYYY-MM-DD, included."""


EVERYTHING: Final = Where()


@dataclass(frozen=True, slots=True)
class Vector:
    """A question's vector, normalised, little-endian float32. It may still have to be made."""

    model: str
    dimensions: int
    made: Callable[[], bytes]
    """Gives it, the second time at once; raises `Unavailable` where the model does not answer."""

    @classmethod
    def of(cls, model: str, values: bytes) -> "Vector":
        """One that is there."""
        return cls(model, len(values) // 4, lambda: values)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that at least one leg found. Ranks count from 1."""

    chunk: str
    document: str
    bm25: float | None = None
    lexical_rank: int | None = None
    cosine: float | None = None
    """Exact, also where only the words found it; None where it has no vector of that model."""
    vector_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """What an index holds of one collection."""

    documents: int
    chunks: int
    embedded: dict[str, int]
    """Chunks with an embedding, by model."""


StageName = Literal["words", "vector", "late", "rerank", "language_model"]


@dataclass(frozen=True, slots=True)
class Stage:
    """What one step of a search did."""

    name: StageName
    ran: bool
    ms: float
    note: str
    """The model and how many passages; or why it did not run."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a hit came to its place. Ranks count from 1; None: that step did not rank it."""

    words: int | None
    vector: int | None
    fused: int
    late: int | None
    rerank: int | None
    bm25: float | None
    cosine: float | None
    closeness: float | None
    relevance: float | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A document's best passage."""

    chunk: Chunk
    score: float
    """0 to 1, with one meaning from question to question."""
    source: str
    """The steps that ranked it: `bm25`, `vector` or `hybrid`, with `+rerank`; `vector+rerank` for all of them."""
    snippet: str
    why: Explanation
    context: str | None = None
    """What a language model says of it."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a question: hits, best first, and what was done to find them."""

    query: str
    hits: tuple[Hit, ...]
    stages: tuple[Stage, ...]
    reason: str | None
    """Why there are no hits."""
    intent: str | None = None
    """What is asked for, as a language model reads it."""
    analysis: str | None = None
