"""The similarity of documents, and the terms that tell each document from the others."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from itertools import count as numbers
from typing import TYPE_CHECKING, Final
from zlib import crc32

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, EmbeddingModel, damaged_vectors, rows_of
from loci.search.names import words_of_text
from loci.search.ranking import Chunk
from loci.search.words import is_subject, word_positions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BY_WORDS: Final = "TF-IDF"
MAX_OWNERS = 5
BLOCK = 1024
BUCKETS: Final = 1024
"""The length of a TF-IDF vector: words share places in it."""
MAX_TERMS: Final = 40
"""Per document."""
FIRST_PASSAGES: Final = 20
"""The passages of a document that are searched for its terms."""


@dataclass(frozen=True, slots=True, eq=False)
class Similarity:
    """Documents as vectors of length 1, in the order of their ids. Compared by identity."""

    compared_by: str
    """The model's identity, or `TF-IDF`."""
    ids: tuple[str, ...]
    vectors: "Floats"
    terms: Mapping[str, Mapping[str, float]]
    """By document, the stems that tell it from the others, with their weights."""

    def most_similar_pairs(
        self, minimum: float, limit: int, excluded: frozenset[tuple[str, str]]
    ) -> list[tuple[float, str, str]]:
        """Compare all pairs and return the most similar ones, most similar first."""
        import numpy as np

        left_out = _positions(self.ids, excluded)
        best: list[tuple[float, int, int]] = []
        for start in range(0, len(self.ids), BLOCK):
            values = self.vectors[start : start + BLOCK] @ self.vectors[start:].T
            values[np.tri(*values.shape, dtype=bool)] = -2  # each pair once, and no document with itself
            for one, other in left_out:
                if start <= one < start + BLOCK:
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


class Similarities:
    """The similarity of each owner's documents, for the owners who asked last."""

    def __init__(self, index: DocumentIndex, embedder: Embedder) -> None:
        self._index = index
        self._embedder = embedder
        self._cache: OwnerCache[tuple[str, EmbeddingModel | None], Similarity] = OwnerCache(MAX_OWNERS)

    def of(self, owner: Owner) -> Similarity:
        """Compare by the model if it has embedded every passage, otherwise by words."""
        return self._cache.get(
            owner,
            lambda: (self._index.state(owner, COLLECTION), self._embedder.model()),
            lambda state, _: self._computed(owner, state[1]),
        )

    def _computed(self, owner: Owner, model: EmbeddingModel | None) -> Similarity:
        import numpy as np

        words: dict[str, list[str]] = {}
        embedded: dict[str, list[bytes]] = {}
        is_complete = model is not None
        for chunk in self._index.passages(owner, COLLECTION):
            words.setdefault(chunk.document, []).append(words_of_text(chunk.words))
            if chunk.embedding and model and chunk.embedding.model == model.identity:
                embedded.setdefault(chunk.document, []).append(chunk.embedding.vector)
            else:
                is_complete = False
        ids = tuple(sorted(words))
        if model is None or not is_complete:
            tf_idf = _tf_idf(ids, words)
            return Similarity(BY_WORDS, ids, _normalised(tf_idf.hashed_vectors()), LazyTerms(tf_idf.terms))
        vectors = np.zeros((len(ids), model.dimensions), np.float32)
        for at, id in enumerate(ids):
            rows = rows_of(embedded[id], model.dimensions)
            if rows is None:
                raise damaged_vectors()
            vectors[at] = rows.sum(axis=0)
        return Similarity(model.identity, ids, _normalised(vectors), LazyTerms(lambda: _tf_idf(ids, words).terms()))


class LazyTerms(Mapping[str, Mapping[str, float]]):
    """The terms of all documents, computed when the first is read: to compare documents, nobody needs them."""

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


class TfIdf:
    """The TF-IDF of every word in every document, in one array: loops in Python would take ten times as long."""

    def __init__(self, ids: tuple[str, ...], words: Mapping[str, Counter[str]]) -> None:
        import numpy as np

        self._ids = ids
        number_of: defaultdict[str, int] = defaultdict(numbers().__next__)
        self._ends = np.cumsum([0, *(len(words[id]) for id in ids)])
        word_numbers = map(number_of.__getitem__, chain.from_iterable(words[id] for id in ids))
        self._word_numbers = np.fromiter(word_numbers, np.int64, self._ends[-1])
        counts = np.fromiter(chain.from_iterable(words[id].values() for id in ids), np.float64, self._ends[-1])
        rarity = np.log((1 + len(ids)) / (1 + np.bincount(self._word_numbers, minlength=len(number_of))))
        self._values = (1 + np.log(counts)) * rarity[self._word_numbers]
        self._words = list(number_of)

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

    def terms(self) -> dict[str, dict[str, float]]:
        """Return the words of each document that tell it best from the others, with their values."""
        import numpy as np

        subjects = np.fromiter((is_subject(word) for word in self._words), np.bool_, len(self._words))
        found: dict[str, dict[str, float]] = {}
        for at, id in enumerate(self._ids):
            its = self._word_numbers[self._ends[at] : self._ends[at + 1]]
            values = np.where(subjects[its], self._values[self._ends[at] : self._ends[at + 1]], 0.0)
            best = np.argsort(-values, kind="stable")[:MAX_TERMS]
            found[id] = {self._words[its[one]]: float(values[one]) for one in best if values[one] > 0}
        return found


def first_passages(index: DocumentIndex, owner: Owner, documents: Iterable[Document]) -> dict[str, list[Chunk]]:
    """Read the first passages of these documents, all in one request to the index."""
    counts = {one.id: min(one.chunks, FIRST_PASSAGES) for one in documents}
    ids = [f"{id}#{at}" for id, count in counts.items() for at in range(count)]
    found = index.chunks(owner, COLLECTION, ids)
    return {id: [found[f"{id}#{at}"] for at in range(count) if f"{id}#{at}" in found] for id, count in counts.items()}


def written_forms(passages: Iterable[Chunk], stems: Sequence[str], names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the stems as these names and passages write them, each in its commonest form, each form once.

    Stems that none has are left out; the order stays.
    """
    forms_of: dict[str, Counter[str]] = defaultdict(Counter)
    wanted = frozenset(stems)
    for text in (*names, *("\n".join([*passage.heading, passage.text]) for passage in passages)):
        for stem, begin, end in word_positions(text, wanted):
            forms_of[stem][text[begin:end]] += 1
    return tuple(dict.fromkeys(_best_form(forms_of[stem]) for stem in stems if stem in forms_of))


def _best_form(forms: Counter[str]) -> str:
    """Prefer one word to several, and lower case if anybody writes it so; then the commonest form."""
    lower = Counter[str]()
    for form, times in forms.items():
        lower[form.lower()] += times
    best = min(lower, key=lambda form: (not form.isalnum(), -lower[form], form))
    return best if best in forms else max(sorted(forms), key=lambda form: (form.lower() == best, forms[form]))


def _tf_idf(ids: tuple[str, ...], words: Mapping[str, Sequence[str]]) -> TfIdf:
    return TfIdf(ids, {id: Counter(word for some in words[id] for word in some.split()) for id in ids})


def _normalised(vectors: "Floats") -> "Floats":
    import numpy as np

    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _positions(ids: tuple[str, ...], pairs: frozenset[tuple[str, str]]) -> list[tuple[int, int]]:
    position = {id: at for at, id in enumerate(ids)}
    known = ((position[one], position[other]) for one, other in pairs if one in position and other in position)
    return [(min(pair), max(pair)) for pair in known]
