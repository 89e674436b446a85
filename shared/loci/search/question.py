"""The question of the vector leg, which the model may still have to embed."""

import time
from dataclasses import dataclass

from loci.core.errors import Unavailable
from loci.search.inference import Embedder, EmbeddingModel, QueryEmbedding
from loci.search.ranking import QueryVector


@dataclass(slots=True)
class Question:
    """A question for the vector leg: embedded once, when the index asks for its vector: perhaps in another thread."""

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
