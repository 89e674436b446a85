"""The outcome of an ingest."""

from dataclasses import dataclass, field
from typing import Final

from loci.markdown.nouns import Problem


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file or folder that was not ingested, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The number of folders and documents that an ingest left out on purpose, without a look into the folders."""

    hidden: int = 0
    """Folders and documents whose names begin with a dot."""
    modules: int = 0
    """Folders called `node_modules`."""
    ignored: int = 0
    """Folders and documents that the setting `exclude` names, or, if `use_gitignore` is set, `.gitignore` files."""

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(self.hidden + other.hidden, self.modules + other.modules, self.ignored + other.ignored)


NOTHING_LEFT_OUT: Final = LeftOut()


@dataclass(frozen=True, slots=True)
class MissingFolder:
    """A folder that has lost all its documents, as an unmounted disk does. Loci keeps their records."""

    folder: str
    documents: int


@dataclass(slots=True)
class IngestSummary:
    """The outcome of an ingest, which it fills as it goes. It saw `processed + unchanged + failed` documents."""

    unchanged: int = 0
    chunks: int = 0
    """Chunks of the processed documents."""
    embedded: int = 0
    """Chunks that were embedded in this run. The others had a vector already, or there is no model."""
    model: str | None = None
    failed: list[FileFailure] = field(default_factory=list[FileFailure])
    skipped: tuple[FileFailure, ...] = ()
    """Paths that look like documents but are not: links to elsewhere, devices."""
    problems: list[tuple[str, Problem]] = field(default_factory=list[tuple[str, Problem]])
    """Problems of the processed documents, each with the document's path."""
    kept: tuple[MissingFolder, ...] = ()
    left_out: LeftOut = NOTHING_LEFT_OUT
    taken: list[str] = field(default_factory=list[str])
    """The paths of the processed documents."""
    gone: list[str] = field(default_factory=list[str])
    """The paths of the removed documents."""

    @property
    def processed(self) -> int:
        return len(self.taken)

    @property
    def removed(self) -> int:
        return len(self.gone)

    @property
    def seen(self) -> int:
        return self.processed + self.unchanged + len(self.failed)
