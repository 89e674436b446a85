"""Made-up documents that cost what notes do: their words are as rare as real ones, in sentences below headings."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, product
from pathlib import Path
from typing import TYPE_CHECKING

import loci
from loci.core.ids import content_id
from loci.search.inference import Embedder, Embedding, EmbeddingModel
from loci.search.ranking import Chunk
from loci.search.words import index_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXAMPLE = Path(loci.__file__).parent / "example"
SECTIONS = 2
WORDS_A_SECTION = 90
WORDS = 30_000
"""Of which the example's are the commonest, in its order; the rest are two of its words in one."""
SUBJECT = 60
"""Words that a document says again and again."""
QUESTIONS = 200
PASSAGES_A_DOCUMENT = 10
WORDS_A_PASSAGE = 120
WORDS_A_SENTENCE = 11
EMBEDDED = 100
"""Of tokens, whose vectors are averaged: as many as a passage of that length has."""


class Texts:
    """The same texts for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words = _vocabulary()
        # The nth commonest word is about 1/n as common as the first.
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))

    def words(self, count: int) -> list[str]:
        """Any words, the common ones more often."""
        return self._random.choices(self._words, cum_weights=self._weights, k=count)

    def prose(self, count: int, subject: Sequence[str]) -> str:
        """So many words in sentences, a third of them of the subject."""
        words, sentences = [*self.words(count - count // 3), *self._random.choices(subject, k=count // 3)], list[str]()
        self._random.shuffle(words)
        while words:
            length = self._random.randint(6, 16)
            said, words = words[:length], words[length:]
            sentences.append(" ".join(said).capitalize() + ".")
        return " ".join(sentences)

    def document(self, count: int = SECTIONS) -> str:
        """A markdown document with a title and so many sections."""
        subject = self.words(SUBJECT)
        sections = [f"## {self._title()}\n\n{self.prose(WORDS_A_SECTION, subject)}\n" for _ in range(count)]
        return f"# {self._title()}\n\n" + "\n".join(sections)

    def question(self, text: str) -> str:
        """Words of a text, as it says them: more of its common ones than people would ask for."""
        words = re.findall(r"[a-z]+", text)
        first = self._random.randrange(max(1, len(words) - 12))
        return " ".join(words[first : first + self._random.randint(5, 12)])

    def questions(self, texts: Sequence[str]) -> list[str]:
        """About some of the texts."""
        return [self.question(text) for text in self.some(texts)]

    def some(self, of: Sequence[str]) -> list[str]:
        return self._random.choices(of, k=QUESTIONS)

    def _title(self) -> str:
        return " ".join(self.words(4)).capitalize()


def made_up(
    texts: Texts, embedder: Embedder, model: EmbeddingModel, passages: int, first: int = 0
) -> Iterator[tuple[str, list[Chunk]]]:
    """Documents with their passages, whose vectors point anywhere: each always the same, whichever is the `first`.

    Their tokens are those of passages that were really embedded: random ones are about nothing, and not found.
    """
    import numpy as np  # not before the model is loaded: it is what is measured

    said = [texts.prose(WORDS_A_PASSAGE, texts.words(SUBJECT)) for _ in range(EMBEDDED)]
    tokens = [one.bits for one in embedder.passages(said)]
    quick = _QuickTexts()
    for at in range(first, passages // PASSAGES_A_DOCUMENT):
        document, random = f"made-up-{at:05}", np.random.default_rng([1, at])
        vectors = random.standard_normal((PASSAGES_A_DOCUMENT, model.dimensions), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        chunks = list[Chunk]()
        for number, (vector, (text, words)) in enumerate(zip(vectors, quick.document(random), strict=True)):
            embedding = Embedding(
                model.identity, vector.astype("<f2").tobytes(), tokens[int(random.integers(EMBEDDED))]
            )
            where = f"{document}#{number}", document, f"{document}.md", "Made up", ("Made up",), number + 1, number + 1
            chunks.append(Chunk(*where, text, content_id(text), words, embedding))
        yield document, chunks


class _QuickTexts:
    """The same words, of which a million passages are made in a minute."""

    def __init__(self) -> None:
        import numpy as np

        self._words = _vocabulary()
        self._stems = [" ".join(index_words(word)) for word in self._words]
        weights = np.cumsum(1 / (np.arange(len(self._words)) + 2.7))
        self._shares = weights / weights[-1]

    def document(self, random: "np.random.Generator") -> list[tuple[str, str]]:
        """The text of each passage, and the words that find it: a third of them of the document's subject."""
        import numpy as np

        subject = self._some(random, SUBJECT)
        shape = PASSAGES_A_DOCUMENT, WORDS_A_PASSAGE // 3
        of_it = subject[random.integers(SUBJECT, size=shape)]
        others = self._some(random, PASSAGES_A_DOCUMENT * (WORDS_A_PASSAGE - shape[1])).reshape(PASSAGES_A_DOCUMENT, -1)
        places = random.permuted(np.concatenate([of_it, others], axis=1), axis=1)
        return [self._passage(row) for row in places.tolist()]

    def _some(self, random: "np.random.Generator", count: int) -> "NDArray[np.int64]":
        return self._shares.searchsorted(random.random(count))

    def _passage(self, places: Sequence[int]) -> tuple[str, str]:
        said = [self._words[at] for at in places]
        sentences = (" ".join(said[at : at + WORDS_A_SENTENCE]) for at in range(0, len(said), WORDS_A_SENTENCE))
        return ". ".join(sentences) + ".", " ".join([self._stems[at] for at in places])


def _vocabulary() -> list[str]:
    said = Counter(
        word for file in EXAMPLE.rglob("*.md") for word in re.findall(r"[a-z]{2,}", file.read_text("utf-8").lower())
    )
    words = sorted(said, key=lambda word: (-said[word], word))
    made = (one + other for one, other in product(words[:300], words[300:]) if one != other)
    return list(dict.fromkeys([*words, *islice(made, WORDS)]))[:WORDS]
