"""Which documents there are already, for who takes files in: all at once, or one by one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from loci.core.identity import Owner
from loci.core.stores import ABSENT
from loci.documents.catalog import Catalog
from loci.documents.document import Document


class ExistingDocuments(Protocol):
    """What an ingestion asks before it takes a file."""

    def at(self, path: str) -> tuple[Document | None, str]:
        """The document of that path with its version; None and `ABSENT` where there is none."""
        ...

    def has(self, id: str) -> bool:
        """Whether a document has that id."""
        ...


class ReadBefore:
    """All of them, read before: for a whole folder."""

    def __init__(self, documents: Mapping[str, tuple[Document, str]]) -> None:
        self._documents = documents
        self._ids = {document.id for document, _ in documents.values()}

    def at(self, path: str) -> tuple[Document | None, str]:
        return self._documents.get(path, (None, ABSENT))

    def has(self, id: str) -> bool:
        return id in self._ids


@dataclass(frozen=True, slots=True)
class LookedUp:
    """Each one when it is asked for: a few files of a library of many."""

    catalog: Catalog
    owner: Owner

    def at(self, path: str) -> tuple[Document | None, str]:
        known = self.catalog.find(self.owner, path)
        return known.document, known.version

    def has(self, id: str) -> bool:
        return self.catalog.document(self.owner, id) is not None
