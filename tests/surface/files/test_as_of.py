"""`search_memory` with `as_of`: what was known then, with its places, on each runtime."""

import contextlib
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.files.file import READ_ALIKE, READER_VERSION, StoredFile
from loci.files.search_query import COLLECTION, PAST
from loci.files.versions import past_document
from loci.search.ranking import TagsAndDate
from tests.support.moto_aws import ON_VECTORS, moto_aws
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.searches import add, names, search
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
OLD = "# Fares\n\nPlease note.\n\nThe ferry to Kos costs 12 euros.\n"
NEW = "# Fares\n\nThe ferry to Kos costs 15 euros.\n"
LATER = "# Timetable\n\nThe ferry to Kos leaves at noon.\n"
MARCH, APRIL, MAY = "2026-03-10T08:00:00Z", "2026-04-10T08:00:00Z", "2026-05-10T08:00:00Z"


@pytest.fixture(params=["embedded"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[App]:
    """Loci, which keeps one older version of each file."""
    settings: dict[str, object] = {"models": tmp_path / "models", "file_versions": 1}
    with contextlib.ExitStack() as stack:
        if request.param == "vectors":
            stack.enter_context(moto_aws())
        where = ON_VECTORS if request.param == "vectors" else {"data": tmp_path / "data"}
        yield stack.enter_context(contextlib.closing(build_app(load_settings(where | settings))))


def added(app: App, name: str, text: str, when: str) -> str:
    """A file that came at that time."""
    id = add(app, name, text)

    def dated(file: StoredFile) -> StoredFile:
        assert file.current == file.newest
        newest = replace(file.newest, added_at=when)
        return replace(file, newest=newest, current=newest)

    app.files.parts.lake.change(LOCAL, id, dated)
    return id


def fares(app: App) -> str:
    added(app, "fares.md", OLD, MARCH)
    id = added(app, "fares.md", NEW, APRIL)
    added(app, "timetable.md", LATER, MAY)
    return id


def shown(answer: dict[str, Any]) -> list[tuple[str, int, str, list[int]]]:
    """The first passage of each file."""
    found = [(one["name"], one["version"], one["passages"][0]) for one in answer["results"]]
    return [(name, number, passage["text"], passage["locator"]["lines"]) for name, number, passage in found]


@on_vectors_too
async def test_the_passage_of_then_is_found_with_its_place_of_then(connect: Connect, app: App) -> None:
    fares(app)
    answer = await search(connect, "how much is the ferry to Kos", as_of="2026-04-01")
    assert shown(answer)[0] == ("fares.md", 1, "Please note.\n\nThe ferry to Kos costs 12 euros.", [3, 5])


async def test_today_only_the_newest_version_is_found(connect: Connect, app: App) -> None:
    fares(app)
    answer = await search(connect, "how much is the ferry to Kos", memory_ids=[added(app, "fares.md", NEW, APRIL)])
    assert shown(answer) == [("fares.md", 2, "The ferry to Kos costs 15 euros.", [3, 3])]


async def test_a_version_counts_from_the_second_in_which_it_came(connect: Connect, app: App) -> None:
    fares(app)
    for when, number in (("2026-04-10T07:59:59Z", 1), (APRIL, 2), ("2026-04-10T10:00:00+02:00", 2)):
        [first, *_] = (await search(connect, "fare ferry Kos costs", as_of=when))["results"]
        assert (first["name"], first["version"]) == ("fares.md", number), when


async def test_a_file_that_came_later_was_not_known_then(connect: Connect, app: App) -> None:
    fares(app)
    assert names(await search(connect, "ferry to Kos", as_of="2026-05-01")) == ["fares.md"]
    assert sorted(names(await search(connect, "ferry to Kos", as_of="2026-05-10"))) == ["fares.md", "timetable.md"]


async def test_a_citation_of_then_is_true_of_then(connect: Connect, app: App) -> None:
    fares(app)
    answer = await search(connect, "ferry to Kos", as_of="2026-04-01")
    chunk = answer["results"][0]["passages"][0]["chunk_id"]
    async with connect("files") as client:
        checked = await client.call_tool("verify_citation", {"chunk_id": chunk, "text": "costs 12 euros"})
    assert not checked.is_error, texts(checked)
    told = structured(checked)["result"]
    assert (told["verified"], told["version"], told["is_current"]) == (True, 1, False)


async def test_the_answer_names_files_whose_version_of_then_is_not_kept(connect: Connect, app: App) -> None:
    fares(app)
    added(app, "fares.md", "# Fares\n\nThe ferry to Kos costs 19 euros.\n", MAY)
    answer = await search(connect, "ferry to Kos", as_of="2026-04-01")
    assert (answer["status"], answer["results"]) == ("empty", [])
    assert answer["scope"]["not_kept"] == ["fares.md"]
    assert "no longer kept" in answer["scope"]["says"]


async def test_an_answer_of_kept_versions_names_none(connect: Connect, app: App) -> None:
    fares(app)
    for when in ("2026-01-01", "2026-04-01", "2026-06-01"):
        assert "not_kept" not in (await search(connect, "ferry to Kos", as_of=when))["scope"]


@on_vectors_too
@pytest.mark.parametrize("reader", [1, READ_ALIKE])
async def test_words_of_all_versions_are_made_anew_once_after_an_update(
    app: App, connect: Connect, reader: int
) -> None:
    added(app, "notes.md", "The ferry of 2026-03 runs on v1.9.7.\n", MARCH)
    id = added(app, "notes.md", "The ferry runs on v1.9.7, still.\n", APRIL)
    parts, old = app.files.parts, {"as_of": "2026-04-01"}
    history = parts.lake.history(LOCAL, id)
    for collection, document, version in ((COLLECTION, id, None), (PAST, past_document(id, history[0]), history[0])):
        [chunk] = parts.index.chunks(LOCAL, collection, [f"{document}#0"]).values()
        facts = TagsAndDate((f"file:{id}", "type:md", "kind:txt_file"), "2026-03-10")
        parts.index.put(LOCAL, collection, document, [replace(chunk, words="ferri run")], facts)
        if version:
            parts.lake.keep_history(LOCAL, id, replace(version, reader=reader))

    def by_older_reader(file: StoredFile) -> StoredFile:
        older = replace(file.newest, reader=reader)
        return replace(file, newest=older, current=older)

    parts.lake.change(LOCAL, id, by_older_reader)
    assert [names(await search(connect, "1.9", **more)) for more in ({}, old)] == [[], []]
    app.files.upkeep.finish(LOCAL)
    assert [names(await search(connect, "1.9", **more)) for more in ({}, old)] == [["notes.md"], ["notes.md"]]
    version = parts.lake.history(LOCAL, id)[0]
    assert (version.reader, version.chunks) == (READER_VERSION, 1)
