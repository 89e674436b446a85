"""Documents that a client sends over HTTP: list what is stored already, apply additions and removals."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from loci.core.errors import LociError, Unavailable
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.library import Library

PAGE = 1000


@dataclass(frozen=True, slots=True)
class UploadedDocument:
    """A document that was sent or uploaded."""

    path: str
    sha256: str
    """The hash of the upload, even if a tool has written the document since. Empty if the client should send it again:
    it is half written, or an older parser or another model processed it."""


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A document on its way in."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Applied:
    """The document at that path is stored as sent, or removed."""

    path: str


@dataclass(frozen=True, slots=True)
class NotApplied:
    """The document at that path is unchanged because of an error."""

    path: str
    error: LociError

    @property
    def may_work_later(self) -> bool:
        return isinstance(self.error, Unavailable)


class ClientSync:
    """Applies each change as a whole: after an interruption the client lists what is stored and sends the rest."""

    def __init__(self, catalog: Catalog, library: Library) -> None:
        self._catalog = catalog
        self._library = library

    def uploaded(self, owner: Owner, under: str, after: str | None) -> tuple[list[UploadedDocument], str | None]:
        """One page of the uploaded documents below that folder, and the next `after` (None: no more pages)."""
        documents, next_after = self._catalog.page(owner, PAGE, after)
        start = f"{under.strip('/')}/"
        found = [
            UploadedDocument(one.path, one.uploaded_sha256 if one.sha256 and self._library.is_current(one) else "")
            for one in documents
            if one.root is None and one.uploaded_sha256 is not None and one.path.startswith(start)
        ]
        return found, next_after

    def apply(
        self, owner: Owner, sent: Sequence[SentDocument], removed: Sequence[str], is_late: Callable[[], bool]
    ) -> Iterator[Applied | NotApplied]:
        """Store and remove documents one by one. Once `is_late`, the rest is left for later; the first never is."""
        work: list[tuple[str, Callable[[], object]]] = [
            *((one.path, partial(self._library.add, owner, one.path, one.content)) for one in sent),
            *((path, partial(self._library.remove_upload, owner, path)) for path in removed),
        ]
        for number, (path, change) in enumerate(work):
            if number and is_late():
                error = Unavailable("The request took too long to get to this document", "Send it again", code="LATER")
                yield NotApplied(path, error)
                continue
            try:
                change()
            except LociError as error:
                yield NotApplied(path, error)
            else:
                yield Applied(path)
