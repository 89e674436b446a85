"""The nouns: documents, and the folders of this machine that they come from."""

from dataclasses import dataclass

from loci.markdown.nouns import DateSource, DocumentDate, Problem

LOCK_WAIT_SECONDS = 10.0
"""A writer waits this long for the write lock of a document."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder on this machine whose documents were ingested."""

    id: str
    name: str
    """The first part of the paths of its documents."""
    folder: str


@dataclass(frozen=True, slots=True)
class Document:
    """The record of a document, without its text."""

    id: str
    path: str
    """The path that people see: the root's name, then the path below the root, with slashes."""
    root: str | None
    """The id of its root; None if the text is kept in the blob store."""
    title: str
    tags: tuple[str, ...]
    date: str | None
    """The day that the document gives itself, YYYY-MM-DD."""
    sha256: str
    """The hash of the ingested bytes; empty while somebody writes the document."""
    bytes: int
    lines: int
    chunks: int
    model: str | None
    """The identity of the model that embedded all its chunks."""
    ingested_at: str
    problems: tuple[Problem, ...] = ()
    parser_version: int = 0
    """The version of the parser that read it: a newer one reads it again."""
    former: tuple[str, ...] = ()
    """Earlier paths, the latest first: links that name them still lead here."""
    written_at: str | None = None
    """The path at which its text was written, if the document only moved since: its own links start there."""
    uploaded_sha256: str | None = None
    """The hash of the last upload to its path; None if there was none."""
    date_from: DateSource | None = None
    changed_on: str | None = None
    """The day on which its file last changed, or on which the text was uploaded."""
    properties: tuple[str, ...] = ()
    """The fields of its front matter with their values, as searches compare them: `status=done`."""
    written_by_tool: bool = False
    """True if a tool of Loci wrote its text: the day of its last change is then no day of a copy."""

    @property
    def dated(self) -> DocumentDate | None:
        """The day that the document gives itself, else the day of its last change."""
        if self.date:
            return DocumentDate(self.date, self.date_from or "front matter")
        return DocumentDate(self.changed_on, "file") if self.changed_on else None

    @property
    def day(self) -> str:
        """The day to sort by; empty if none is known."""
        return self.date or self.changed_on or ""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document as it is now."""

    document: Document
    text: str
    """The characters of the document, with its line ends and its byte order mark."""
    sha256: str
    """The hash of the bytes as they are now. It differs from the document's hash if they changed since the ingest."""
    is_exact: bool = True
    """False if some bytes are not UTF-8: the text has U+FFFD for them."""
