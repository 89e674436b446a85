"""Moving: the one door. The command line and the HTTP route move what an owner has out of this Loci, and into it."""

from collections.abc import Sequence

from loci.core.identity import Owner
from loci.transfer.items import Part
from loci.transfer.places import OwnPlace

RESULTS = "results"
"""They are taken along only if somebody wishes it."""


class Transfer:
    """All that an owner has, part by part."""

    def __init__(self, parts: Sequence[Part], largest: int) -> None:
        self.largest = largest
        """Bytes of a content."""
        self.parts = {one.name: one for one in parts}
        """In the order in which they are taken."""

    def names(self, *, with_results: bool) -> list[str]:
        """The parts of an export."""
        return [name for name in self.parts if with_results or name != RESULTS]

    def of(self, owner: Owner, wanted: Sequence[str] = ()) -> OwnPlace:
        """The place with what the owner has: of these parts."""
        return OwnPlace(self.parts, owner, wanted)
