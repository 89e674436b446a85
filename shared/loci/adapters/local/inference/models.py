"""`Embedder` and `Reranker` on onnxruntime, in this process."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from loci.adapters.local.inference.current_model import CurrentModel, LoadedModel
from loci.adapters.local.inference.model_session import NATIVE_CALLS, Encoded, by_length, give_memory_back
from loci.core.background import cores
from loci.core.errors import Unavailable
from loci.model_store.models import Embeds, Manifest
from loci.search.inference import Embedding, EmbeddingModel, QueryEmbedding, Scale, counted, estimated_tokens
from loci.search.late_interaction import averages, matches

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from loci.adapters.local.inference.model_session import Floats

LONGEST_QUERY = 256
"""Tokens. A longer question takes more time, and seldom means more."""
# With padding. Larger batches are no faster on a processor, and their attention takes memory by the square.
TOKENS_A_BATCH = 1024
ENDS = 2
"""Tokens that mark the beginning and the end of a text."""
SMALLEST = 1e-12
LONGEST_PAIR, LONGEST_PAIR_QUERY = 512, 64
"""Tokens that the reranker reads of a question with a text, and of the question."""
PAIRS_A_BATCH = 8
PAIRS = (
    ("How long do we keep backups?", "Backups are stored for ninety days in another region and then deleted."),
    ("Why did the login page fail in March?", "An expired certificate made sign-in break on the ninth of March."),
    ("What is the capital of Portugal?", "Lisbon, on the Tagus, has been the seat of the Portuguese government."),
    ("When does the museum open on Sundays?", "On Sundays visitors are let into the gallery from ten in the morning."),
    ("Did Anna like her trip to Norway?", "Anna said the fjords were the best holiday that she ever had."),
    ("How much did sales grow last year?", "Revenue rose by eleven percent over the previous twelve months."),
    ("What causes migraines?", "Headaches of this kind are set off by stress, bright light or lack of sleep."),
    ("How are retries limited?", "A failed request is sent again at most three times, with growing pauses."),
)
"""Questions with their answers, to measure a model's `Scale`. They share few words, so that only the sense counts."""


class OnnxEmbedder:
    """Turns texts into vectors. The model is loaded at the first use."""

    def __init__(self, current: CurrentModel) -> None:
        self._current = current
        self._scale: tuple[LoadedModel, Scale] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it for another process that counts tokens."""
        return OnnxEmbedder, (self._current,)

    def model(self) -> EmbeddingModel | None:
        model = self._current.found()
        if model is None:
            return None
        manifest, embeds = model.manifest, _embeds(model.manifest)
        # A prefix has at most as many tokens as characters.
        longest = manifest.longest - ENDS - len(embeds.passage_prefix)
        return EmbeddingModel(manifest.identity, embeds.dimensions, longest, embeds.scripts)

    def missing(self) -> str:
        return self._current.missing()

    def passages(self, texts: Sequence[str]) -> list[Embedding]:
        if not texts:
            return []
        return _passages(self._current.loaded(), texts)

    def query(self, text: str) -> QueryEmbedding:
        model = self._current.loaded()
        vector, tokens, spans = _query(model, text)
        return QueryEmbedding(model.manifest.identity, vector, tokens, spans, self._scale_of(model))

    def count(self, texts: Sequence[str]) -> list[int]:
        model = self._current.found()
        if model is None:
            return [estimated_tokens(text) for text in texts]
        return counted(texts, _embeds(model.manifest).scripts, model.tokenizer().count(texts))

    def _scale_of(self, model: LoadedModel) -> Scale:
        """The model's scale, measured at its first question."""
        if self._scale is None or self._scale[0] is not model:
            dimensions = _embeds(model.manifest).dimensions
            scale = _measured(lambda text: _query(model, text)[:2], lambda texts: _passages(model, texts), dimensions)
            self._scale = model, scale
            give_memory_back()
        return self._scale[1]


def _query(model: LoadedModel, text: str) -> tuple[bytes, bytes, tuple[tuple[int, int], ...]]:
    """The vector of a question, and the vectors of its words, with where each is."""
    embeds = _embeds(model.manifest)
    longest = min(LONGEST_QUERY, model.manifest.longest)
    [encoded] = model.tokenizer().encode([text], longest, embeds.query_prefix)
    hidden, mask = model.session().run([encoded])
    vector = pooled(hidden, mask, embeds.pooling)[0]
    tokens = _normalised(hidden[0, encoded.own])
    return vector.astype("<f4").tobytes(), tokens.astype("<f4").tobytes(), tuple(encoded.spans)


def _passages(model: LoadedModel, texts: Sequence[str]) -> list[Embedding]:
    embeds = _embeds(model.manifest)
    encoded = model.tokenizer().encode(texts, model.manifest.longest, embeds.passage_prefix)
    batches = by_length(encoded, 1 if model.manifest.alone else TOKENS_A_BATCH)
    return _BatchRun(batches, lambda batch: _embed(model, embeds, [encoded[at] for at in batch])).made()


class _BatchRun:
    """Embeds batches on all cores, one batch a core.

    The threads within one run of the model wait for one another at every product. That takes a tenth of the time of
    short texts, and more if something else keeps a core busy.
    """

    def __init__(self, batches: Sequence[list[int]], embed: Callable[[list[int]], list[Embedding]]) -> None:
        self._left = deque(batches)
        self._embed = embed
        self._made: dict[int, Embedding] = {}
        self._failures: list[Unavailable] = []

    def made(self) -> list[Embedding]:
        """The embeddings, in the order of the texts."""
        # Not a pool: at the end of the process Python waits until it has made all that was asked of it.
        more = [threading.Thread(target=self._run, daemon=True) for _ in range(min(cores(), len(self._left)) - 1)]
        with NATIVE_CALLS.running():  # a thread that starts while Python ends may abort the process
            for thread in more:
                thread.start()
        try:
            self._run()
            for thread in more:
                thread.join()
        finally:
            self._left.clear()  # if somebody interrupts this thread, the others end, too
        if self._failures:
            raise self._failures[0]
        return [self._made[at] for at in range(len(self._made))]

    def _run(self) -> None:
        try:
            while True:
                try:
                    batch = self._left.pop()  # the longest of those that are left, so that all threads end together
                except IndexError:
                    return
                self._made.update(zip(batch, self._embed(batch), strict=True))
        except Unavailable as error:
            self._failures.append(error)
            self._left.clear()


def _embed(model: LoadedModel, embeds: Embeds, batch: Sequence[Encoded]) -> list[Embedding]:
    hidden, mask = model.session().run(batch)
    vectors = pooled(hidden, mask, embeds.pooling).astype("<f2")
    return [
        Embedding(model.manifest.identity, vectors[row].tobytes(), _sign_bits(_normalised(hidden[row, one.own])))
        for row, one in enumerate(batch)
    ]


def _embeds(manifest: Manifest) -> Embeds:
    if manifest.embeds is None:
        raise Unavailable(
            f"{manifest.name} is not an embedder", "Set LOCI_EMBEDDER to one: loci models list shows them"
        )
    return manifest.embeds


def pooled(hidden: "Floats", mask: "npt.NDArray[np.int64]", how: Literal["cls", "mean"]) -> "Floats":
    """A normalised vector for each text: its first token's vector, or the mean of all its tokens' vectors."""
    if how == "cls":
        return _normalised(hidden[:, 0])
    real = mask[:, :, None].astype(hidden.dtype)
    return _normalised((hidden * real).sum(axis=1) / real.sum(axis=1))


def _sign_bits(tokens: "Floats") -> bytes:
    """The signs of the vectors, averaged two by two: one bit for each dimension."""
    import numpy as np

    pairs = np.add.reduceat(tokens, np.arange(0, len(tokens), 2), axis=0)
    return np.packbits(pairs > 0, axis=1).tobytes()


def _normalised(vectors: "Floats") -> "Floats":
    import numpy as np

    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SMALLEST)


def _measured(
    query: Callable[[str], tuple[bytes, bytes]], passages: Callable[[Sequence[str]], list[Embedding]], dimensions: int
) -> Scale:
    """The mean closeness and cosine of the questions with their own answers, and with the other questions' answers."""
    import numpy as np

    answers, asked = passages([answer for _, answer in PAIRS]), [query(question) for question, _ in PAIRS]
    bits = [one.bits for one in answers]
    near = np.array([averages(matches(tokens, dimensions, bits)) for _, tokens in asked])
    vectors = np.array([np.frombuffer(vector, "<f4") for vector, _ in asked])
    cosines = vectors @ np.array([np.frombuffer(one.vector, "<f2").astype(np.float32) for one in answers]).T
    unrelated, answering = _means(near)
    unrelated_cosine, answering_cosine = _means(cosines)
    return Scale(unrelated, answering, unrelated_cosine, answering_cosine)


def _means(values: "Floats") -> tuple[float, float]:
    """The mean of each row's other columns, and the mean of its own."""
    count, own = len(values), float(values.trace())
    return (float(values.sum()) - own) / (count * (count - 1)), own / count


class OnnxReranker:
    """A cross-encoder. Loading it takes seconds and up to 2 GB, so it is loaded at its first use."""

    def __init__(self, current: CurrentModel, clock: Callable[[], float] = time.monotonic) -> None:
        self._current = current
        self._clock = clock

    def model(self) -> str | None:
        model = self._current.found()
        return model.manifest.identity if model else None

    def missing(self) -> str:
        return self._current.missing()

    def scores(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        until = self._clock() + seconds
        if not texts:
            return []
        import numpy as np

        model = self._current.loaded()
        longest = min(LONGEST_PAIR, model.manifest.longest)
        longest_query = min(LONGEST_PAIR_QUERY, longest // 2)
        found: list[float] = []
        batch = 1 if model.manifest.alone else PAIRS_A_BATCH
        for first in range(0, len(texts), batch):
            if found and self._clock() >= until:
                break
            pairs = model.tokenizer().encode_pairs(query, texts[first : first + batch], longest, longest_query)
            logits, _ = model.session().run(pairs)
            found += (1 / (1 + np.exp(-logits.reshape(len(pairs), -1)[:, 0].astype("f8")))).tolist()
        return found
