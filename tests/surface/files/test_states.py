"""The states of a file, as the tools tell them."""

import threading
from dataclasses import replace

import pytest

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.files import cutting
from loci.files.checks import check_files
from loci.files.file import FileStage, StoredFile
from loci.files.search_query import COLLECTION
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.support.files import papers
from tests.support.polling import until
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.searches import call
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
SEEN = ("報告\u30002026.md", "11\u202f30.md", "क्\u200dष.md", "👨\u200d👩\u200d👧.md", "a\u00a0b.md")
HIDDEN = (*(f"a{one}b.md" for one in "\n\0\u202e\u2066\u2028\u200b"), "..", " ", f"{'é' * 150}.md")


async def test_a_version_that_cannot_be_read_leaves_the_one_before_it_found(connect: Connect, app: App) -> None:
    [first] = await call(connect, "add_memory", name="trip.md", text="Ann buys the tickets.")
    [second] = await call(connect, "add_memory", name="trip.md", text=" \n")
    assert (second["status"], second["version"], second["found_version"]) == ("error", 2, 1)
    assert "The file is empty" in second["reason"]
    [told] = await call(connect, "ingestion_status", memory_ids=[first["id"]])
    assert told == second
    found = await call(connect, "search_memory", parsed_query="tickets")
    assert [one["id"] for one in found["results"]] == [first["id"]]
    assert app.files.read(LOCAL, first["id"]).content == b"Ann buys the tickets."
    [back] = await call(connect, "add_memory", name="trip.md", text="Ann buys the tickets.")
    assert (back["status"], back["version"]) == ("okay", 1)


async def test_the_same_content_again_changes_nothing(connect: Connect) -> None:
    [first] = await call(connect, "add_memory", name="trip.md", text="Ann buys the tickets.")
    assert await call(connect, "add_memory", name="trip.md", text="Ann buys the tickets.") == [first]


@on_vectors_too
async def test_what_an_older_reader_read_is_read_again_and_stays_the_same_version(connect: Connect, app: App) -> None:
    [file] = await call(connect, "add_memory", name="costs.md", text="# Costs\n\nBerlin takes 40.")
    await call(connect, "add_memory", name="empty.md", text="\n")
    [told] = (await call(connect, "search_memory", parsed_query="Berlin"))["results"]
    [passage] = told["passages"]
    lake = app.files.parts.lake
    for one in lake.files(LOCAL):  # as records from before the reader had versions
        lake.change(LOCAL, one.id, lambda held: replace(held, newest=replace(held.newest, reader=1)))
    lake.change(LOCAL, file["id"], lambda held: replace(held, current=replace(held.newest, tables=0, summary="old")))
    assert "2 files read by an older reader" in " ".join(one.what for one in check_files(app, fix=False))
    app.files.upkeep.finish(LOCAL)
    assert await call(connect, "ingestion_status", memory_ids=[file["id"]]) == [file]
    assert [one.is_outdated for one in lake.files(LOCAL)] == [False, False]
    assert (await call(connect, "search_memory", parsed_query="Berlin"))["results"] == [told]
    checked = await call(connect, "verify_citation", chunk_id=passage["chunk_id"], text="Berlin")
    assert checked["verified"]
    assert not any("older reader" in one.what for one in check_files(app, fix=False))


async def test_a_heading_without_text_below_it_is_found(connect: Connect) -> None:
    text = "# Trip\n\n## Tickets\n\n## Hotels\n\n### Berlin\nAdler\n\n# Ferry to Kos\n"
    [file] = await call(connect, "add_memory", name="plan.md", text=text)
    for word, lines in (("tickets", [3, 3]), ("kos", [10, 10]), ("adler", [8, 8])):
        [found] = (await call(connect, "search_memory", parsed_query=word))["results"]
        assert found["passages"][0]["locator"]["lines"] == lines
    assert file["num_chunks"] == 3


async def test_the_two_ways_to_write_an_accent_are_one_name(connect: Connect) -> None:
    [first] = await call(connect, "add_memory", name="cafe\u0301.md", text="Ann drinks tea.")
    [second] = await call(connect, "add_memory", name="../caf\u00e9.md", text="Ann drinks coffee.")
    assert (first["id"], first["name"], second["version"]) == (second["id"], "caf\u00e9.md", 2)


@on_vectors_too
async def test_a_file_is_its_path_and_one_from_before_is_known_by_its_content(connect: Connect, app: App) -> None:
    [file] = await call(connect, "add_memory", name="trip.md", text="Ann goes.")
    lake = app.files.parts.lake
    lake.put(LOCAL, replace(lake.get(LOCAL, file["id"]), path=None))  # as it was written before files had paths
    [other] = await call(connect, "add_memory", name="2024/trip.md", text="Bob goes.")
    [same] = await call(connect, "add_memory", name="2023/trip.md", text="Ann goes.")
    assert (other["id"] != file["id"], other["path"], other["version"]) == (True, "2024/trip.md", 1)
    assert (same["id"], same["name"], same["path"], same["version"]) == (file["id"], "trip.md", "2023/trip.md", 1)
    [changed] = await call(connect, "add_memory", name="./2023//trip.md", text="Ann stays.")
    assert (changed["id"], changed["version"]) == (file["id"], 2)
    assert (await call(connect, "diff_versions", memory_id=file["id"]))["path"] == "2023/trip.md"
    assert (await call(connect, "read_memory", id=file["id"]))["path"] == "2023/trip.md"
    [found] = (await call(connect, "search_memory", parsed_query="does Bob go on his trip"))["results"][:1]
    assert (found["id"], found["name"], found["path"]) == (other["id"], "trip.md", "2024/trip.md")
    chunk = found["passages"][0]["chunk_id"]
    assert (await call(connect, "verify_citation", chunk_id=chunk, text="Bob goes"))["path"] == "2024/trip.md"
    overview = await call(connect, "get_memorylake_metadata")
    assert sorted(one["path"] for one in overview["sample_memories"]) == ["2023/trip.md", "2024/trip.md"]
    [own] = await call(connect, "add_memory", name="trip.md", text="Cleo goes.")  # the name itself gets its id back
    assert (own["id"], own.get("path"), own["version"]) == (file["id"], None, 3)
    [apart] = await call(connect, "add_memory", name="2023/trip.md", text="Cleo goes.")
    assert (apart["id"] in (file["id"], other["id"]), apart["version"]) == (False, 1)


async def test_names_of_all_scripts_are_kept_and_hidden_signs_are_refused(connect: Connect) -> None:
    for name in SEEN:
        [file] = await call(connect, "add_memory", name=name, text="Ann drinks tea.")
        assert file["name"] == name
    for name in HIDDEN:
        async with connect("files") as client:
            answer = await client.call_tool("add_memory", {"name": name, "text": "Ann drinks tea."})
        assert texts(answer)[0].startswith("BAD_NAME"), ascii(name)


async def test_all_files_that_are_not_read_are_told_if_none_is_named(connect: Connect) -> None:
    await call(connect, "add_memory", name="trip.md", text="Ann buys the tickets.")
    [empty] = await call(connect, "add_memory", name="empty.md", text=" ")
    assert await call(connect, "ingestion_status") == [empty]


async def test_nothing_is_removed_if_one_of_the_ids_is_unknown(connect: Connect, app: App) -> None:
    [file] = await call(connect, "add_memory", name="trip.md", text="Ann buys the tickets.")
    async with connect("files") as client:
        answer = await client.call_tool("delete_memory", {"memory_ids": ["ds-1", file["id"], "ds-2"]})
    assert answer.is_error
    assert "There are no files 'ds-1', 'ds-2'" in texts(answer)[0]
    assert [one.id for one in app.files.listed(LOCAL)] == [file["id"]]


async def test_a_pdf_whose_name_ends_in_txt_is_read_as_one(connect: Connect, app: App) -> None:
    file = app.files.add(LOCAL, "ports.txt", papers.drawn(papers.line("The lighthouse keeper")), wait=60)
    found = await call(connect, "search_memory", parsed_query="lighthouse keeper")
    assert found["results"][0]["passages"][0]["locator"]["label"] == "page 1"
    app.close()
    assert file.newest.format == "pdf"


async def test_a_picture_whose_name_ends_in_txt_is_refused(connect: Connect, app: App) -> None:
    file = app.files.add(LOCAL, "photo.txt", b"\x89PNG\r\n\x1a\n" + bytes(100), wait=60)
    [told] = await call(connect, "ingestion_status", memory_ids=[file.id])
    app.close()
    assert (told["status"], "It is no text" in told["reason"]) == ("error", True)


@each(
    ("most", "name", "passages", "remarks"),
    [
        (2, "ports.md", 2, ["Searches find only the first 2 passages, up to line 7: split the file"]),
        (5, "whole.md", 5, []),  # just as many as it may have
    ],
)
async def test_passages_that_are_left_out_are_told(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, most: int, name: str, passages: int, remarks: list[str]
) -> None:
    monkeypatch.setattr(cutting, "MOST_PASSAGES", most)
    text = "".join(f"# Port {number}\n\nShips of port {number} sail.\n\n" for number in range(5))
    [file] = await call(connect, "add_memory", name=name, text=text)
    async with connect("files") as client:
        told = structured(await client.call_tool("fetch_memory", {"memory_ids": [file["id"]]}))[file["id"]]
    assert (file["num_chunks"], told.get("remarks", [])) == (passages, remarks)


def test_a_call_does_not_wait_for_a_slow_file_which_is_read_all_the_same(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_packages()
    is_told, run = threading.Event(), app.files.parts.ingest.run

    def run_slowly(owner: Owner, id: str) -> StoredFile:
        is_told.wait(60)
        return run(owner, id)

    monkeypatch.setattr(app.files.parts.ingest, "run", run_slowly)
    file = app.files.add(LOCAL, "costs.csv", b"item,euros\ntrain,40\n", wait=0)
    assert file.newest.status in ("pending", "running")
    is_told.set()
    until(lambda: app.files.status(LOCAL, [file.id])[0].newest.status == "okay")


async def test_a_file_that_is_removed_while_it_is_read_leaves_nothing(
    connect: Connect, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_packages()
    enter = app.files.parts.ingest.stages.enter

    def is_removed(owner: Owner, id: str) -> bool:
        held = app.files.parts.lake.held(owner, id)
        return held is None or held.is_removed

    def enter_slowly(owner: Owner, id: str, stage: FileStage | None) -> None:
        enter(owner, id, stage)
        if stage is not None and stage.text == "indexing":
            until(lambda: is_removed(owner, id))

    monkeypatch.setattr(app.files.parts.ingest.stages, "enter", enter_slowly)
    file = app.files.add(LOCAL, "costs.csv", b"item,euros\ntrain,40\n", wait=0)
    until(lambda: app.files.status(LOCAL, [file.id])[0].newest.status == "running")
    [told] = await call(connect, "ingestion_status", memory_ids=[file.id])
    assert (told["status"], told["found_version"]) == ("running", None)
    [removed] = await call(connect, "delete_memory", memory_ids=[file.id])
    assert removed["id"] == file.id
    assert await call(connect, "ingestion_status") == []
    until(lambda: not [*app.files.parts.lake.being_removed(LOCAL)])
    assert app.blobs.list(LOCAL) == []
    assert list(app.files.parts.index.passages(LOCAL, COLLECTION)) == []


def test_an_owner_does_not_wait_for_all_files_of_another(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    runner_packages()
    begun: list[str] = []
    all_are_there, run = threading.Event(), app.files.parts.ingest.run

    def run_later(owner: Owner, id: str) -> StoredFile:
        begun.append(app.files.parts.lake.get(owner, id).name)
        all_are_there.wait(60)
        return run(owner, id)

    monkeypatch.setattr(app.files.parts.ingest, "run", run_later)
    for number in range(8):
        app.files.add(LOCAL, f"{number}.csv", b"item,euros\ntrain,40\n", wait=0)
    bob = Owner("acme", "bob")
    file = app.files.add(bob, "costs.csv", b"item,euros\nbus,4\n", wait=0)
    all_are_there.set()
    until(lambda: app.files.status(bob, [file.id])[0].newest.status == "okay")
    assert begun.index("costs.csv") in (2, 3)  # two are read at once, and each may be first to take the next
    until(lambda: not app.files.waiting(LOCAL))
