"""Documents: texts that were taken in, and what is known of each."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a document that was taken in all the same."""

    what: str
    line: int | None = None

    def __str__(self) -> str:
        return self.what if self.line is None else f"line {self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document; its line counts from 1."""

    level: int
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of this machine that documents were taken in from."""

    id: str
    name: str
    """What the paths of its documents begin with."""
    folder: str


@dataclass(frozen=True, slots=True)
class Document:
    """What is known of a document without reading it."""

    id: str
    path: str
    """As people know it: the root's name, then the way below it, with slashes."""
    root: str | None
    """The id of the root that it lies in; None: its text is kept in the blob store."""
    title: str
    tags: tuple[str, ...]
    date: str | None
    """YYYY-MM-DD."""
    sha256: str
    """Of the bytes that were taken in."""
    bytes: int
    lines: int
    chunks: int
    model: str | None
    """The identity of the model that all its chunks were embedded with."""
    ingested_at: str
    problems: tuple[Problem, ...] = ()
    reading: int = 0
    """How it was read: by a Loci that reads more out of a document it is taken in again."""
    former: tuple[str, ...] = ()
    """Paths that it had, the last one first: links that name them still mean it."""
    written_at: str | None = None
    """Where its text was written, if it has only been moved since: its own links lead from there."""
    uploaded: str | None = None
    """The hash of the upload that was last taken in at its path; None: there was none."""


@dataclass(frozen=True, slots=True)
class Text:
    """A document as it reads now."""

    document: Document
    text: str
    sha256: str
    """Of the bytes as they are now: another one than the document's where they have changed since."""


@dataclass(frozen=True, slots=True)
class FileFailure:
    """What was not taken in, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A folder in which nothing is left, as of a disk that is not mounted: its documents stay."""

    folder: str
    documents: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What an ingestion did: `processed + unchanged + failed` are all that were seen."""

    processed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    """Of the processed documents."""
    embedded: int = 0
    """Chunks whose embedding was made now; the others' was there, or there is no model."""
    model: str | None = None
    failed: tuple[FileFailure, ...] = ()
    skipped: tuple[FileFailure, ...] = ()
    """What is no document: a link that leads elsewhere, a device."""
    problems: tuple[tuple[str, Problem], ...] = field(default=())
    """Of the processed documents, by path."""
    kept: tuple[KeptDocument, ...] = ()

    @property
    def seen(self) -> int:
        return self.processed + self.unchanged + len(self.failed)
