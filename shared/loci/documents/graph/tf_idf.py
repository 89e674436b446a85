"""What tells each document from the others: its words by TF-IDF."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import chain
from itertools import count as numbers
from typing import TYPE_CHECKING, Final
from zlib import crc32

from loci.search.words import is_subject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BUCKETS: Final = 1024
"""Words share them, so that the vectors stay short."""
TERMS: Final = 40
"""Of each document are kept: those that tell it from others."""


class TfIdf:
    """TF-IDF of each document's words, in one array: a Python loop over all of them would take ten times as long."""

    def __init__(self, ids: tuple[str, ...], words: Mapping[str, Counter[str]]) -> None:
        import numpy as np

        self._ids = ids
        place: defaultdict[str, int] = defaultdict(numbers().__next__)
        sizes = [len(words[id]) for id in ids]
        self._ends = np.cumsum([0, *sizes])
        said = map(place.__getitem__, chain.from_iterable(words[id] for id in ids))
        self._which = np.fromiter(said, np.int64, self._ends[-1])
        times = chain.from_iterable(words[id].values() for id in ids)
        counts = np.fromiter(times, np.float64, self._ends[-1])
        rarity = np.log((1 + len(ids)) / (1 + np.bincount(self._which, minlength=len(place))))
        self._values = (1 + np.log(counts)) * rarity[self._which]
        self._words = list(place)

    def hashed(self) -> "Floats":
        """A row a document."""
        import numpy as np

        numbers = np.fromiter((crc32(word.encode()) for word in self._words), np.int64, len(self._words))
        signs = np.where(numbers & 0x80000000, 1.0, -1.0)
        rows = np.zeros((len(self._ids), BUCKETS), np.float32)
        for at, row in enumerate(rows):
            which = self._which[self._ends[at] : self._ends[at + 1]]
            values = self._values[self._ends[at] : self._ends[at + 1]]
            row += np.bincount(numbers[which] % BUCKETS, values * signs[which], minlength=BUCKETS)
        return rows

    def most(self) -> dict[str, dict[str, float]]:
        """The most telling words of each document."""
        import numpy as np

        subjects = np.fromiter((is_subject(word) for word in self._words), np.bool_, len(self._words))
        found: dict[str, dict[str, float]] = {}
        for at, id in enumerate(self._ids):
            which = self._which[self._ends[at] : self._ends[at + 1]]
            values = np.where(subjects[which], self._values[self._ends[at] : self._ends[at + 1]], 0.0)
            best = np.argsort(-values, kind="stable")[:TERMS]
            found[id] = {self._words[which[one]]: float(values[one]) for one in best if values[one] > 0}
        return found
