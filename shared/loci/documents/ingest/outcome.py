"""The outcome of an ingest."""

from dataclasses import dataclass, field
from typing import Final

from loci.documents.document import Problem


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file or folder that was not ingested, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many folders and documents an ingest passed over on purpose. Nobody looked into the folders."""

    hidden: int = 0
    """Their names begin with a dot."""
    modules: int = 0
    """Folders called `node_modules`."""
    ignored: int = 0
    """`.gitignore` files name them, and the setting says that this counts."""

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(self.hidden + other.hidden, self.modules + other.modules, self.ignored + other.ignored)


NOTHING_LEFT_OUT: Final = LeftOut()


@dataclass(frozen=True, slots=True)
class MissingFolder:
    """A folder that has lost all its documents, as an unmounted disk does. Loci keeps what it knows of them."""

    folder: str
    documents: int


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """The outcome of an ingest. It saw `processed + unchanged + failed` documents."""

    processed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    """Chunks of the processed documents."""
    embedded: int = 0
    """Chunks that were embedded in this run. The others had a vector already, or there is no model."""
    model: str | None = None
    failed: tuple[FileFailure, ...] = ()
    skipped: tuple[FileFailure, ...] = ()
    """Paths that look like documents but are not: links to elsewhere, devices."""
    problems: tuple[tuple[str, Problem], ...] = field(default=())
    """Problems of the processed documents, each with the document's path."""
    kept: tuple[MissingFolder, ...] = ()
    left_out: LeftOut = NOTHING_LEFT_OUT
    taken: tuple[str, ...] = ()
    """The paths of the processed documents."""
    gone: tuple[str, ...] = ()
    """The paths of the removed documents."""

    @property
    def seen(self) -> int:
        return self.processed + self.unchanged + len(self.failed)
