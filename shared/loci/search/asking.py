"""A question on its way to its vector."""

from collections.abc import Callable
from dataclasses import dataclass, field

from loci.core.errors import Unavailable
from loci.search.embedding_model import EmbeddingModel, QueryEmbedding
from loci.search.inference import Embedder
from loci.search.ranking import Vector


@dataclass(slots=True)
class Asking:
    """The question's embedding, made once, when the index wants it: perhaps beside its other work."""

    embedder: Embedder
    model: EmbeddingModel
    query: str
    clock: Callable[[], float]
    made: QueryEmbedding | None = None
    failed: Unavailable | None = None
    ms: float = field(default=0.0)

    @property
    def vector(self) -> Vector:
        return Vector(self.model.identity, self.model.dimensions, self._values)

    def _values(self) -> bytes:
        if self.made is None:
            began = self.clock()
            try:
                made = self.embedder.query(self.query)
                if made.model != self.model.identity:
                    raise Unavailable("Another model has just come", "Search again", code="MODEL_CHANGED")
            except Unavailable as error:
                self.failed = error
                raise
            self.made, self.ms = made, (self.clock() - began) * 1000
        return self.made.vector
