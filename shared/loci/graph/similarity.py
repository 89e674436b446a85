"""The similarity of documents, their nearest neighbours, and the distinctive terms of each document."""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import count
from typing import TYPE_CHECKING, Final
from zlib import crc32

from loci.search.inference import EmbeddingModel, damaged_vectors, rows_of
from loci.search.ranking import Chunk
from loci.search.words import is_subject, words_of_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BY_WORDS: Final = "TF-IDF"
BLOCK = 1024
BUCKETS: Final = 1024
"""The length of a TF-IDF vector: words share places in it."""
MAX_TERMS: Final = 40
"""Per document."""
MAX_AVERAGE: Final = 0.9
AT_ONCE: Final = 256
DIGITS: Final = 4
FEW: Final = 8
MINIMUM_BY_WORDS: Final = 0.2
MINIMUM_BY_MODEL: Final = 0.5
"""Higher than by words: to a model all texts are more similar, and to some models much more."""
ABOVE_AVERAGE: Final = 0.25
"""The part of the way from the average similarity to 1."""
ENOUGH_DOCUMENTS: Final = 20
"""Pairs that must be compared to know the average similarity."""


@dataclass(frozen=True, slots=True, eq=False)
class Similarity:
    """Documents as vectors of length 1, in the order of their ids. Compared by identity."""

    compared_by: str
    """The model's identity, or `TF-IDF`."""
    ids: tuple[str, ...]
    vectors: "Floats"
    terms: Mapping[str, Mapping[str, float]]
    """The stems that set each document apart from the others, with their weights, by id."""

    def most_similar_pairs(
        self, minimum: float, limit: int, excluded: Iterable[tuple[str, str]]
    ) -> list[tuple[float, str, str]]:
        """Compare all pairs and return the most similar ones, most similar first."""
        import numpy as np

        position = {id: at for at, id in enumerate(self.ids)}
        known = [(position[one], position[other]) for one, other in excluded if one in position and other in position]
        left_out = sorted((min(pair), max(pair)) for pair in known)
        best: list[tuple[float, int, int]] = []
        for start in range(0, len(self.ids), BLOCK):
            values = self.vectors[start : start + BLOCK] @ self.vectors[start:].T
            values[np.tri(*values.shape, dtype=bool)] = -2  # each pair once, and no document with itself
            for one, other in left_out[bisect_left(left_out, (start,)) : bisect_left(left_out, (start + BLOCK,))]:
                values[one - start, other - start] = -2
            floor = max(minimum, best[-1][0]) if len(best) == limit else minimum
            found, similar = np.argwhere(values >= floor), values[values >= floor]
            if len(similar) > limit:
                chosen = np.argpartition(-similar, limit - 1)[:limit]
                found, similar = found[chosen], similar[chosen]
            more = (
                (float(value), start + int(a), start + int(b)) for value, (a, b) in zip(similar, found, strict=True)
            )
            best = nlargest(limit, [*best, *more], key=lambda pair: (pair[0], -pair[1], -pair[2]))
        return [(round(min(value, 1.0), 4), self.ids[a], self.ids[b]) for value, a, b in best]

    def among(self, ids: Set[str]) -> "Similarity":
        """The similarity of these documents alone."""
        rows = [at for at, id in enumerate(self.ids) if id in ids]
        return replace(self, ids=tuple(self.ids[at] for at in rows), vectors=self.vectors[rows])

    def average(self) -> float:
        """Return the mean similarity of all pairs, which means nothing yet."""
        count = len(self.ids)
        if count < 2:
            return 0.0
        total = self.vectors.sum(axis=0, dtype="float64")  # its square is the sum over all pairs
        return min(max(float(total @ total - count) / (count * (count - 1)), 0.0), MAX_AVERAGE)


class NeighboursIndex:
    """The `limit` nearest neighbours of each document, found when they are first asked for.

    Documents are numbered by their positions in `similarity.ids`.
    """

    def __init__(self, similarity: Similarity, limit: int, minimum: float) -> None:
        self.similarity = similarity
        self._limit = limit
        self._minimum = minimum
        self._found: dict[int, Mapping[int, float]] = {}

    def nearest_to(self, positions: Sequence[int]) -> list[Mapping[int, float]]:
        """Return the neighbours of each of these documents with their similarity, nearest first."""
        new = [at for at in positions if at not in self._found]
        nearest = nearest_neighbours(self.similarity, new, self._limit, self._minimum)
        self._found.update(zip(new, nearest, strict=True))
        return [self._found[at] for at in positions]

    def mutual_pairs(self) -> Iterator[tuple[int, int, float]]:
        """Return every pair in which each document is a neighbour of the other, with its similarity."""
        everyone = range(len(self.similarity.ids))
        for start in everyone[::AT_ONCE]:
            self.nearest_to(everyone[start : start + AT_ONCE])
        for one in everyone:
            neighbours = self._found[one].items()
            yield from ((one, other, value) for other, value in neighbours if one < other and one in self._found[other])

    def similar_to(self, id: str) -> list[tuple[str, float]]:
        """Return the documents that are alike with this one, most similar first, without comparing all pairs."""
        ids = self.similarity.ids
        at = bisect_left(ids, id)
        if at == len(ids) or ids[at] != id:
            return []
        [mine] = self.nearest_to([at])
        theirs = self.nearest_to([*mine])
        return [(ids[other], value) for (other, value), its in zip(mine.items(), theirs, strict=True) if at in its]


def nearest_neighbours(
    similarity: Similarity, positions: Sequence[int], limit: int, minimum: float
) -> list[Mapping[int, float]]:
    """Return the nearest neighbours of each of these documents, nearest first, equally near ones by their ids."""
    import numpy as np

    if not positions:
        return []
    vectors = similarity.vectors
    # For a few documents, one product each takes a third of the time of one product for all of them.
    products = [vectors @ vectors[at] for at in positions] if len(positions) <= FEW else vectors[positions] @ vectors.T
    values = np.round(products, DIGITS)
    values[np.arange(len(positions)), list(positions)] = -2  # no document is its own neighbour
    rank = values.shape[1] - min(limit, values.shape[1])
    floors = np.maximum(np.partition(values, rank, axis=1)[:, rank], minimum)
    found: list[Mapping[int, float]] = []
    for row, floor in zip(values, floors, strict=True):
        near = np.flatnonzero(row >= floor)
        best = near[np.argsort(-row[near], kind="stable")][:limit]
        found.append({int(other): min(round(float(row[other]), DIGITS), 1.0) for other in best})
    return found


def minimum_similarity(similarity: Similarity) -> float:
    """Return the least similarity of documents that are alike."""
    if similarity.compared_by == BY_WORDS:
        return MINIMUM_BY_WORDS
    if len(similarity.ids) < ENOUGH_DOCUMENTS:
        return MINIMUM_BY_MODEL
    average = similarity.average()
    return max(MINIMUM_BY_MODEL, average + ABOVE_AVERAGE * (1 - average))


def compared(passages: Iterable[Chunk], model: EmbeddingModel | None) -> Similarity:
    """Compare documents by the model if it has embedded every passage, otherwise by words."""
    import numpy as np

    words = WordNumbers()
    embedded: dict[str, list[bytes]] = {}
    is_complete = model is not None
    for chunk in passages:
        words.add(chunk.document, words_of_text(chunk.words))
        if chunk.embedding and model and chunk.embedding.model == model.identity:
            embedded.setdefault(chunk.document, []).append(chunk.embedding.vector)
        else:
            is_complete = False
    ids = tuple(sorted(words.of))
    if model is None or not is_complete:
        tf_idf = TfIdf(ids, words)
        return Similarity(BY_WORDS, ids, _normalised(tf_idf.hashed_vectors()), LazyTerms(tf_idf.terms))
    vectors = np.zeros((len(ids), model.dimensions), np.float32)
    for at, id in enumerate(ids):
        rows = rows_of(embedded[id], model.dimensions)
        if rows is None:
            raise damaged_vectors()
        vectors[at] = rows.sum(axis=0)
    terms = LazyTerms(lambda: TfIdf(ids, words).terms())
    return Similarity(model.identity, ids, _normalised(vectors), terms)


class LazyTerms(Mapping[str, Mapping[str, float]]):
    """The terms of all documents, computed when the first is read: a comparison of documents does not need them."""

    def __init__(self, compute: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        self._compute = compute
        self._terms: Mapping[str, Mapping[str, float]] | None = None

    def __getitem__(self, id: str) -> Mapping[str, float]:
        return self._all()[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> Mapping[str, Mapping[str, float]]:
        if self._terms is None:
            terms = self._terms = self._compute()
            self._compute = lambda: terms  # frees the words that the terms were computed from
        return self._terms


class WordNumbers:
    """The words of each document as numbers, in their order: as texts they take ten times the memory."""

    def __init__(self) -> None:
        self.number_of: defaultdict[str, int] = defaultdict(count().__next__)
        self.of: dict[str, array[int]] = {}

    def add(self, document: str, words: str) -> None:
        """Add these words to the document."""
        self.of.setdefault(document, array("i")).extend(map(self.number_of.__getitem__, words.split()))


class TfIdf:
    """The TF-IDF of every word in every document, in one array: loops in Python would take ten times as long."""

    def __init__(self, ids: tuple[str, ...], words: WordNumbers) -> None:
        import numpy as np

        self._ids = ids
        self._words = [*words.number_of]
        numbers, counts, ends = array("i"), array("i"), [0]
        for id in ids:
            counted = Counter(words.of[id])
            numbers.extend(counted)
            counts.extend(counted.values())
            ends.append(len(numbers))
        self._ends, self._word_numbers = ends, np.frombuffer(numbers, np.int32)
        rarity = np.log((1 + len(ids)) / (1 + np.bincount(self._word_numbers, minlength=len(self._words))))
        self._values = (1 + np.log(np.frombuffer(counts, np.int32))) * rarity[self._word_numbers]

    def hashed_vectors(self) -> "Floats":
        """Return one vector per document, in which each word has the place that its hash gives it."""
        import numpy as np

        hashes = np.fromiter((crc32(word.encode()) for word in self._words), np.int64, len(self._words))
        signs = np.where(hashes & 0x80000000, 1.0, -1.0)
        vectors = np.zeros((len(self._ids), BUCKETS), np.float32)
        for at, vector in enumerate(vectors):
            its = self._word_numbers[self._ends[at] : self._ends[at + 1]]
            values = self._values[self._ends[at] : self._ends[at + 1]]
            vector += np.bincount(hashes[its] % BUCKETS, values * signs[its], minlength=BUCKETS)
        return vectors

    def terms(self) -> "Terms":
        """Return the most distinctive words of each document, with their values."""
        import numpy as np

        subjects = np.fromiter((is_subject(word) for word in self._words), np.bool_, len(self._words))
        found = Terms(self._ids, self._words, array("i"), array("d"), [0])
        for at in range(len(self._ids)):
            its = self._word_numbers[self._ends[at] : self._ends[at + 1]]
            values = np.where(subjects[its], self._values[self._ends[at] : self._ends[at + 1]], 0.0)
            best = np.argsort(-values, kind="stable")[:MAX_TERMS]
            best = best[values[best] > 0]
            found.numbers.extend(its[best].tolist())
            found.weights.extend(values[best].tolist())
            found.ends.append(len(found.numbers))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Terms(Mapping[str, Mapping[str, float]]):
    """The most distinctive words of each document, the first one first, in arrays: a fifth of what mappings take."""

    ids: tuple[str, ...]
    words: Sequence[str]
    numbers: "array[int]"
    """The numbers of all documents' words, one document after the other."""
    weights: "array[float]"
    ends: list[int]
    """The place behind the last word of each document; the first is 0."""

    def __getitem__(self, id: str) -> Mapping[str, float]:
        at = bisect_left(self.ids, id)
        if self.ids[at : at + 1] != (id,):
            raise KeyError(id)
        its = slice(self.ends[at], self.ends[at + 1])
        return {self.words[one]: value for one, value in zip(self.numbers[its], self.weights[its], strict=True)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


def _normalised(vectors: "Floats") -> "Floats":
    import numpy as np

    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return vectors
