"""Code that worked, as the doors of the product see it: learned, found, listed and forgotten."""

from collections.abc import Mapping

from loci.core.identity import Owner
from loci.gateway.capabilities.capability import Capability
from loci.gateway.capabilities.learning import EndedRun, Learning
from loci.gateway.capabilities.matching import FoundCapabilities, FoundCapability, Matched, Matching
from loci.gateway.capabilities.shelf import Shelf, StoredCode


class Capabilities:
    """Every owner's capabilities."""

    def __init__(self, shelf: Shelf, matching: Matching, learning: Learning) -> None:
        self._shelf = shelf
        self._matching = matching
        self._learning = learning

    def learn(self, owner: Owner, run: EndedRun) -> None:
        """Learn from a run of code, later: the call does not wait."""
        self._learning.ended(owner, run)

    def all(self, owner: Owner) -> list[Capability]:
        """All capabilities."""
        return self._shelf.all(owner)

    def find(self, owner: Owner, intent: str, *, suggestions: bool = False) -> FoundCapabilities:
        """The capabilities that fit an intent, or the one with this id. With `suggestions`, also related ones."""
        return self._matching.find(owner, intent, suggestions=suggestions)

    def get(self, owner: Owner, id: str) -> FoundCapability:
        """The capability with this id, or that version of it. Raises `NotFound` if there is none."""
        return self._matching.by_id(owner, id)

    def fitting(self, owner: Owner, intent: str) -> Matched | None:
        """The proven capability that fits the intent well. None if none does."""
        return self._matching.fits_well(owner, intent)

    def codes(self, owner: Owner, capability: Capability) -> dict[str, StoredCode]:
        """The codes of all its versions, by their identities."""
        return self._shelf.codes(owner, [one.identity for one in capability.versions])

    def restore(self, owner: Owner, capability: Capability, codes: Mapping[str, StoredCode]) -> None:
        """Take a capability in as an archive has it: it joins the one for the same intent."""
        self._shelf.restore(owner, capability, codes)

    def delete(self, owner: Owner, id: str) -> Capability:
        """Forget a capability with all its versions. Raises `NotFound` if there is none."""
        return self._shelf.remove(owner, id)
