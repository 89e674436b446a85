"""The consent of a person to the reading of sessions."""

from dataclasses import dataclass
from typing import Final

HOME: Final = "~"


@dataclass(frozen=True, slots=True)
class Consent:
    """The places that a person allowed Loci to read, and the repositories that stay out."""

    places: tuple[str, ...]
    """Folders; `~`: those of all clients below the home folder."""
    excluded: tuple[str, ...]
