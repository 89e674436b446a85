"""A question, as each part of the search reads it: words for BM25, a sentence for the models."""

from collections.abc import Sequence
from dataclasses import dataclass

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
