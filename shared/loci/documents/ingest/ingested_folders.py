"""The folders that an owner ingested as a whole, and the documents below them that the owner wants forgotten."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import string
from loci.core.stores import Record, RecordStore, every, readable
from loci.documents.catalog import INGESTED_FOLDER, Catalog
from loci.documents.document import Document
from loci.documents.ingest.local_files import LocalPath, file_of, is_below

FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class IngestedFolder:
    """A folder that was ingested as a whole. A root, on the other hand, may have been made for a single file."""

    folder: str
    name: str
    """The folder's name as the owner wrote it."""


class IngestedFolders:
    """The folders that may be kept current without being asked for, but for the forgotten documents."""

    def __init__(self, records: RecordStore, catalog: Catalog) -> None:
        self._records = records
        self._catalog = catalog

    def all(self, owner: Owner) -> list[IngestedFolder]:
        """All of them, ordered by path."""
        return sorted(readable(every(self._records, owner, INGESTED_FOLDER), folder_of), key=lambda one: one.folder)

    def note(self, owner: Owner, location: LocalPath) -> None:
        """Note that this folder was ingested; a folder inside one that was is not noted."""
        if location.is_folder and not is_below(location.path, [one.folder for one in self.all(owner)]):
            value = {"folder": location.path, "name": location.name}
            self._records.put(owner, INGESTED_FOLDER, content_id(location.path), {**value})

    def forget(self, owner: Owner, removed: Sequence[Document]) -> None:
        """Drop the folders whose last documents are about to be removed. Note the documents of the others."""
        roots, ids = self._catalog.roots(owner), {one.id for one in removed}
        left = [
            file_of(one.path, root)
            for one in self._catalog.documents(owner)
            if one.id not in ids and (root := roots.get(one.root or ""))
        ]
        kept: list[str] = []
        for one in self.all(owner):
            if any(is_below(file, [one.folder]) for file in left):
                kept.append(one.folder)
            else:
                self._records.remove(owner, INGESTED_FOLDER, content_id(one.folder))
        for document in removed:
            root = roots.get(document.root or "")
            if root and is_below(file_of(document.path, root), kept):
                self._records.put(owner, FORGOTTEN, content_id(document.path), {"path": document.path})

    def forgotten(self, owner: Owner) -> set[str]:
        """The paths of the forgotten documents."""
        return set(readable(every(self._records, owner, FORGOTTEN), forgotten_path))

    def recall(self, owner: Owner, paths: Collection[str]) -> None:
        """Forget no longer what is asked for by name, or with its folder."""
        for path in self.forgotten(owner).intersection(paths):
            self._records.remove(owner, FORGOTTEN, content_id(path))


def folder_of(record: Record) -> IngestedFolder:
    """The folder of a record."""
    return IngestedFolder(string(record.value["folder"]), string(record.value["name"]))


def forgotten_path(record: Record) -> str:
    """The path of a record."""
    return string(record.value["path"])
