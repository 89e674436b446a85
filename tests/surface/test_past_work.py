"""What agents ask a library of past work for, in the words and the order that the reference's guide gives them."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, written

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("app", ["embedded"], indirect=True),
]

AUTH, MIGRATIONS = 25, 8
FILLER = "Each page of the report on tides says much, and hides what one looks for at its very end. " * 40
NOTES = {
    "briefs/2026-01-10-oauth.md": "# OAuth login\n\nUsers shall sign in with OAuth, as other products have it.\n",
    "debriefs/2026-02-03-oauth.md": "# What OAuth taught us\n\nLesson: Safari drops the cookie on a redirect.\n\n"
    "## Solution\n\nSafari keeps the cookie with SameSite=Lax. It became [[playbook-oauth-patterns]].\n",
    "debrief-oauth-safari.md": "# Debrief: OAuth in Safari\n\nLessons learned where we had to implement OAuth.\n",
    "playbook-oauth-patterns.md": "# Playbook: OAuth patterns\n\nHow we implement OAuth, with lessons learned.\n",
    "decisions/storage-files.md": "# Storage in files\n\nRows are kept in files.\n",
    "decisions/storage-sqlite.md": "---\nfollows: storage-files\n---\n# Storage in SQLite\n\nFiles tore.\n",
    "decisions/storage-cloud.md": "---\nfollows: storage-sqlite\n---\n# Storage in the cloud\n\nOne node fell.\n",
    "reports/tides.md": f"# Tides\n\nAs in [[playbook-oauth-patterns]].\n\n{FILLER}\n",
    **{
        f"auth/{number:02}.md": f"# Case {number}\n\nAuthentication debugging: lessons of case {number}.\n"
        for number in range(AUTH)
    },
    **{
        f"migrations/{number}.md": f"# Step {number}\n\nDatabase migrations go forward: step {number}.\n"
        for number in range(MIGRATIONS)
    },
}
BRIEF, DEBRIEF = "notes-briefs-2026-01-10-oauth", "notes-debriefs-2026-02-03-oauth"
SAFARI, PLAYBOOK = "notes-debrief-oauth-safari", "notes-playbook-oauth-patterns"
STORAGE = [f"notes-decisions-storage-{where}" for where in ("cloud", "sqlite", "files")]


@pytest.fixture(autouse=True)
def notes(app: App, tmp_path: Path) -> None:
    app.documents.parts.ingest.run(LOCAL, [str(written(tmp_path / "notes", NOTES))])


async def found(connect: Connect, query: str, tool: str = "search_documents", **arguments: object) -> list[str]:
    return [row["id"] for row in (await call(connect, tool, query=query, **arguments))["results"]]


async def links(connect: Connect, id: str, **arguments: object) -> list[dict[str, Any]]:
    return (await call(connect, "explore_links", id=id, **arguments))["result"]


# One question


async def test_twenty_documents_of_a_subject_come_without_a_limit(connect: Connect) -> None:
    ids = await found(connect, "authentication debugging lessons")
    assert len(ids) == 20
    assert all(id.startswith("notes-auth-") for id in ids)


async def test_five_come_where_five_were_asked_for(connect: Connect) -> None:
    ids = await found(connect, "database migrations", limit=5)
    assert len(ids) == 5
    assert all(id.startswith("notes-migrations-") for id in ids)


@each(
    ("asked", "meant"),
    [
        ("What lessons did OAuth teach us about Safari?", DEBRIEF),
        ("How was it solved that Safari does not keep the cookie?", DEBRIEF),
        ("Have we done OAuth before?", BRIEF),
    ],
)
async def test_a_question_about_past_work_is_answered_by_one_search(connect: Connect, asked: str, meant: str) -> None:
    assert meant in (await found(connect, asked))[:3]


async def test_everything_on_a_subject_is_found_within_the_limit(connect: Connect) -> None:
    assert set(await found(connect, "storage", limit=10)) == set(STORAGE)


async def test_the_latest_work_on_a_subject_is_found(connect: Connect) -> None:
    assert DEBRIEF in await found(connect, "latest work on OAuth")
    assert await found(connect, "OAuth", "temporal_search", date_range="2026-02") == [DEBRIEF]


async def test_the_search_before_a_task_names_what_was_learned_from_such_tasks(connect: Connect) -> None:
    ids = await found(connect, "implement OAuth lessons learned", limit=5)
    assert {SAFARI, PLAYBOOK} <= set(ids)


# One after the other


async def test_links_lead_from_a_brief_to_its_debrief_and_on_to_the_playbook(connect: Connect) -> None:
    [follows] = await links(connect, BRIEF, relation="follows", direction="incoming")
    [on] = await links(connect, follows["target"], relation="references")
    assert (follows["target"], on["target"]) == (DEBRIEF, PLAYBOOK)


async def test_the_history_of_an_idea_is_walked_along_what_follows_what(connect: Connect) -> None:
    way = [STORAGE[0]]
    while edges := await links(connect, way[-1], relation="follows"):
        way.append(edges[0]["target"])
    assert way == STORAGE


async def test_a_search_a_read_the_links_and_a_read_work_with_the_ids_as_given(connect: Connect) -> None:
    [first, *_] = await found(connect, "Safari drops the cookie")
    assert "Safari drops the cookie" in (await call(connect, "read_node_content", id=first))["result"]
    [edge] = await links(connect, first, relation="references")
    assert "How we implement OAuth" in (await call(connect, "read_node_content", id=edge["target"]))["result"]


async def test_both_ends_of_a_gap_are_read_with_the_ids_as_given_and_nothing_was_written(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    before = list(app.documents.parts.catalog.with_versions(LOCAL))
    gaps = (await call(connect, "find_gaps", limit=10, threshold=0.5))["result"]
    assert 1 <= len(gaps) <= 10
    for end in ("source_id", "target_id"):
        assert (await call(connect, "read_node_content", id=gaps[0][end]))["result"]
    assert list(app.documents.parts.catalog.with_versions(LOCAL)) == before
    assert {path: (tmp_path / "notes" / path).read_text() for path in NOTES} == NOTES
    assert (await call(connect, "find_gaps", limit=10, threshold=0.5))["result"] == gaps


async def test_a_search_the_scratchpad_and_the_links_work_with_the_ids_as_given(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    more = {f"reports/{number}.md": f"# Report {number}\n\n{FILLER[:700]}\n" for number in range(12)}
    app.documents.parts.ingest.run(LOCAL, [str(written(tmp_path / "notes", more))])
    [first, *_] = (await call(connect, "search_documents", query="report on tides", limit=50))["results"]
    [entry] = (await call(connect, "scratchpad_list"))["entries"]
    assert first["id"] in (await call(connect, "scratchpad_read", id=entry["id"]))["result"]
    assert await links(connect, first["id"], direction="both")


async def test_a_program_tags_what_it_takes_in_without_a_person(connect: Connect) -> None:
    made = await call(connect, "write_document", path="notes/imported.md", content="# Imported\n\nFrom elsewhere.")
    await call(connect, "inject_tags", file_path=made["id"], tags=["imported"])
    assert [row["id"] for row in (await call(connect, "query_by_tags", tags=["imported"]))["results"]] == [made["id"]]
