"""Files: the one door. MCP tools, commands and pages call these methods and nothing behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.files.file import StoredFile
from loci.files.finder import FoundFiles, Scope
from loci.files.parts import FileParts
from loci.files.query import ParsedQuery

SAMPLE = 20
LINK_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Overview:
    """How many files there are, and some of them, the newest first."""

    total: int
    excel: int
    pdf: int
    txt: int
    sample: tuple[StoredFile, ...]


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file, as code reads them."""

    name: str
    version: str
    content: bytes


class Files:
    """Every owner's files: added, read, found, fetched and removed."""

    def __init__(self, parts: FileParts) -> None:
        self.parts = parts

    def overview(self, owner: Owner) -> Overview:
        """Count the files, and show the newest."""
        files = sorted(self.parts.lake.files(owner), key=lambda one: (one.newest.added_at, one.id), reverse=True)
        kinds = [one.kind for one in files]
        excel, pdf = kinds.count("excel_file"), kinds.count("pdf_file")
        return Overview(len(files), excel, pdf, len(files) - excel - pdf, tuple(files[:SAMPLE]))

    def search(self, owner: Owner, query: ParsedQuery, *, limit: int, scope: Scope) -> FoundFiles:
        """The files that answer the question, each with the passages that do."""
        return self.parts.finder.find(owner, query, limit=limit, scope=scope)

    def add(self, owner: Owner, name: str, content: bytes, lineage: JsonObject | None = None) -> StoredFile:
        """Add a file, or a new version of it. Nothing happens if the lake has the same content already."""
        file, is_new = self.parts.lake.add(owner, name, content, lineage)
        return self.parts.ingest.run(owner, file.id) if is_new else file

    def status(self, owner: Owner, ids: Sequence[str]) -> list[StoredFile]:
        """How far these files are."""
        return [self.parts.lake.get(owner, one) for one in ids]

    def read(self, owner: Owner, id: str) -> FileContent:
        """The bytes of a file, for code that computes on it."""
        file = self.parts.lake.get(owner, id)
        version = file.newest
        return FileContent(file.name, version.sha256, self.parts.lake.content(owner, id, version))

    def link(self, owner: Owner, file: StoredFile) -> str:
        """A URL for downloading the file."""
        return self.parts.lake.link(owner, file.id, file.newest, LINK_SECONDS)

    def close(self) -> None:
        """End what reads files: the server stops."""
        if reader := self.parts.reader.made:
            reader.close()

    def remove(self, owner: Owner, ids: Sequence[str]) -> list[StoredFile]:
        """Remove files, with all their versions."""
        files = self.status(owner, ids)
        for one in files:
            self.parts.ingest.forget(owner, one)
        return files
