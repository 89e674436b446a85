"""The nearest of every document: those that are most like it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from loci.documents.graph.similarity import Similarity

AT_ONCE: Final = 256
DIGITS: Final = 4
FEW: Final = 8


class NeighboursIndex:
    """Of each document the `most` nearest, by their places in `alike.ids`; what was found is remembered."""

    def __init__(self, alike: Similarity, most: int, least: float) -> None:
        self.alike = alike
        self._least = least
        self._most = most
        self._found: dict[int, Mapping[int, float]] = {}

    def __len__(self) -> int:
        """Of how many documents they are known."""
        return len(self._found)

    def of(self, places: Sequence[int]) -> list[Mapping[int, float]]:
        """The nearest of each of these, the nearest first."""
        new = [at for at in places if at not in self._found]
        self._found.update(zip(new, nearest(self.alike, new, self._most, self._least), strict=True))
        return [self._found[at] for at in places]

    def blocks(self) -> Iterator[None]:
        """Finds those of all documents, some at each step."""
        everyone = range(len(self.alike.ids))
        for start in everyone[::AT_ONCE]:
            self.of(everyone[start : start + AT_ONCE])
            yield

    def mutual(self) -> Iterator[tuple[int, int, float]]:
        """All pairs of which each is among the nearest of the other."""
        for _ in self.blocks():
            pass
        for one in range(len(self.alike.ids)):
            near = self._found[one].items()
            yield from ((one, other, value) for other, value in near if one < other and one in self._found[other])


def nearest(alike: Similarity, places: Sequence[int], most: int, least: float) -> list[Mapping[int, float]]:
    """For each of these documents the `most` nearest others, the nearest first; equally near ones by their ids."""
    import numpy as np

    if not places:
        return []
    # A product for each of a few is a third of the time of one for all of them.
    products = (
        [alike.rows @ alike.rows[at] for at in places] if len(places) <= FEW else alike.rows[places] @ alike.rows.T
    )
    near = np.round(products, DIGITS)
    near[np.arange(len(places)), list(places)] = -2  # nobody is his own neighbour
    rank = min(most, near.shape[1]) - 1
    floors = np.maximum(np.partition(near, near.shape[1] - 1 - rank, axis=1)[:, near.shape[1] - 1 - rank], least)
    found: list[Mapping[int, float]] = []
    for row, floor in zip(near, floors, strict=True):
        close = np.flatnonzero(row >= floor)
        best = close[np.argsort(-row[close], kind="stable")][:most]
        found.append({int(other): min(round(float(row[other]), DIGITS), 1.0) for other in best})
    return found
