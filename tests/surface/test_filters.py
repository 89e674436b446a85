"""Searches below a folder, and of documents with certain properties in their front matter."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.support.small_models import lay_out_embedder
from tests.support.vault.write import vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
NOTES = {
    "work/plans/harbour.md": "---\nstatus: In  Progress\ntags: [sea]\nowner: [Ann, Bob]\n---\nA harbour for boats.\n",
    "work/plans/pier.md": "---\nStatus: done\nowner: Ann\n---\nA pier for boats.\n",
    "work/boats.md": "+++\nstatus = 'done'\nyear = 2024\n+++\nAll boats.\n",
    "workshop/boats.md": "Boats of wood.\n",
    "home/boats.md": "---\nstatus: done\n---\nToy boats.\n",
}


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "vault", NOTES)
    take_in(app, folder)
    return folder


async def found(connect: Connect, **arguments: object) -> list[str]:
    rows = (await call(connect, "search_documents", **{"query": "boats"} | arguments))["results"]
    return sorted(row["path"].removeprefix("vault/") for row in rows)


@pytest.mark.usefixtures("notes")
async def test_only_what_is_below_the_folder_is_found(connect: Connect) -> None:
    of_work = ["work/boats.md", "work/plans/harbour.md", "work/plans/pier.md"]
    assert await found(connect, folder="vault/work") == of_work
    assert await found(connect, folder="/vault/work/") == of_work
    assert await found(connect, folder="vault/work/plans") == of_work[1:]
    assert await found(connect, folder="vault") == sorted(NOTES)
    said = await failed(connect, "search_documents", query="boats", folder="vault/wrok")
    assert said.startswith("FOLDER_NOT_FOUND: ")
    assert "vault/work/" in said


@pytest.mark.usefixtures("notes")
@each(
    ("properties", "paths"),
    [
        ({"status": "done"}, ["home/boats.md", "work/boats.md", "work/plans/pier.md"]),
        ({"STATUS": "in progress"}, ["work/plans/harbour.md"]),
        ({"status": "done", "owner": "ann"}, ["work/plans/pier.md"]),
        ({"owner": "Bob"}, ["work/plans/harbour.md"]),
        ({"year": "2024"}, ["work/boats.md"]),
    ],
)
async def test_only_documents_with_the_properties_are_found(
    connect: Connect, properties: dict[str, str], paths: list[str]
) -> None:
    assert await found(connect, properties=properties) == paths


@pytest.mark.usefixtures("notes")
@each(
    "properties",
    [["status=done", "owner: ann"], [["status", "done"], ["owner", "ann"]], '["status=done", "owner=ann"]'],
)
async def test_properties_come_as_texts_or_pairs_too(connect: Connect, properties: object) -> None:
    assert await found(connect, properties=properties) == ["work/plans/pier.md"]
    assert await found(connect, properties="year=2024") == ["work/boats.md"]
    said = await failed(connect, "search_documents", query="boats", properties=["status"])
    assert "Write each as status=done" in said


@pytest.mark.usefixtures("notes")
async def test_a_folder_a_property_and_a_time_are_asked_for_together(connect: Connect) -> None:
    assert await found(connect, folder="vault/work", properties={"status": "done"}) == [
        "work/boats.md",
        "work/plans/pier.md",
    ]
    said = await call(connect, "query_by_tags", tags=["sea"])
    assert [row["path"] for row in said["results"]] == ["vault/work/plans/harbour.md"]


@pytest.mark.usefixtures("notes")
@each(
    ("properties", "told"),
    [
        ({"status": "dnoe"}, "No document has status: dnoe in its front matter. Values of status: done"),
        ({"state": "done"}, "No document has the field state; near it: status"),
    ],
)
async def test_an_empty_answer_names_the_fields_or_values_that_there_are(
    connect: Connect, properties: dict[str, str], told: str
) -> None:
    answer = await call(connect, "search_documents", query="boats", properties=properties)
    assert answer["results"] == []
    assert told in answer["metadata"]["reason"]


@pytest.mark.usefixtures("notes")
async def test_what_moves_and_changes_is_found_where_and_as_it_is_now(app: App, connect: Connect) -> None:
    await call(connect, "move_document", path="vault/work/boats.md", to="vault/home/more boats.md")
    await call(
        connect, "write_document", path="vault/home/boats.md", mode="edit", old="status: done", new="status: sunk"
    )
    assert await found(connect, folder="vault/home", properties={"status": "done"}) == ["home/more boats.md"]
    assert await found(connect, properties={"status": "sunk"}) == ["home/boats.md"]
    lay_out_embedder(app.settings.models_folder)
    app.documents.upkeep.embed_missing(LOCAL)
    assert await found(connect, folder="vault/home", properties={"status": "sunk"}) == ["home/boats.md"]


async def test_a_language_of_the_vault_is_searched_by_its_folder(app: App, connect: Connect, tmp_path: Path) -> None:
    for note in vault_notes()[::9]:
        file = tmp_path / "vault" / note.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(note.content)
    take_in(app, tmp_path / "vault")
    rows = await call(connect, "search_documents", query="Canvas", folder="vault/de", limit=50)
    assert all(row["id"].startswith("vault-de-") for row in rows["results"])
    tagged = await call(connect, "search_documents", query="note", properties={"tags": "en"}, limit=50)
    assert tagged["results"]
    assert all(row["id"].startswith("vault-en-") for row in tagged["results"])


async def test_tags_and_dates_are_parameters_of_the_search(app: App, connect: Connect, tmp_path: Path) -> None:
    dated = {
        "old.md": "---\ndate: 2024-05-02\ntags: [sea, wood]\n---\nOld boats.\n",
        "new.md": "---\ndate: 2026-05-02\ntags: [sea]\n---\nNew boats.\n",
        "plan/next.md": "---\ndate: 2026-06-01\ntags: [sea, wood]\nstatus: done\n---\nThe next boats.\n",
    }
    take_in(app, written(tmp_path / "vault", dated))
    assert await found(connect, tags=["#sea"]) == sorted(dated)
    assert await found(connect, tags=["sea", "wood"]) == ["old.md", "plan/next.md"]
    assert await found(connect, tags=["sea", "-wood"]) == ["new.md"]
    assert await found(connect, dates="2026") == ["new.md", "plan/next.md"]
    assert await found(connect, dates="2026", tags=["wood"], folder="vault/plan", properties={"status": "done"}) == [
        "plan/next.md"
    ]
    assert await found(connect, dates="since June 2026", tags=["-wood"]) == []
    newest = await call(connect, "search_documents", query="newest boats", dates="any time")
    assert [row["date"] for row in newest["results"]] == ["2026-06-01", "2026-05-02", "2024-05-02"]
    assert (await failed(connect, "search_documents", query="boats", tags=["#"])).startswith("BAD_TAG: ")


FERRIES = {
    "a/one.md": "---\ndate: 2024-05-02\ntags: [trip, sea]\nstatus: done\n---\nThe ferry to the island sails at noon.\n",
    "a/two.md": "---\ndate: 2026-05-02\ntags: [trip, sea]\n---\nThe ferry to the island sails at night.\n",
    "a/b/three.md": "---\ndate: 2026-06-02\ntags: [trip]\nstatus: done\n---\nThe ferry to the island sails at dawn.\n",
    "c/four.md": "---\ndate: 2026-07-02\ntags: [trip, sea]\nstatus: Done\n---\nThe ferry to the island sails late.\n",
    "c/five.md": "---\ndate: 2024-07-02\ntags: [trip]\nstatus: open\n---\nThe ferry to the island sails early.\n",
}
PARTS: list[tuple[dict[str, Any], set[str]]] = [
    ({"folder": "vault/a"}, {"a/one.md", "a/two.md", "a/b/three.md"}),
    ({"tags": ["sea", "-trip/long"]}, {"a/one.md", "a/two.md", "c/four.md"}),
    ({"dates": "2026"}, {"a/two.md", "a/b/three.md", "c/four.md"}),
    ({"properties": {"status": "done"}}, {"a/one.md", "a/b/three.md", "c/four.md"}),
    ({"folder": "vault", "tags": ["sea"], "dates": "2026", "properties": {"status": "done"}}, {"c/four.md"}),
]


async def test_all_tools_that_look_over_notes_look_over_a_part_of_them(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    take_in(app, written(tmp_path / "vault", FERRIES))
    ids = {f"vault-{path[:-3].replace('/', '-')}": path for path in FERRIES}

    async def shown(tool: str, key: str, name: str, **arguments: object) -> set[str]:
        answer = await call(connect, tool, **arguments)
        return {ids[row[name]] for row in answer[key]}

    for part, paths in PARTS:
        asked: dict[str, object] = {**part}
        assert await shown("search_documents", "results", "id", query="ferry", **asked) == paths
        with_range = {"date_range": "any time", **asked}
        with_range["date_range"] = with_range.pop("dates", "any time")
        assert await shown("temporal_search", "results", "id", query="ferry", **with_range) == paths
        assert await shown("suggest_reading", "documents", "id", context="a trip by ferry", **asked) == paths
        assert await shown("find_gaps", "result", "source_id", kind="orphan", **asked) == paths
        gaps = (await call(connect, "find_gaps", threshold=0.01, **asked))["result"]
        ends = {ids[one[end]] for one in gaps for end in ("source_id", "target_id")}
        assert ends <= paths
        assert (len(ends) > 1) == (len(paths) > 1)
        grouped = await call(connect, "cluster_documents", documents=9, **asked)
        members = [*grouped["in_no_cluster"], *(one for group in grouped["clusters"] for one in group["documents"])]
        assert {ids[one["id"]] for one in members} == paths
        tags = [one for one in part.get("tags", ["trip"]) if not one.startswith("-")]
        found = await call(connect, "query_by_tags", **asked | {"tags": tags, "limit": 1})
        assert found["metadata"]["total"] == len(paths)
        in_folder = {"prefix": asked.pop("folder", None), **asked, "documents": True}
        listed = (await call(connect, "list_directory_structure", **in_folder))["result"]
        assert {one.removeprefix("vault/") for one in listed if one.endswith(".md")} == paths


async def test_the_number_of_notes_with_a_tag_is_told_and_a_search_without_a_query_says_where(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    take_in(app, written(tmp_path / "vault", FERRIES))
    found = await call(connect, "query_by_tags", tags=["sea", "nothing"], limit=2)
    assert (len(found["results"]), found["metadata"]["total"]) == (2, 3)
    async with connect() as client:
        told = (await client.call_tool("query_by_tags", {"tags": ["sea"], "limit": 1})).content[0]
    assert "All notes with these tags: 3." in str(told)
    assert "query_by_tags" in await failed(connect, "search_documents", tags=["sea"])
    none = await call(connect, "query_by_tags", tags=["see"])
    assert none["metadata"]["reason"] == "No document has the tag see; near it: sea"
    refused = await failed(connect, "find_gaps", folder="vault/d")
    assert refused.startswith("FOLDER_NOT_FOUND: ")
