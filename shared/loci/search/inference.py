"""What models do for a search."""

from collections.abc import Sequence
from typing import Protocol

from loci.core.json import JsonObject
from loci.search.embedding_model import EmbeddingModel, QueryEmbedding
from loci.search.ranking import Embedding


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
