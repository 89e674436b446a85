"""The short form of `make stress`: many writers, a mixed crowd and kills, for a few seconds each."""

from pathlib import Path

import pytest

from tests.stress.clients import crowd, mixed, new_note, write_notes
from tests.stress.kills import kill_while_writing
from tests.support.serving import loci, serving


@pytest.fixture
def base(tmp_path: Path) -> Path:
    write_notes(tmp_path / "notes", 100)
    loci(tmp_path / "data", "ingest", str(tmp_path / "notes"))
    return tmp_path


def test_48_writers_take_turns(base: Path) -> None:
    """Nobody's next write comes before the others': in the end each has as many as the others, or two more."""
    with serving(base / "data") as server:
        seen = crowd(int(server.url.rpartition(":")[2]), 48, 4, new_note)
    assert seen.errors == []
    assert len(seen.by_client) == 48
    assert max(seen.by_client.values()) <= min(seen.by_client.values()) + 2


def test_a_mixed_crowd_is_answered_without_an_error(base: Path) -> None:
    with serving(base / "data") as server:
        seen = crowd(int(server.url.rpartition(":")[2]), 64, 3, mixed)
    assert seen.errors == []
    assert set(seen.by_tool) == {"write_document", "read_node_content", "scratchpad_list", "search_documents"}


def test_no_acknowledged_write_is_lost_to_a_kill(base: Path) -> None:
    written, lost = kill_while_writing(base, 2, 1.5)
    assert written
    assert lost == []
