"""The other programs whose notes Loci takes in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from loci.core.errors import Refused
from loci.transfer.elsewhere.claude import ClaudeExport
from loci.transfer.elsewhere.folders import BasicMemory, ObsidianVault
from loci.transfer.elsewhere.memory_server import MemoryServer
from loci.transfer.elsewhere.notes import Elsewhere
from loci.transfer.items import Loaded, Unreadable

KNOWN: Final[dict[str, Elsewhere]] = {
    "obsidian": ObsidianVault(),
    "memory-server": MemoryServer(),
    "claude": ClaudeExport(),
    "basic-memory": BasicMemory(),
}


class FromElsewhere:
    """The notes of another program at a path, as documents below a folder."""

    def __init__(self, path: Path, kind: str | None, into: str | None) -> None:
        if kind is not None and kind not in KNOWN:
            what = f"Loci knows no {kind[:40]!r}"
            raise Refused(what, f"Give --from with one of {', '.join(sorted(KNOWN))}", code="UNKNOWN_FORMAT")
        if not path.exists():
            advice = f"Give the path of an archive of loci export, or of the notes of {', '.join(sorted(KNOWN))}"
            raise Refused(f"There is no {path}", advice, code="NO_SUCH_PATH")
        self.kind = kind or _kind_of(path)
        self.into = (into or self.kind).strip("/")
        self._path = path

    def items(self) -> Iterator[Loaded | Unreadable]:
        """Its notes."""
        return KNOWN[self.kind].items(self._path, self.into)


def _kind_of(path: Path) -> str:
    found = next((kind for kind, one in KNOWN.items() if one.fits(path)), None)
    if found is None:
        advice = f"Say it with --from {', '.join(sorted(KNOWN))}; a folder of markdown: loci ingest"
        raise Refused(f"{path} is no archive of Loci, and nothing of another program that it knows", advice)
    return found
