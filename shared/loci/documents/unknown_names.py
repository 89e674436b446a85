"""Names that no document has: the error says why, or which document may be meant."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from loci.core.errors import LociError, NotFound
from loci.core.identity import Owner
from loci.core.stores import ABSENT
from loci.documents.catalog import Catalog
from loci.documents.document import DOCUMENT_ID, Document, ids_for
from loci.documents.ingest.folder_scan import PLAIN_SCAN
from loci.documents.ingest.local_files import (
    below_root,
    is_below,
    is_document,
    is_regular_file,
    is_utf8,
    path_of,
    plain_path,
    read_file,
)
from loci.markdown.encodings import require_text
from loci.search.names import name_word

SUGGESTED_IDS = 3
MOST_NAMED, LONGEST_SAID = 10, 80
EMPTY_LIBRARY = (
    "The library is empty. Fill it with: loci ingest FOLDER (for a server elsewhere: loci ingest FOLDER --to URL),"
    " or write a first document with write_document"
)


@dataclass(frozen=True, slots=True)
class UnknownNames:
    """Explains why a name leads to no document."""

    catalog: Catalog

    def error(self, owner: Owner, name: str) -> LociError:
        """The error for a name of no document."""
        if DOCUMENT_ID.fullmatch(name) and self.catalog.with_version(owner, name)[1] != ABSENT:
            advice = "Run: loci doctor --fix. Searches still find the document"
            return NotFound(f"The record of {name} is damaged", advice, code="RECORD_DAMAGED")
        if refused := self._of_file(owner, name) or self._of_upload(owner, name):
            return refused
        documents = self.catalog.documents(owner)
        if not documents:
            return NotFound("Node not found.", EMPTY_LIBRARY, code="NODE_NOT_FOUND")
        alike = _named(documents, name)
        if len(alike) > 1:
            which = ", ".join(one.id for one in alike[:MOST_NAMED]) + (", …" if len(alike) > MOST_NAMED else "")
            what = f"{len(alike)} documents have the name {name[:LONGEST_SAID]!r}"
            return NotFound(what, f"Name one by its id: {which}", code="AMBIGUOUS")
        moved = [one for one in documents if _was_called(one, name)]
        names = {one.id: one.path if is_document(name) else one.id for one in documents}
        similar = list(dict.fromkeys([*_ids(moved), *_ids(alike), *most_alike(name, names, SUGGESTED_IDS)]))[
            :SUGGESTED_IDS
        ]
        meant = f"Did you mean {', '.join(similar)}? " if similar else ""
        if moved:
            meant = f"It was moved: it is {moved[0].id} now. {meant}"
        return NotFound("Node not found.", f"{meant}search_documents returns the current ids", code="NODE_NOT_FOUND")

    def _of_file(self, owner: Owner, name: str) -> LociError | None:
        """The reason why a file of that name in one of the folders is no document."""
        if not is_document(name) or not is_utf8(name) or "\0" in name:
            return None
        for root in self.catalog.roots(owner).values():
            file = os.path.expanduser(name) if name.startswith(("/", "~")) else ""  # noqa: PTH111 (`Path` may raise)
            if not file and name.partition("/")[0] == root.name:
                file = f"{root.folder.rstrip('/')}/{below_root(name)}"
            if not is_below(file, [root.folder]) or not is_regular_file(file):
                continue
            path = path_of(file, root)
            below = below_root(path)
            if PLAIN_SCAN.leaves_out(root.folder, file):
                continue
            try:
                require_text(path, read_file(root.folder, below))
            except LociError as error:
                return error
            advice = f"Run: loci ingest {root.folder}"
            return NotFound(f"{path} is there, and not ingested", advice, code="NOT_INGESTED")
        return None

    def _of_upload(self, owner: Owner, name: str) -> LociError | None:
        """The reason why the upload at that path is no document."""
        if not is_document(name) or not is_utf8(name):
            return None
        return self.catalog.refused.find(owner, plain_path(name))


def _named(documents: Sequence[Document], name: str) -> list[Document]:
    """The documents that have it as their title or as their file's name, in the order of their paths."""
    wanted = name_word(name)
    names = ((one, (one.title, PurePosixPath(one.path).name, PurePosixPath(one.path).stem)) for one in documents)
    found = (one for one, own in names if wanted and wanted in map(name_word, own))
    return sorted(found, key=lambda one: one.path)


def _was_called(document: Document, name: str) -> bool:
    """True if the document had that id or path once."""
    return any(name in (path, next(ids_for(path))) for path in document.former)


def _ids(documents: Iterable[Document]) -> list[str]:
    return [one.id for one in documents]


def most_alike(wanted: str, names: Mapping[str, str], most: int) -> list[str]:
    """The keys of the names that look most like the wanted one, best first. A name that shares nothing is left out."""
    letters = _trigrams(wanted)
    likeness = {key: _overlap(letters, _trigrams(name)) for key, name in names.items()}
    alike = [key for key, value in likeness.items() if value > 0]
    return sorted(alike, key=lambda key: (-likeness[key], key))[:most]


def _trigrams(text: str) -> frozenset[str]:
    padded = f"  {text.lower()} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)
