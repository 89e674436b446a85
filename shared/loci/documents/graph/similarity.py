"""How alike documents are: one vector each, by the model in use, or by their words where there is none."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from loci.core.identity import Owner
from loci.documents.graph.owner_cache import OwnerCache
from loci.documents.graph.tf_idf import TfIdf
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, EmbeddingModel, damaged_vectors, rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BY_WORDS: Final = "TF-IDF"
MOST_OWNERS = 5
BLOCK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Similarity:
    """Documents as vectors of length 1, in the order of their ids. Two are equal only where they are the same one."""

    by: str
    """The model's identity, or `TF-IDF`."""
    ids: tuple[str, ...]
    rows: "Floats"
    terms: Mapping[str, Mapping[str, float]]
    """What each document is about: its most telling stems, with how much they tell."""

    def pairs(self, least: float, most: int, without: frozenset[tuple[str, str]]) -> list[tuple[float, str, str]]:
        """The `most` alike of all pairs that have at least so much in common, most alike first; some left out."""
        import numpy as np

        left_out = _places(self.ids, without)
        best: list[tuple[float, int, int]] = []
        for start in range(0, len(self.ids), BLOCK):
            near = self.rows[start : start + BLOCK] @ self.rows[start:].T
            near[np.tri(*near.shape, dtype=bool)] = -2  # each pair once, and none with itself
            for one, other in left_out:
                if start <= one < start + BLOCK:
                    near[one - start, other - start] = -2
            floor = max(least, best[-1][0]) if len(best) == most else least
            found = np.argwhere(near >= floor)
            values = near[near >= floor]
            if len(values) > most:
                chosen = np.argpartition(-values, most - 1)[:most]
                found, values = found[chosen], values[chosen]
            fresh = (
                (float(value), start + int(a), start + int(b)) for value, (a, b) in zip(values, found, strict=True)
            )
            best = nlargest(most, [*best, *fresh], key=lambda pair: (pair[0], -pair[1], -pair[2]))
        return [(round(min(value, 1.0), 4), self.ids[a], self.ids[b]) for value, a, b in best]


class Terms(Mapping[str, Mapping[str, float]]):
    """Each document's most telling stems, found when the first is asked for: what only compares does not pay."""

    def __init__(self, find: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        self._find = find
        self._found: Mapping[str, Mapping[str, float]] | None = None

    def __getitem__(self, id: str) -> Mapping[str, float]:
        return self._all()[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> Mapping[str, Mapping[str, float]]:
        if self._found is None:
            found = self._found = self._find()
            self._find = lambda: found  # what it was found in is not kept
        return self._found


class Similarities:
    """The vectors that were asked for last, by owner; made anew where documents or the model have changed."""

    def __init__(self, index: DocumentIndex, embedder: Embedder) -> None:
        self._index = index
        self._embedder = embedder
        self._kept: OwnerCache[Similarity] = OwnerCache(MOST_OWNERS)

    def of(self, owner: Owner) -> Similarity:
        """All of the owner's documents. By the model where it has embedded all of them, else by words."""
        model = self._embedder.model()
        state = self._index.state(owner, COLLECTION), model and model.identity
        return self._kept.of(owner, state, lambda _: self._made(owner, model))

    def _made(self, owner: Owner, model: EmbeddingModel | None) -> Similarity:
        import numpy as np

        said: dict[str, list[str]] = {}
        vectors: dict[str, list[bytes]] = {}
        without = False
        for chunk in self._index.passages(owner, COLLECTION):
            said.setdefault(chunk.document, []).append(chunk.words)
            if chunk.embedding and model and chunk.embedding.model == model.identity:
                vectors.setdefault(chunk.document, []).append(chunk.embedding.vector)
            else:
                without = True
        ids = tuple(sorted(said))
        if model is None or without:
            telling = _telling(ids, said)
            return Similarity(BY_WORDS, ids, _unit(telling.hashed()), Terms(telling.most))
        rows = np.zeros((len(ids), model.dimensions), np.float32)
        for at, id in enumerate(ids):
            its = rows_of(vectors[id], model.dimensions)
            if its is None:
                raise damaged_vectors()
            rows[at] = its.sum(axis=0)
        return Similarity(model.identity, ids, _unit(rows), Terms(lambda: _telling(ids, said).most()))


def _telling(ids: tuple[str, ...], said: Mapping[str, Sequence[str]]) -> TfIdf:
    return TfIdf(ids, {id: Counter(word for words in said[id] for word in words.split()) for id in ids})


def _unit(rows: "Floats") -> "Floats":
    import numpy as np

    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _places(ids: tuple[str, ...], pairs: frozenset[tuple[str, str]]) -> list[tuple[int, int]]:
    place = {id: at for at, id in enumerate(ids)}
    known = ((place[one], place[other]) for one, other in pairs if one in place and other in place)
    return [(min(pair), max(pair)) for pair in known]
