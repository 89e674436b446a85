"""Documents that a client sends: what is held of them already, and what is new or gone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loci.core.errors import LociError, Unavailable
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.library import Library

PAGE = 1000


@dataclass(frozen=True, slots=True)
class HeldDocument:
    """A document that was sent, or uploaded."""

    path: str
    sha256: str
    """Of what was sent, also where a tool has written it since; empty where it should be sent again: it is half
    written, or was read in an older way."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A text on its way in."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Done:
    """The document of that path is what was sent, or gone."""

    path: str


@dataclass(frozen=True, slots=True)
class NotDone:
    """It is as it was, and why."""

    path: str
    error: LociError

    @property
    def may_work_later(self) -> bool:
        return isinstance(self.error, Unavailable)


class ClientSync:
    """Each document is taken in or out whole, so whoever was interrupted asks what is held, and sends the rest."""

    def __init__(self, catalog: Catalog, library: Library, writer: IndexWriter) -> None:
        self._catalog = catalog
        self._library = library
        self._writer = writer

    def held(self, owner: Owner, under: str, after: str | None) -> tuple[list[HeldDocument], str | None]:
        """Some of those below that name, and where the next ones begin (None: there are no more)."""
        documents, behind = self._catalog.page(owner, PAGE, after)
        begin = f"{under.strip('/')}/"
        held = [
            HeldDocument(one.path, one.uploaded if one.sha256 and self._writer.is_current(one) else "")
            for one in documents
            if one.root is None and one.uploaded is not None and one.path.startswith(begin)
        ]
        return held, behind

    def take(
        self, owner: Owner, sent: Sequence[Sent], gone: Sequence[str], is_late: Callable[[], bool]
    ) -> Iterator[Done | NotDone]:
        """What became of each; those that there is no time for are left for later. The first is always done."""
        work = [(one.path, self._adding(owner, one)) for one in sent]
        work += [(path, self._dropping(owner, path)) for path in gone]
        for number, (path, do) in enumerate(work):
            if number and is_late():
                error = Unavailable("There was no time for it", "Send it again", code="LATER")
                yield NotDone(path, error)
                continue
            try:
                do()
            except LociError as error:
                yield NotDone(path, error)
            else:
                yield Done(path)

    def _adding(self, owner: Owner, one: Sent) -> Callable[[], object]:
        return lambda: self._library.add(owner, one.path, one.content)

    def _dropping(self, owner: Owner, path: str) -> Callable[[], object]:
        return lambda: self._library.drop(owner, path)
