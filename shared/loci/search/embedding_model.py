"""Models: what is known of one before it is used, and what it makes of a question."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedder that is in use."""

    identity: str
    """Name and the first 12 characters of its file's SHA-256, as in `bge-small-en-v1.5@828e1496d7fa`."""
    dimensions: int
    longest: int
    """Tokens that it reads of a text; the rest does not reach it."""
    scripts: tuple[str, ...]
    """The writing systems that it was taught, as Unicode names them: `LATIN`, `CJK UNIFIED`, …; empty: all."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What the closeness of late interaction means with a model."""

    unrelated: float
    """Of a passage that has nothing to do with the question."""
    answering: float
    """Of one that answers it in other words."""


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A question as a model sees it."""

    model: str
    vector: bytes
    """Normalised, little-endian float32."""
    tokens: bytes
    """Its words' vectors, each normalised, little-endian float32, one after the other: for late interaction."""
    scale: Scale
