"""A library on the real embedded adapters, in its own folder."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.adapters.local.blobs import FolderBlobs
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core.identity import LOCAL
from loci.core.signing import Keyring
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.folder_ingest import FolderIngest
from loci.documents.ingest.index_writer import COLLECTION, IndexWriter
from loci.documents.ingest.outcome import IngestSummary
from loci.documents.library import Library
from loci.documents.upkeep import Upkeep
from loci.model_store.models import ModelsFolder
from loci.search.ranking import Chunk, Where
from loci.search.words import query_words
from tests.support.recorded_records import RecordedRecords
from tests.support.small_models import lay_out_embedder

START = 1_768_608_000.0  # 2026-01-17


@dataclass(frozen=True, slots=True)
class Desk:
    """The library of one process, and a folder of notes to ingest."""

    data: Path
    models: Path
    notes: Path
    records: RecordedRecords
    blobs: FolderBlobs
    index: SqliteIndex
    embedder: OnnxEmbedder
    catalog: Catalog
    writer: IndexWriter
    library: Library
    ingest: FolderIngest
    upkeep: Upkeep

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a note, and make its folders."""
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def run(self, *paths: Path) -> IngestSummary:
        """Ingest these paths, or all notes."""
        return self.ingest.run(LOCAL, [str(path) for path in paths or [self.notes]])

    def found(self, query: str) -> set[str]:
        """The documents with a word of the query."""
        words = query_words(query)
        return {one.document for one in self.index.candidates(LOCAL, COLLECTION, words, None, limit=50, where=Where())}

    def lose_index(self) -> None:
        """Lose all that the index knows, as with another index in its place."""
        for id in self.index.documents(LOCAL, COLLECTION):
            self.index.remove(LOCAL, COLLECTION, id)

    def chunks(self, id: str) -> list[Chunk]:
        """The chunks of the document in the index."""
        document = self.library.get(LOCAL, id)
        held = self.index.chunks(LOCAL, COLLECTION, [f"{id}#{at}" for at in range(document.chunks)])
        return list(held.values())

    def document(self, id: str) -> Document:
        return self.library.get(LOCAL, id)

    def ids(self) -> set[str]:
        return {document.id for document in self.library.documents(LOCAL)}


def open_desk(folder: Path) -> Desk:
    """The library in that folder, opened as another process does."""
    data, models, notes = folder / "data", folder / "models", folder / "notes"
    for one in (data, models, notes):
        one.mkdir(exist_ok=True)
    database = Database(data / "loci.db")
    records = RecordedRecords(SqliteRecords(database, lambda: START))
    catalog = Catalog(records)
    index = SqliteIndex(database)
    embedder = OnnxEmbedder(CurrentModel(ModelsFolder(models), "embedder"))
    writer = IndexWriter(catalog, index, embedder, lambda: START)
    blobs = FolderBlobs(data / "blobs", Keyring(["s" * 32]).seal("link"), "http://127.0.0.1", lambda: START)
    library = Library(catalog, writer, blobs, FolderWriteLocks(data / "turns"))
    return Desk(
        data,
        models,
        notes,
        records,
        blobs,
        index,
        embedder,
        catalog,
        writer,
        library,
        FolderIngest(catalog, writer),
        Upkeep(catalog, writer, index, embedder, library, lambda _: 0),
    )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A library without a model."""
    return open_desk(tmp_path)


@pytest.fixture
def modelled(tmp_path: Path) -> Desk:
    """A library with a small model."""
    (tmp_path / "models").mkdir()
    lay_out_embedder(tmp_path / "models")
    return open_desk(tmp_path)
