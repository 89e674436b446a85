"""The documents' tools as clients call them, on words alone: what a library without any model promises."""

from pathlib import Path

import pytest

from loci.app import App
from loci.core.identity import LOCAL, Owner
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, structured, texts, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]

NOTES = {
    "briefs/2026-01-10-login.md": "---\ntitle: Login\ntags: [auth, web]\n---\n# Login\n\nSign in with OAuth.\n",
    "debriefs/2026-02-03-login.md": """\
# Safari and cookies

#auth

Safari drops the cookie on redirect.

## Lesson

Set SameSite to Lax in session_cookie.
""",
    "decisions/database.md": "# Database\n\n<!-- tags: storage -->\n\nWe chose SQLite, as nobody runs a server.\n",
    "README.md": "Plain words about nothing.\n",
}
ROW = {"id", "score", "match", "preview", "source", "snippet", "path", "lines", "date", "date_from"}
EXPLAINED = {"context", "heading", "passages", "validity", "claim", "explain"}


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    """A folder that was taken in."""
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


@pytest.mark.usefixtures("notes")
async def test_a_search_gives_rows_and_metadata_of_the_reference(connect: Connect) -> None:
    found = await call(connect, "search_documents", query="why does Safari lose the cookie?")
    [best, *_] = found["results"]
    assert best.keys() == ROW | {"passages"}
    assert (best["id"], best["preview"]) == ("notes-debriefs-2026-02-03-login", "Safari and cookies")
    assert (best["path"], best["lines"], best["source"]) == ("notes/debriefs/2026-02-03-login.md", "3-5", "bm25")
    assert found["metadata"] == {"query": "why does Safari lose the cookie?", "sonar_enabled": False, "match": "strong"}


@pytest.mark.usefixtures("notes")
async def test_an_explained_search_has_every_field_of_the_reference(connect: Connect) -> None:
    found = await call(connect, "search_documents", query="why does Safari lose the cookie?", explain=True)
    [best, *_] = found["results"]
    assert best.keys() == ROW | EXPLAINED
    assert (best["context"], best["heading"]) == (None, None)
    assert {"query", "sonar_enabled", "intent", "analysis", "stages"} <= found["metadata"].keys()
    assert (found["metadata"]["intent"], found["metadata"]["analysis"]) == (None, None)


@pytest.mark.usefixtures("notes")
async def test_a_search_says_what_ran_and_why_the_rest_did_not(connect: Connect) -> None:
    stages = (await call(connect, "search_documents", query="cookie", explain=True))["metadata"]["stages"]
    assert {one["stage"]: one["ran"] for one in stages} == {
        "vector": False,
        "words": True,
        "late": False,
        "rerank": False,
        "language_model": False,
    }
    assert all(one["note"] for one in stages)
    assert "LOCI_LANGUAGE_MODEL" in stages[-1]["note"]
    assert not any(one["failed"] for one in stages)


@pytest.mark.usefixtures("notes")
async def test_a_score_tells_nothing_of_what_others_write(connect: Connect, app: App) -> None:
    before = await call(connect, "search_documents", query="login Safari cookie", explain=True)
    assert before["results"][0]["explain"]["bm25"] > 0
    for number in range(30):
        app.documents.parts.library.add(Owner("acme", "bob"), f"{number}.md", b"# Login\n\nSafari cookie\n")
    after = await call(connect, "search_documents", query="login Safari cookie", explain=True)
    assert after["results"] == before["results"]


@pytest.mark.usefixtures("notes")
async def test_a_limit_is_kept(connect: Connect) -> None:
    assert len((await call(connect, "search_documents", query="login Safari SQLite words", limit=2))["results"]) == 2


@pytest.mark.usefixtures("notes")
async def test_an_explanation_is_given_on_request(connect: Connect) -> None:
    [best, *_] = (await call(connect, "search_documents", query="cookie", explain=True))["results"]
    assert (best["explain"]["words"], best["explain"]["vector"]) == (1, None)


@pytest.mark.usefixtures("notes")
@each("query", ["-cookie", '"cookie" OR (NEAR', "cookie* AND", "cookie " * 5000, "\x00cookie"])
async def test_what_looks_like_syntax_is_words(connect: Connect, query: str) -> None:
    [best, *_] = (await call(connect, "search_documents", query=query))["results"]
    assert best["id"] == "notes-debriefs-2026-02-03-login"


@pytest.mark.usefixtures("notes")
async def test_nothing_relevant_is_an_answer_with_a_reason(connect: Connect) -> None:
    found = await call(connect, "search_documents", query="chromodynamics")
    assert found["results"] == []
    assert "has any of the question's words" in found["metadata"]["reason"]


@pytest.mark.usefixtures("notes")
async def test_an_identifier_is_found_by_its_parts(connect: Connect) -> None:
    [best, *_] = (await call(connect, "search_documents", query="sessionCookie"))["results"]
    assert best["heading"] == "Safari and cookies > Lesson"


@pytest.mark.usefixtures("notes")
async def test_an_answer_at_the_default_limit_has_8_kib_at_most(app: App, connect: Connect, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(40):
        (many / f"{number}.md").write_text(f"# Note {number}\n\n" + f"The ferry number {number} sails. " * 60)
    take_in(app, many)
    async with connect("documents") as client:
        answer = await client.call_tool("search_documents", {"query": "which ferry sails"})
    assert len(texts(answer)[0].encode()) <= 8 * 1024
    whole = await call(connect, "scratchpad_read", id=structured(answer)["scratchpad_id"])
    assert "The ferry number" in whole["result"]


@pytest.mark.usefixtures("notes")
async def test_a_time_is_a_condition(connect: Connect) -> None:
    found = await call(connect, "temporal_search", query="login cookie", date_range="2026-02-01..2026-02-28")
    assert [one["id"] for one in found["results"]] == ["notes-debriefs-2026-02-03-login"]


@pytest.mark.usefixtures("notes")
async def test_a_time_that_cannot_be_read_says_how_to_write_one(connect: Connect) -> None:
    assert "BAD_DATE_RANGE" in await failed(connect, "temporal_search", query="x", date_range="whenever")


@pytest.mark.usefixtures("notes")
@each(
    ("arguments", "found"),
    [
        ({"tags": ["auth"]}, {"notes-briefs-2026-01-10-login", "notes-debriefs-2026-02-03-login"}),
        ({"tags": ["#Auth", "web"], "match": "all"}, {"notes-briefs-2026-01-10-login"}),
        ({"tags": ["auth"], "without": ["web"]}, {"notes-debriefs-2026-02-03-login"}),
        ({"tags": ["auth", "storage"], "query": "SQLite"}, {"notes-decisions-database"}),
        ({"tags": ["none"]}, set[str]()),
    ],
)
async def test_tags_choose_documents(connect: Connect, arguments: dict[str, object], found: set[str]) -> None:
    rows = (await call(connect, "query_by_tags", **arguments))["results"]
    assert {one["id"] for one in rows} == found


async def test_a_document_is_read_as_it_stands_in_its_file(app: App, connect: Connect, notes: Path) -> None:
    (notes / "README.md").write_text("Changed since.\n")
    if app.settings.mode == "aws":  # where the file is on another machine
        take_in(app, notes)
    read = await call(connect, "read_node_content", id="notes-readme")
    assert read["result"] == "Changed since.\n"


@pytest.mark.usefixtures("notes")
async def test_a_part_is_read_by_its_heading_and_by_its_lines(connect: Connect) -> None:
    id = "notes-debriefs-2026-02-03-login"
    by_heading = await call(connect, "read_node_content", id=id, heading="Lesson")
    by_lines = await call(connect, "read_node_content", id=id, start_line=7, end_line=7)
    assert by_heading["result"].startswith("## Lesson\n\nSet SameSite")
    assert (by_lines["result"], by_lines["lines"]) == ("## Lesson", "7-7")


@pytest.mark.usefixtures("notes")
async def test_an_unknown_document_is_an_error_that_names_the_nearest(connect: Connect) -> None:
    said = await failed(connect, "read_node_content", id="notes-decisions-databse")
    assert "Node not found." in said
    assert "notes-decisions-database" in said


async def test_a_name_that_several_documents_have_is_ambiguous_and_titles_tell_them_apart(
    app: App, connect: Connect, notes: Path
) -> None:
    for path, text in (("README.md", "Start."), ("setup/README.md", "# README"), ("setup/index.md", "# Set-up")):
        (notes / path).parent.mkdir(exist_ok=True)
        (notes / path).write_text(text)
    take_in(app, notes)
    said = await failed(connect, "read_node_content", id="readme.md")
    assert said.startswith("AMBIGUOUS: 2 documents have the name 'readme.md'")
    assert "notes-readme, notes-setup-readme" in said
    found = (await call(connect, "search_documents", query="readme"))["results"]
    assert sorted(row["preview"] for row in found) == ["README (notes)", "README (setup)"]
    [same, *_] = (await call(connect, "search_documents", query="set-up"))["results"]
    assert same["preview"] == "Set-up"


@pytest.mark.usefixtures("notes")
async def test_the_folders_are_those_that_documents_are_in(connect: Connect) -> None:
    assert (await call(connect, "list_directory_structure"))["result"] == [
        "notes/",
        "notes/briefs/",
        "notes/debriefs/",
        "notes/decisions/",
    ]


@pytest.mark.usefixtures("notes")
async def test_a_document_that_was_forgotten_is_found_no_more(app: App, connect: Connect) -> None:
    app.documents.parts.library.remove(LOCAL, app.documents.parts.library.matching(LOCAL, "notes/debriefs"))
    assert (await call(connect, "search_documents", query="Safari"))["results"] == []
