"""The results of changes to documents."""

from collections.abc import Sequence
from dataclasses import dataclass

from loci.documents.document import Document
from loci.documents.graph.neighbourhood import DocumentLink
from loci.documents.writing.history import PastWrite
from loci.documents.writing.write_targets import WriteTarget


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """The document after a write."""

    target: WriteTarget
    document: Document | None
    """None: the document is gone, or it was a dry run."""
    hash: str | None
    is_changed: bool
    unfinished: str | None = None
    """The step that failed after the text was written, and what to do."""
    links: Sequence[DocumentLink] = ()
    """The links that it writes, if they were asked for."""


@dataclass(frozen=True, slots=True)
class UndoneWrite:
    """A write that was undone, and the document after that."""

    written: WrittenDocument
    write: PastWrite
    older: int
    """The number of earlier writes that can still be undone."""
