"""What a language model gives back, before anybody has looked at it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelText:
    """An answer to its end."""

    text: str
    tokens: int | None
    """Read and written, together; None: the provider did not say."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """No answer, or not all of it, from a model that was at work: it may have cost as much as one."""

    why: str
    resolution: str
    tokens: int | None


Answer = ModelText | Withheld


def too_slow(seconds: float) -> Withheld:
    return Withheld(
        f"The language model did not answer within {seconds:.1f} s",
        "Use a faster one, or raise LOCI_LANGUAGE_MODEL_SECONDS",
        None,
    )


def refused(tokens: int | None) -> Withheld:
    return Withheld("The language model refused to answer", "Ask something else", tokens)


def cut(most_tokens: int, tokens: int | None) -> Withheld:
    return Withheld(
        f"The language model's answer is longer than {most_tokens} tokens", "Use one that reasons less", tokens
    )
