"""A question, as each part of the search reads it: words for BM25, a text for the models, its vector."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from loci.core.errors import Unavailable
from loci.search.inference import Embedder, EmbeddingModel, QueryEmbedding
from loci.search.ranking import QueryVector
from loci.search.words import query_words

MOST_TIMES = 4
"""How often a word counts at most."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, perhaps sorted by who asks it."""

    text: str
    """For the vector, the cross-encoder and the language model. It is also what a document may be named."""
    words: tuple[str, ...]
    """For BM25, as `search.words` cuts them. A word that comes twice counts twice."""

    @classmethod
    def plainly(cls, text: str) -> "Asked":
        """A question that is one text for all."""
        return cls(text, tuple(query_words(text)))

    @classmethod
    def sorted_out(cls, text: str, words: str, heavier: Sequence[str]) -> "Asked":
        """The sentence, the words, and those terms among them that weigh more: once more for each time."""
        cut = query_words(words)
        times = dict.fromkeys(cut, 1)
        for term in heavier:
            for word in query_words(term):
                times[word] = min(MOST_TIMES, times.get(word, 0) + 1)
        return cls(text, tuple(word for word, count in times.items() for _ in range(count)))


@dataclass(slots=True)
class QuestionVector:
    """The vector of a question: made once, when the index asks for it, perhaps in another thread."""

    embedder: Embedder
    model: EmbeddingModel
    query: str
    embedding: QueryEmbedding | None = None
    failure: Unavailable | None = None
    ms: float = 0.0

    @property
    def vector(self) -> QueryVector:
        return QueryVector(self.model.identity, self.model.dimensions, self._values)

    def _values(self) -> bytes:
        if self.embedding is None:
            began = time.perf_counter()
            try:
                embedding = self.embedder.query(self.query)
                if embedding.model != self.model.identity:
                    raise Unavailable("The embedding model has just changed", "Search again", code="MODEL_CHANGED")
            except Unavailable as error:
                self.failure = error
                raise
            self.embedding, self.ms = embedding, (time.perf_counter() - began) * 1000
        return self.embedding.vector
