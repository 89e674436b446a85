"""The nouns of a search: the chunks in the index, the conditions, and the ranking that comes out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from loci.search.inference import Embedding


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: the unit that Loci finds, embeds and shows."""

    id: str
    """The document's id, `#`, and the passage's number, counted from 0."""
    document: str
    path: str
    """The path of the document, as people know it."""
    title: str
    """The title of the document."""
    heading: tuple[str, ...]
    """The headings above the passage, outermost first."""
    first_line: int
    last_line: int
    text: str
    hash: str
    """The hash of the embedded text: two chunks with one hash share one embedding."""
    words: str
    """The words that find it, cut by `search.words` and joined by spaces."""
    embedding: Embedding | None = None
    context: str = ""
    """The text that is embedded with the passage, and not shown. No index keeps it."""


@dataclass(frozen=True, slots=True)
class TagsAndDate:
    """The facts about a document that a search can filter by."""

    tags: tuple[str, ...] = ()
    date: str | None = None
    """YYYY-MM-DD."""


@dataclass(frozen=True, slots=True)
class Where:
    """The conditions of a search. A document must meet every one that is set."""

    documents: tuple[str, ...] = ()
    """The only documents to search; empty: all."""
    no_documents: tuple[str, ...] = ()
    any_words: tuple[str, ...] = ()
    """Words. The passage itself, not only its document, must have one of them."""
    any_tags: tuple[str, ...] = ()
    all_tags: tuple[str, ...] = ()
    no_tags: tuple[str, ...] = ()
    since: str | None = None
    """YYYY-MM-DD, inclusive. A document without a date is in no range."""
    until: str | None = None
    """YYYY-MM-DD, inclusive."""


EVERYTHING: Final = Where()


@dataclass(frozen=True, slots=True)
class NamedTime:
    """The time that a question names. Passages of it rank a little higher; the others are found all the same."""

    since: str
    """YYYY-MM-DD, inclusive, as `until`."""
    until: str
    day_in: Callable[[str], str | None]
    """Returns the day that a line, such as a heading, says."""

    def has(self, chunk: Chunk, document_is: bool) -> bool:
        """True if the passage is of this time: by a day in the headings above it, or because its document is.

        A day in a heading below the first one is surer than the day of the document, which may have many of them.
        """
        days = [self.day_in(one) or "" for one in chunk.heading]
        own = next((one for one in reversed(days[1:]) if one), "")
        if own:
            return self.since <= own <= self.until
        return document_is or any(self.since <= one <= self.until for one in days[:1])


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector for the index. The model may still have to compute it."""

    model: str
    dimensions: int
    values: Callable[[], bytes]
    """Returns the vector: normalised, little-endian float32. The first call may run the model, and raises
    `Unavailable` if the model does not answer; later calls return at once."""

    @classmethod
    def of(cls, model: str, values: bytes) -> "QueryVector":
        """A vector that was computed before."""
        return cls(model, len(values) // 4, lambda: values)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that the words, the vector or both have found. Ranks count from 1."""

    chunk: str
    document: str
    bm25: float | None = None
    """The exact BM25, even if only the vector found the chunk. None if it has none of the words."""
    lexical_rank: int | None = None
    cosine: float | None = None
    """The exact cosine, even if only the words found the chunk. None if it has no vector of that model."""
    vector_rank: int | None = None


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """The size of one collection in the index."""

    documents: int
    chunks: int
    embedded: dict[str, int]
    """The number of chunks with an embedding, by model."""


StageName = Literal["index", "words", "vector", "late", "rerank", "language_model", "tags"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A report on one stage of a search."""

    # The search tools return it as it is.

    stage: StageName
    ran: bool
    ms: float
    note: Annotated[str, Field(description="the model and the number of passages; or why the stage did not run")]
    failed: Annotated[bool, Field(description="it should have run")] = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """The ranks that gave a result its place. Ranks count from 1; null: that stage did not rank it."""

    # The search tools return it as it is: this docstring and the descriptions are in their output schemas.

    words: Annotated[int | None, Field(description="rank by its words (BM25)")]
    vector: Annotated[int | None, Field(description="rank by its vector")]
    fused: Annotated[int, Field(description="rank of both together")]
    late: Annotated[int | None, Field(description="rank by late interaction")]
    rerank: Annotated[int | None, Field(description="rank after the cross-encoder")]
    bm25: float | None
    cosine: float | None
    closeness: float | None
    relevance: float | None
    name: Annotated[bool, Field(description="the query names it, which puts it first")] = False


Match = Literal["strong", "possible", "none"]
"""The level of a passage: `none` if it probably does not answer the question."""
LEVELS: tuple[Match, ...] = get_args(Match)
"""The levels, the surest first."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The best passage of a document."""

    chunk: Chunk
    score: float
    """0 to 1, on the same scale for every question."""
    source: str
    """The stages that ranked it: `bm25`, `vector` or `hybrid`, with `+rerank`; `vector+rerank` if all of them did."""
    snippet: str
    """The passage, or the part of it that a language model quotes."""
    why: Explanation
    context: str | None = None
    """A language model's remark about it."""
    fits: float = 0.0
    """About how likely it is about the question, by words and vectors alone: a cross-encoder does not change it."""
    match: Match = "none"


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a question: the hits, best first, and how the search found them."""

    words: tuple[str, ...]
    """The words of the question, each once: a passage that is too long is cut to the part that has most of them."""
    hits: tuple[Hit, ...]
    stages: tuple[Stage, ...]
    reason: str | None
    """Why there are no hits."""
    intent: str | None = None
    """The purpose of the question, as a language model understands it."""
    analysis: str | None = None

    @property
    def match(self) -> Match:
        """The surest match of the hits."""
        return surest(hit.match for hit in self.hits)


def surest(levels: Iterable[Match]) -> Match:
    """The surest of the levels; none if there are no levels."""
    return LEVELS[min(map(LEVELS.index, levels), default=-1)]
