"""The language model: its port, and the unchecked answers of a provider's model."""

from dataclasses import dataclass
from typing import Protocol

from loci.core.json import JsonObject


class LanguageModel(Protocol):
    """Reads a prompt and answers in JSON. A deployment may be without one."""

    def complete(
        self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int, of_day: float = 1.0
    ) -> JsonObject:
        """An answer that fits the schema, within the time. It uses at most this share of a day's tokens.

        Raises `Unavailable` if there is no such answer: the model was too slow, it refused, it cannot be reached,
        today's tokens are spent, or the answer did not fit the schema twice in a row.
        """
        ...

    def close(self) -> None:
        """End its connections: the server stops."""
        ...


@dataclass(frozen=True, slots=True)
class ModelText:
    """A complete answer."""

    text: str
    tokens: int | None
    """Tokens read and written, together; None if the provider did not say."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """No answer, or only a part of one, from a model that did work: it may have cost as much as an answer."""

    why: str
    resolution: str
    tokens: int | None


ModelAnswer = ModelText | NoAnswer


def too_slow(seconds: float) -> NoAnswer:
    return NoAnswer(
        f"The language model did not answer within {seconds:.1f} s",
        "Use a faster one, or raise LOCI_LANGUAGE_MODEL_SECONDS",
        None,
    )


def refused(tokens: int | None) -> NoAnswer:
    return NoAnswer("The language model refused to answer", "Ask something else", tokens)


def too_long(most_tokens: int, tokens: int | None) -> NoAnswer:
    return NoAnswer(
        f"The language model's answer is longer than {most_tokens} tokens", "Use one that reasons less", tokens
    )
