"""What an agent does with documents, call by call: search, read, look around, search again."""

import json
from pathlib import Path

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["embedded"], indirect=True)]

CODE = "```python\ndef refresh(token: str) -> str:\n\treturn  token.strip( )   # two spaces stay\n```"
FILLER = "Nothing to see here, only words that fill the page and hide what stands at its end. " * 40
NOTES = {
    "debriefs/2026-02-03-jwt.md": f"# JWT token refresh in Safari\n\nSafari lost the token.\n\n{FILLER}\n\n{CODE}\n\n"
    "The retry budget is 17.\n",
    "playbooks/authentication.md": "# Authentication\n\nAuthentication begins at the door. Refresh nothing by hand.\n",
    "decisions/database.md": "# Database migrations\n\nEach migration is a file of its own.\n",
}


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    app.documents.parts.ingest.run(LOCAL, [str(folder)])
    return folder


async def test_what_a_search_finds_is_read_whole_by_its_id(connect: Connect, notes: Path) -> None:
    [best, *_] = (await call(connect, "search_documents", query="JWT token refresh in Safari"))["results"]
    read = await call(connect, "read_node_content", id=best["id"])
    assert read["result"] == (notes / "debriefs" / "2026-02-03-jwt.md").read_text()
    assert read["path"] == best["path"] == "notes/debriefs/2026-02-03-jwt.md"
    assert best["snippet"].strip("…") in read["result"]


@pytest.mark.usefixtures("notes")
async def test_code_is_read_back_byte_for_byte(connect: Connect) -> None:
    read = await call(connect, "read_node_content", id="notes-debriefs-2026-02-03-jwt")
    assert CODE in read["result"]


@pytest.mark.usefixtures("notes")
async def test_a_detail_is_found_and_its_lines_read(connect: Connect) -> None:
    [best, *_] = (await call(connect, "search_documents", query="what is the retry budget"))["results"]
    first, last = map(int, best["lines"].split("-"))
    part = await call(connect, "read_node_content", id=best["id"], start_line=first, end_line=last)
    assert "The retry budget is 17." in part["result"]


@pytest.mark.usefixtures("notes")
async def test_what_is_known_of_a_document_is_not_its_text(app: App) -> None:
    record = app.records.get(LOCAL, "document", "notes-decisions-database")
    assert record
    assert "Each migration" not in str(record.value)
    assert record.value["path"] == "notes/decisions/database.md"


@pytest.mark.usefixtures("notes")
async def test_a_specific_question_ranks_its_document_higher_than_a_broad_one(connect: Connect) -> None:
    async def place(query: str) -> int:
        rows = (await call(connect, "search_documents", query=query))["results"]
        ids = [row["id"] for row in rows]
        return ids.index("notes-debriefs-2026-02-03-jwt") if "notes-debriefs-2026-02-03-jwt" in ids else len(ids)

    assert await place("JWT token refresh in Safari") < await place("authentication")


async def test_a_new_note_is_found_after_the_next_ingestion(app: App, connect: Connect, notes: Path) -> None:
    assert (await call(connect, "search_documents", query="zeppelin"))["results"] == []
    (notes / "airships").mkdir()
    (notes / "airships" / "zeppelin.md").write_text("# Zeppelin\n\nIt floats.\n")
    app.documents.parts.ingest.run(LOCAL, [str(notes)])
    [best] = (await call(connect, "search_documents", query="zeppelin"))["results"]
    assert best["id"] == "notes-airships-zeppelin"
    assert "notes/airships/" in (await call(connect, "list_directory_structure"))["result"]


async def test_a_deleted_note_is_as_unknown_as_one_that_never_was(app: App, connect: Connect, notes: Path) -> None:
    (notes / "decisions" / "database.md").unlink()
    app.documents.parts.ingest.run(LOCAL, [str(notes)])
    deleted = await failed(connect, "read_node_content", id="notes-decisions-database")
    unknown = await failed(connect, "read_node_content", id="notes-decisions-other")
    for said in (deleted, unknown):
        assert said.startswith("NODE_NOT_FOUND: Node not found.")
        assert "search_documents" in said


async def test_an_expensive_answer_can_be_read_again(app: App, connect: Connect, notes: Path) -> None:
    written(notes, {f"pages/{number}.md": f"# Page {number}\n\n{FILLER[:600]}\n" for number in range(14)})
    app.documents.parts.ingest.run(LOCAL, [str(notes)])
    found = await call(connect, "search_documents", query="what hides at the end of the page", limit=50)
    listed = await call(connect, "scratchpad_list")
    [entry] = [one for one in listed["entries"] if one["tool"] == "search_documents"]
    assert entry["id"] == found["scratchpad_id"]
    kept = json.loads((await call(connect, "scratchpad_read", id=entry["id"]))["result"])
    assert [row["id"] for row in kept["results"]] == [row["id"] for row in found["results"]]
    cut, whole = (one["results"][-1]["snippet"] for one in (found, kept))
    assert cut.strip("…") in whole
    assert len(whole) > 5 * len(cut)


@pytest.mark.usefixtures("notes")
async def test_a_search_before_work_that_is_new_is_empty_and_no_error(connect: Connect) -> None:
    found = await call(connect, "search_documents", query="<volcanology> lessons", limit=5)
    assert found["results"] == []
    assert found["metadata"]["reason"]


async def test_a_search_needs_a_question(connect: Connect) -> None:
    assert "query" in await failed(connect, "search_documents")
