"""A document that takes too long to parse: it is read as plain text, wherever the tries are counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.adapters.local.index import SqliteIndex
from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.embedder import OnnxEmbedder
from loci.adapters.local.sqlite import Database
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core import worker_process
from loci.core.lazy import Lazy
from loci.core.stores import every
from loci.documents.catalog import Catalog
from loci.documents.content import limited_parser
from loci.documents.document import UNLIMITED_BYTES, UNPARSED, UNPARSED_YET, Document
from loci.documents.graph.graph import Graphs
from loci.documents.graph.own_links import OwnLinks
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.ingest.local_files import blob_key
from loci.documents.library import Library
from loci.documents.writing.deletions import Deletions
from loci.documents.writing.edits import Edits
from loci.documents.writing.write_journal import UNFINISHED, WriteJournal
from loci.model_store.models_folder import ModelsFolder
from tests.contract.stores import ADAPTERS, ANN, Clock, Opener, Stores, on_moto_too

PATH = "notes/a.md"
HEAD = "# Never\n\n<!-- tags: seen -->\n\n[[link]] strawberry never\n\n"
LARGE = (HEAD + "word " * (UNLIMITED_BYTES // 5)).encode()


@dataclass(frozen=True, slots=True)
class Desk:
    """Documents on one runtime's stores, with a parser that a document can stop."""

    stores: Stores
    catalog: Catalog
    library: Library
    edits: Edits

    def write(self, content: bytes) -> Document:
        written = self.edits.change(ANN, PATH, lambda _, __: content, expect=None, by="write_document")
        assert written.document
        return written.document

    def left_by_a_crash(self, content: bytes, tries: int) -> None:
        """Leave what a server leaves that was killed so many times while it parsed."""
        self.stores.blobs.write(ANN, blob_key("notes-a"), content)
        journal = WriteJournal(self.stores.records)
        journal.count_try(ANN, journal.begin(ANN, PATH, None), tries)

    def document(self) -> Document:
        return self.library.get(ANN, "notes-a")

    def is_plain(self) -> bool:
        document = self.document()
        assert (document.tags == ()) == document.is_unparsed
        return UNPARSED in document.problems


@pytest.fixture(scope="module")
def adapter(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """The store of this machine, and moto where tries are counted."""
    with ADAPTERS[getattr(request, "param", "embedded")]() as opener:
        yield opener


@pytest.fixture
def parse_seconds() -> float:
    return 0.5


with_time_to_parse = pytest.mark.parametrize("parse_seconds", [600.0], ids=["with time"])
"""For what is parsed in the end, however slow this machine is."""


@pytest.fixture
def desk(stores: Stores, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parse_seconds: float) -> Desk:
    monkeypatch.setattr(limited_parser, "PROGRAM", "tests.support.stuck_parser")
    catalog = Catalog(stores.records)
    embedder = OnnxEmbedder(CurrentModel(ModelsFolder(tmp_path / "models"), "embedder"))
    index = SqliteIndex(Database(tmp_path / "index.db"))
    writer = IndexWriter(catalog, index, embedder, clock, parse_seconds=parse_seconds)
    locks = FolderWriteLocks(tmp_path / "turns")
    edits = Edits(
        catalog,
        writer,
        stores.records,
        stores.blobs,
        locks,
        clock,
        (),
        OwnLinks(catalog, index),
        Graphs(catalog, index),
    )
    return Desk(stores, catalog, Library(catalog, writer, stores.blobs, locks, Deletions(stores.records)), edits)


def test_a_large_document_that_stops_its_parser_is_plain_text_and_can_be_forgotten(desk: Desk) -> None:
    desk.write(LARGE)
    assert desk.is_plain()
    assert desk.library.read(ANN, "notes-a").text.encode() == LARGE
    assert not list(every(desk.stores.records, ANN, UNFINISHED))
    desk.library.remove(ANN, [desk.document()])  # it is forgotten like any other
    assert desk.library.documents(ANN) == []


def test_what_a_busy_machine_did_not_parse_is_parsed_when_there_is_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "PATIENCE", 1)
    desk.write(LARGE.replace(b"never", b"later"))
    assert desk.document().problems == (UNPARSED_YET,)
    assert not desk.library.is_current(desk.document())  # a start, an ingest and a rebuild read it again
    with monkeypatch.context() as rested:
        rested.setattr(limited_parser, "PROGRAM", "loci.core.worker_process")
        rested.setattr(desk.library._writer, "_parser", Lazy(lambda: limited_parser.LimitedParser(600.0)))  # pyright: ignore[reportPrivateUsage]
        document = desk.library.reindex(ANN, "notes-a")
    assert (document.title, document.tags, document.problems) == ("Never", ("seen",), ())
    assert desk.library.is_current(document)


@with_time_to_parse
def test_a_large_document_that_does_not_is_parsed(desk: Desk) -> None:
    document = desk.write(LARGE.replace(b"never", b"soon"))
    assert (document.title, document.tags, document.problems) == ("Never", ("seen",), ())


@on_moto_too
def test_a_start_after_a_crash_parses_where_it_can_be_ended(desk: Desk) -> None:
    desk.left_by_a_crash(HEAD.encode(), tries=1)
    assert desk.edits.repair(ANN) == 1
    assert desk.is_plain()


@on_moto_too
def test_a_start_after_two_crashes_does_not_parse_at_all(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_parser, "PROGRAM", "no.such.program")
    desk.left_by_a_crash(HEAD.encode(), tries=2)
    assert desk.edits.repair(ANN) == 1
    assert desk.is_plain()


@on_moto_too
@with_time_to_parse
def test_a_document_that_a_crash_left_and_that_is_fine_is_parsed(desk: Desk) -> None:
    desk.left_by_a_crash(HEAD.replace("never", "soon").encode(), tries=1)
    desk.edits.repair(ANN)
    assert not desk.is_plain()


def test_an_upload_that_stops_its_parser_is_plain_text(desk: Desk) -> None:
    desk.library.add(ANN, PATH, LARGE)
    assert desk.is_plain()
