"""Searches below a folder, and of documents with certain properties in their front matter."""

from pathlib import Path

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
