"""The text of a document where it is kept: in a file of this machine, or in the blob store."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loci.core.errors import Conflict, NotFound
from loci.core.identity import Owner
from loci.core.stores import BlobStore
from loci.documents.document import Root
from loci.documents.ingest.local_files import read_file
from loci.documents.ingest.roots import below_root
from loci.documents.library import blob_key
from loci.documents.writing.write_file import clear_scratch, remove_file, write_file


class StoredText(Protocol):
    """One text. Who writes it says what it was before; `Conflict` where it is something else by now."""

    def read(self) -> bytes | None:
        """The text as it is now; None where there is none."""
        ...

    def write(self, content: bytes, before: bytes | None) -> None: ...

    def remove(self, before: bytes) -> None: ...

    def clear(self) -> None:
        """Take away what an interrupted write may have left beside it."""
        ...


@dataclass(frozen=True, slots=True)
class File:
    """A text of this machine."""

    root: Root
    path: str
    scratch: str

    def read(self) -> bytes | None:
        below = below_root(self.path)
        # Also a link that leads nowhere is something.
        if not os.path.lexists(Path(self.root.folder, below)):
            return None
        return read_file(self.root.folder, below)

    def write(self, content: bytes, before: bytes | None) -> None:
        write_file(self.root.folder, below_root(self.path), content, before, self.scratch)

    def remove(self, before: bytes) -> None:
        remove_file(self.root.folder, below_root(self.path), before)

    def clear(self) -> None:
        clear_scratch(self.root.folder, below_root(self.path), self.scratch)


@dataclass(frozen=True, slots=True)
class Blob:
    """A text that is kept here. Who writes it has the turn, so nobody comes between."""

    blobs: BlobStore
    owner: Owner
    id: str
    path: str

    def read(self) -> bytes | None:
        try:
            return self.blobs.read(self.owner, blob_key(self.id))
        except NotFound:
            return None

    def write(self, content: bytes, before: bytes | None) -> None:
        self._expect(before)
        self.blobs.write(self.owner, blob_key(self.id), content)

    def remove(self, before: bytes) -> None:
        self._expect(before)
        self.blobs.remove(self.owner, blob_key(self.id))

    def clear(self) -> None:
        """Nothing: a blob is written whole."""

    def _expect(self, before: bytes | None) -> None:
        if self.read() != before:
            raise Conflict(f"{self.path} was changed while it was written", "Read it again, then decide")
