"""`Embedder` on onnxruntime, in this process."""

from collections.abc import Sequence

from loci.adapters.local.inference.in_use import InUse, Loaded
from loci.adapters.local.inference.pooling import pooled, sign_bits, unit
from loci.adapters.local.inference.scale import measured
from loci.adapters.local.inference.tokens import Encoded, by_length
from loci.core.errors import Unavailable
from loci.model_store.manifest import Embeds, Manifest
from loci.model_store.token_estimate import estimated_tokens
from loci.search.embedding_model import EmbeddingModel, QueryEmbedding, Scale
from loci.search.ranking import Embedding

# The time of a question grows with its length, and its sense seldom does.
LONGEST_QUERY = 64
# With padding. Larger batches are no faster on a processor, and their attention takes memory by the square.
TOKENS_A_BATCH = 1024
ENDS = 2
"""Tokens that mark the beginning and the end of a text."""


class OnnxEmbedder:
    """Texts as vectors. The model is loaded at the first use, or ahead of it by `warm`."""

    def __init__(self, models: InUse) -> None:
        self._models = models
        self._scale: tuple[Loaded, Scale] | None = None

    def warm(self) -> None:
        """Loads the model, if there is one: the first question then answers as fast as the others."""
        if self._models.found():
            self.query("warm")

    def model(self) -> EmbeddingModel | None:
        loaded = self._models.found()
        if loaded is None:
            return None
        manifest, embeds = loaded.manifest, _embeds(loaded.manifest)
        # A prefix has at most as many tokens as characters.
        longest = manifest.longest - ENDS - len(embeds.passage_prefix)
        return EmbeddingModel(manifest.identity, embeds.dimensions, longest, embeds.scripts)

    def missing(self) -> str:
        return self._models.missing()

    def passages(self, texts: Sequence[str]) -> list[Embedding]:
        if not texts:
            return []
        return _passages(self._models.loaded(), texts)

    def query(self, text: str) -> QueryEmbedding:
        loaded = self._models.loaded()
        vector, tokens = _asked(loaded, text)
        return QueryEmbedding(loaded.manifest.identity, vector, tokens, self._scale_of(loaded))

    def _scale_of(self, loaded: Loaded) -> Scale:
        """Measured once a model."""
        if self._scale is None or self._scale[0] is not loaded:
            dimensions = _embeds(loaded.manifest).dimensions
            scale = measured(lambda text: _asked(loaded, text)[1], lambda texts: _passages(loaded, texts), dimensions)
            self._scale = loaded, scale
        return self._scale[1]

    def count(self, texts: Sequence[str]) -> list[int]:
        loaded = self._models.found()
        if loaded is None:
            return [estimated_tokens(text) for text in texts]
        return loaded.tokens().count(texts)


def _passages(loaded: Loaded, texts: Sequence[str]) -> list[Embedding]:
    embeds = _embeds(loaded.manifest)
    encoded = loaded.tokens().encode(texts, loaded.manifest.longest, embeds.passage_prefix)
    found: dict[int, Embedding] = {}
    for batch in by_length(encoded, 1 if loaded.manifest.alone else TOKENS_A_BATCH):
        found.update(zip(batch, _embed(loaded, embeds, [encoded[place] for place in batch]), strict=True))
    return [found[place] for place in range(len(texts))]


def _asked(loaded: Loaded, text: str) -> tuple[bytes, bytes]:
    """The vector of a question, and those of its words."""
    embeds = _embeds(loaded.manifest)
    longest = min(LONGEST_QUERY, loaded.manifest.longest)
    [encoded] = loaded.tokens().encode([text], longest, embeds.query_prefix)
    hidden, mask = loaded.session().run([encoded])
    vector = pooled(hidden, mask, embeds.pooling)[0]
    tokens = unit(hidden[0, encoded.own])
    return vector.astype("<f4").tobytes(), tokens.astype("<f4").tobytes()


def _embed(loaded: Loaded, embeds: Embeds, batch: Sequence[Encoded]) -> list[Embedding]:
    hidden, mask = loaded.session().run(batch)
    vectors = pooled(hidden, mask, embeds.pooling).astype("<f2")
    return [
        Embedding(loaded.manifest.identity, vectors[row].tobytes(), sign_bits(unit(hidden[row, one.own])))
        for row, one in enumerate(batch)
    ]


def _embeds(manifest: Manifest) -> Embeds:
    if manifest.embeds is None:
        raise Unavailable(f"{manifest.name} is no embedder", "Set LOCI_EMBEDDER to one: loci models list shows them")
    return manifest.embeds
