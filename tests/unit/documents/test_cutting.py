"""A large folder is cut by several processes: the library is the same, and without them it is ingested all the same."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loci.core import worker_process
from loci.core.identity import LOCAL
from loci.documents.document import Document
from loci.documents.ingest import cutting
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.ingest.outcome import IngestSummary
from loci.markdown.nouns import WrittenLinks
from loci.search.ranking import Chunk
from tests.unit.documents.conftest import Desk, open_desk

NOTES = 90


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes help after the first 5 documents."""
    monkeypatch.setattr(cutting, "FEW", 5)
    monkeypatch.setattr(cutting, "cores", lambda: 2)


def fill(desk: Desk) -> None:
    for number in range(NOTES):
        text = f"---\ntags: [t{number % 7}]\n---\n# Note {number}\n\nSee [[note-{number // 2}]].\n\n## P\n\nW{number}\n"
        desk.write(f"part-{number % 3}/note-{number}.md", text)
    desk.write("part-1/broken.md", b"# Broken \xff\n\ntext\x00\n")
    desk.write("part-1/large.md", "# Large\n\n" + "word " * 20_000)
    desk.write("part-2/plain.txt", "plain text\n")


Whole = tuple[list[Document], dict[str, WrittenLinks], list[Chunk]]


def whole(desk: Desk) -> Whole:
    """All that a library holds, except when it was written."""
    documents = [replace(one, ingested_at="", root=None) for one in desk.catalog.documents(LOCAL)]
    chunks = sorted(desk.index.passages(LOCAL, COLLECTION), key=lambda one: one.id)
    return documents, desk.catalog.mentions(LOCAL), chunks


def ingested(at: Path, folder: Path) -> tuple[IngestSummary, list[str], Whole]:
    """What another library says and holds after it ingested the folder; and its progress."""
    at.mkdir()
    desk, told = open_desk(at), list[str]()

    def progress(done: int, total: int, path: str, note: str = "", /) -> None:
        told.append(f"{done} of {total}: {path}{note}")

    return desk.ingest.run(LOCAL, [str(folder)], progress), told, whole(desk)


def of_one_process(at: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[IngestSummary, list[str], Whole]:
    with monkeypatch.context() as patched:
        patched.setattr(cutting, "FEW", sys.maxsize)
        return ingested(at, folder)


def test_the_library_is_the_same_as_that_of_one_process(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(desk)
    alone = of_one_process(tmp_path / "alone", desk.notes, monkeypatch)
    assert alone[0].processed == NOTES + 3
    assert ingested(tmp_path / "together", desk.notes) == alone


def test_where_no_process_starts_everything_is_ingested(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(desk)
    alone = of_one_process(tmp_path / "alone", desk.notes, monkeypatch)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert ingested(tmp_path / "together", desk.notes) == alone


def test_where_processes_end_on_the_way_everything_is_ingested(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(desk)
    alone = of_one_process(tmp_path / "alone", desk.notes, monkeypatch)
    monkeypatch.setattr(worker_process, "PROGRAM", "loci.core.version")  # ends at once
    assert ingested(tmp_path / "together", desk.notes) == alone


def test_an_interrupted_ingest_leaves_no_process(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(desk)
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen[bytes]

    def remembered(*arguments: Any, **named: Any) -> "subprocess.Popen[bytes]":
        process = start(*arguments, **named)
        if worker_process.PROGRAM in arguments[0]:
            started.append(process)
        return process

    def interrupted(*_: object) -> None:
        if started:
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", remembered)
    with pytest.raises(KeyboardInterrupt):
        desk.ingest.run(LOCAL, [str(desk.notes)], interrupted)
    assert started
    assert all(one.returncode is not None for one in started)
    desk.run()
    assert len(whole(desk)[0]) == NOTES + 3
