"""The short form of `make stress`: many writers, a mixed crowd and kills, for a few seconds each."""

from pathlib import Path

import pytest

from tests.stress.clients import at, crowd, mixed, new_note, write_notes
from tests.stress.kills import kill_while_writing
from tests.support.serving import loci, serving


@pytest.fixture
def base(tmp_path: Path) -> Path:
    write_notes(tmp_path / "notes", 100)
    loci(tmp_path / "data", "ingest", str(tmp_path / "notes"))
    return tmp_path


def test_48_writers_take_turns(base: Path) -> None:
    """The slowest of those that came at once waits for all others, and not for much more."""
    with serving(base / "data") as server:
        seen = crowd(int(server.url.rpartition(":")[2]), 48, 4, new_note)
    assert seen.errors == []
    assert at(seen.seconds, 0.99) <= 3 * at(seen.seconds, 0.5)


def test_a_mixed_crowd_is_answered_without_an_error(base: Path) -> None:
    """And none of its kinds of calls waits for many times as long as the others."""
    with serving(base / "data") as server:
        seen = crowd(int(server.url.rpartition(":")[2]), 64, 3, mixed)
    assert seen.errors == []
    assert set(seen.by_tool) == {"write_document", "read_node_content", "scratchpad_list", "search_documents"}
    assert at(seen.seconds, 0.99) <= 10 * at(seen.seconds, 0.5)


def test_no_acknowledged_write_is_lost_to_a_kill(base: Path) -> None:
    written, lost = kill_while_writing(base, 2, 1.5)
    assert written
    assert lost == []
