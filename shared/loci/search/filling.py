"""Fills a short passage up with the lines around it: the answer is often in the turn after the one that was found."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

from loci.search.ranking import Chunk

FILLED_UP = 600
"""Characters of a passage with what stands around it."""
MOST_BESIDE = 4
"""Passages on each side of one."""
WIDEST_GAP = 3
"""Lines from the end of a passage to the next. If there are more, something stands between them that is in neither."""

Fits = Callable[[str], bool]
"""True if there is room for this text."""


@dataclass(frozen=True, slots=True)
class Filled:
    """Neighbouring passages of a document, as they stand in it."""

    chunks: tuple[Chunk, ...]

    @property
    def text(self) -> str:
        parts = [self.chunks[0].text.strip()]
        for one, other in pairwise(self.chunks):
            parts += ["\n" * (other.first_line - one.last_line), other.text.strip()]
        return "".join(parts)

    @property
    def lines(self) -> str:
        """Such as 10-20."""
        return f"{self.chunks[0].first_line}-{self.chunks[-1].last_line}"


def beside(chunk: Chunk, room: int) -> list[str]:
    """The ids that passages around it have: as many as may fit into the room if they are half as long as it is."""
    document, _, number = chunk.id.rpartition("#")
    each = min(MOST_BESIDE, 2 * (room - len(chunk.text)) // max(1, len(chunk.text)))
    first = int(number)
    return [f"{document}#{at}" for at in range(max(0, first - each), first + each + 1) if at != first]


def filled(chunk: Chunk, around: Mapping[str, Chunk], fits: Fits, without: Collection[str] = ()) -> Filled:
    """The passage with as many of its neighbours as fit, from both sides in turns. The one after it comes first.

    Only those under the same headings, and none of those `without` which it shall do.
    """
    found = Filled((chunk,))
    sides = [1, -1]
    while sides:
        side = sides.pop(0)
        longer = _longer(found, side, around, without)
        if longer is not None and fits(longer.text):
            found = longer
            sides.append(side)
    return found


def _longer(found: Filled, side: int, around: Mapping[str, Chunk], without: Collection[str]) -> Filled | None:
    """With the next passage on this side of it, if there is one that can be joined to it."""
    last = found.chunks[-1 if side > 0 else 0]
    document, _, number = last.id.rpartition("#")
    other = around.get(f"{document}#{int(number) + side}")
    if other is None or other.id in without or other.heading != last.heading:
        return None
    chunks = (*found.chunks, other) if side > 0 else (other, *found.chunks)
    upper, lower = chunks[-2:] if side > 0 else chunks[:2]
    return Filled(chunks) if 1 <= lower.first_line - upper.last_line <= WIDEST_GAP else None
