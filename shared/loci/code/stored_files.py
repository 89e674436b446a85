"""Stored files and documents, as code in the Python runner reads them."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath

from loci.code.ports import InBlobs, StoredContent
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Owner
from loci.core.trust import saw
from loci.documents.api import Documents
from loci.documents.document import Document
from loci.documents.filtering import LibraryPart
from loci.documents.foreign import foreign_of
from loci.files.api import Files
from loci.files.file import id_and_version

MB = 2**20
FILE = "ds-"
"""Ids of files begin so. A document's id may, too."""
MOST_OF_A_FOLDER = 64 * MB
AT_ONCE = 16
"""Documents that are read at the same time: each may be an object in a bucket."""


@dataclass(frozen=True, slots=True)
class FilesForCode:
    """The files of the lake, and documents. Each vertical is made when the first code asks for it."""

    files: Callable[[], Files]
    documents: Callable[[], Documents]

    def read(self, owner: Owner, id: str) -> StoredContent:
        """The file or its version `ds-0f…@2`, the document, or the documents of a folder, as they are now."""
        if id.startswith(FILE):
            try:
                found = self.files().read(owner, *id_and_version(id))
            except NotFound as error:
                try:
                    return self._document(owner, id)
                except NotFound:
                    raise error from None
            return StoredContent(found.name, found.version, InBlobs(found.blob, found.load), found.number, found.path)
        return self._folder(owner, id) if id.endswith("/") else self._document(owner, id)

    def _document(self, owner: Owner, name: str) -> StoredContent:
        library = self.documents().parts.library
        document = library.get(owner, name)
        saw(foreign_of(document))
        return _stored(PurePosixPath(document.path).name, library.content(owner, document))

    def _folder(self, owner: Owner, name: str) -> StoredContent:
        """All documents below the folder: a line of JSON for each, in the order of their paths."""
        documents, prefix = self.documents(), "/".join(part for part in name.split("/") if part not in ("", "."))
        if prefix:
            documents.directory(owner, LibraryPart(prefix))  # `NotFound` if there is no such folder
        library = documents.parts.library
        chosen = [one for one in library.documents(owner) if not prefix or one.path.startswith(f"{prefix}/")]
        size = sum(one.bytes for one in chosen)
        if size > MOST_OF_A_FOLDER:
            what = f"The documents below {name} have {size / MB:.0f} MB; the most is {MOST_OF_A_FOLDER // MB} MB"
            raise Refused(what, "Name a folder in it", code="FOLDER_TOO_LARGE")

        saw(source for one in chosen for source in foreign_of(one))

        def line(one: Document) -> str:
            return json.dumps(self._row(owner, one), ensure_ascii=False)

        with ThreadPoolExecutor(AT_ONCE) as threads:
            lines = list(threads.map(line, chosen))
        shown = prefix.rpartition("/")[2] or "documents"
        return _stored(f"{shown}.jsonl", "".join(f"{one}\n" for one in lines).encode("utf-8", "replace"))

    def _row(self, owner: Owner, document: Document) -> dict[str, object]:
        dated, text, error = document.dated, None, None
        try:
            text = self.documents().read(owner, document.id, remember=False).text
        except LociError as failure:  # its file may just have gone
            error = f"{failure.code}: {failure}"
        return {
            "id": document.id,
            "path": document.path,
            "title": document.title,
            "date": dated and dated.day,
            "date_from": dated and dated.source,
            "tags": document.tags,
            "text": text,
            "error": error,
        }


def _stored(name: str, content: bytes) -> StoredContent:
    return StoredContent(name, hashlib.sha256(content).hexdigest(), content)
