"""The embedding model and the reranker: the two ports, and the values that pass through them."""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from loci.core.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOO_MANY_FOREIGN = 1 / 3
ROUNDING = 0.01
"""The length of a stored vector may differ from 1 by this much, because float16 rounds."""
# The usual vocabularies have a token for each of these: CJK characters, kana, hangul, marks, up to three digits.
PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]"
    r"|\d{1,3}|[^\W\d_]{1,9}|[^\w\s]|_"
)
TOKEN = re.compile(
    # The most common first, which takes a sixth less time.
    r"[a-z]{1,7}|[^\w\s]|\d{1,3}| (?=[\d|])|\n"
    r"|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]|[^\W\d_a-z]{1,3}|_"
)


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The facts about the embedding model in use."""

    identity: str
    """The name and the first 12 characters of its file's SHA-256, as in `bge-small-en-v1.5@828e1496d7fa`."""
    dimensions: int
    longest: int
    """The number of tokens of a text that the model reads. It ignores the rest."""
    scripts: tuple[str, ...]
    """The writing systems it was trained on, as Unicode names them: `LATIN`, `CJK UNIFIED`, …; empty: all."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A passage as a model sees it. Never compare the vectors of two models."""

    model: str
    """The model's identity."""
    vector: bytes
    """Normalised, little-endian float16."""
    bits: bytes
    """The signs of the token vectors, averaged two by two: for late interaction."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The way to read one model's late-interaction closeness and its cosines."""

    unrelated: float
    """The usual closeness of a passage that has nothing to do with the question."""
    answering: float
    """The usual closeness of a passage that answers the question in other words."""
    unrelated_cosine: float
    answering_cosine: float


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A question as a model sees it."""

    model: str
    """The model's identity."""
    vector: bytes
    """Normalised, little-endian float32."""
    tokens: bytes
    """The vectors of its words, each normalised, little-endian float32, one after the other: for late interaction."""
    spans: tuple[tuple[int, int], ...]
    """The part of the question that each of these vectors stands for: where it starts, and where it ends."""
    scale: Scale


class Embedder(Protocol):
    """Turns texts into vectors. Its model may arrive, go or change while Loci runs."""

    def model(self) -> EmbeddingModel | None:
        """The model in use now, or None without a model."""
        ...

    def missing(self) -> str:
        """Why there is no model, and what to do about it."""
        ...

    def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """The embeddings of the texts, in order. Raises `Unavailable` if there is no model now."""
        ...

    def query(self, text: str) -> QueryEmbedding:
        """The question as one vector, and its words as vectors. Raises `Unavailable` if there is no model now."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of the model's tokens in each text. Without a model: an estimate."""
        ...


class Reranker(Protocol):
    """A cross-encoder: it reads the question and a passage together."""

    def model(self) -> str | None:
        """The identity of the model in use now, or None without a model."""
        ...

    def missing(self) -> str:
        """Why there is no model, and what to do about it."""
        ...

    def scores(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """The relevance, 0 to 1, of the first texts: as many as it could read in that time.

        It always reads the first batch. Raises `Unavailable` if there is no model now.
        """
        ...


def rows_of(vectors: Sequence[bytes], dimensions: int) -> "NDArray[np.float32] | None":
    """The stored vectors as the rows of a matrix; None if one of them is damaged."""
    import numpy as np  # takes 0.1 s; a search by words alone does without

    if any(len(vector) != 2 * dimensions for vector in vectors):
        return None
    rows = np.frombuffer(b"".join(vectors), "<f2").reshape(-1, dimensions).astype(np.float32)
    # A comparison with NaN is false, so a vector that holds one counts as damaged.
    return rows if bool(np.all(np.abs(np.vecdot(rows, rows) - 1) < ROUNDING)) else None


def is_sound(embedding: Embedding, dimensions: int) -> bool:
    """True if a search can use the embedding: right length, normalised, whole bits."""
    return rows_of([embedding.vector], dimensions) is not None and len(embedding.bits) % (dimensions // 8) == 0


def damaged_vectors() -> Unavailable:
    """The error of a search that meets vectors no model can have made. They would rank anywhere."""
    return Unavailable("The index holds damaged vectors", "Run: loci doctor --fix", code="INDEX_DAMAGED")


def estimated_tokens(text: str) -> int:
    """The number of tokens without a model: for most prose within a tenth, for code up to a fifth too low.

    Measured against BERT's vocabulary. A model that comes later does not read the end of a passage that is too long; an
    estimate that is never too low cut most texts of a page in two, and they were found worse by their words.
    """
    # A tenth more for rare words and identifiers, which take more tokens.
    return math.ceil(1.1 * len(PIECE.findall(text)))


def counted(texts: Sequence[str], scripts: Sequence[str], counts: Sequence[int]) -> list[int]:
    """The counts of a model's tokens: of a text in letters that the model does not know, at most the estimate.

    Its tokenizer has a token for each of these letters, and the model learns nothing from them.
    """
    return [
        count if knows_script(scripts, text) else min(count, estimated_tokens(text))
        for text, count in zip(texts, counts, strict=True)
    ]


def knows_script(scripts: Sequence[str], text: str) -> bool:
    """False if more than a third of the letters are in other scripts than these. Without scripts: always True."""
    own = tuple(scripts)
    foreign = {one for one in set(text) if one.isalpha() and not letter_name(one).startswith(own)} if own else ()
    if not foreign:
        return True
    return sum(map(text.count, foreign)) <= TOO_MANY_FOREIGN * sum(map(str.isalpha, text))


@lru_cache(maxsize=4096)
def letter_name(letter: str) -> str:
    """Unicode's name of the letter, which begins with its script."""
    return unicodedata.name(letter, "")


def tokens_at_most(text: str) -> int:
    """The tokens that a language model reads in the text, or some more.

    Compared with GPT's vocabularies (o200k) on tables, PDFs and notes: never three percent too few, and mostly a
    fifth too many. Four characters a token would be half of what a table of figures takes.
    """
    return len(TOKEN.findall(text))
