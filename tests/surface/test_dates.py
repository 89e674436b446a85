"""Every document has a date, searches say where it is from, and times are asked for as people say them."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL, Owner
from loci.core.storage_keys import VECTORS
from loci.core.stores import Record
from tests.support.each import each
from tests.support.vault.write import vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]

NOTES = {
    "a.md": "---\ncreated: 2024-03-05T10:00:00Z\n---\n# 2020-01-01\n\nA tide.\n",
    "2024-05-06 b.md": "# 2020-01-01\n\nA tide.\n",
    "c.md": "## Standup of 7 June 2024\n\nA tide.\n",
    "d.md": "A tide.\n",
    "e.md": "A tide, again.\n",
}
CHANGED = datetime(2023, 2, 3, 12, tzinfo=UTC)
MINUTE, DAY = 60, 86_400


@pytest.fixture(autouse=True)
def _in_one_day() -> None:
    """Today is the same day at the end of a test."""
    left = DAY - time.time() % DAY
    if left < MINUTE:
        time.sleep(left)


def day_of_change(app: App) -> str:
    """Uploads have no file: theirs is the day of the upload."""
    return "2023-02-03" if app.settings.mode == "embedded" else datetime.now(UTC).date().isoformat()


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    for file in folder.iterdir():
        os.utime(file, (CHANGED.timestamp(), CHANGED.timestamp()))
    take_in(app, folder)
    return folder


async def days(connect: Connect, **arguments: object) -> dict[str, tuple[str, str]]:
    rows = (await call(connect, "temporal_search", **{"query": "tide"} | arguments))["results"]
    return {row["path"].removeprefix("notes/"): (row["date"], row["date_from"]) for row in rows}


@pytest.mark.usefixtures("notes")
async def test_a_date_is_that_of_the_front_matter_the_name_the_heading_or_the_last_change(
    app: App, connect: Connect
) -> None:
    rows = (await call(connect, "search_documents", query="tide"))["results"]
    assert {row["path"]: (row["date"], row["date_from"]) for row in rows} == {
        "notes/a.md": ("2024-03-05", "front matter"),
        "notes/2024-05-06 b.md": ("2024-05-06", "name"),
        "notes/c.md": ("2024-06-07", "heading"),
        "notes/d.md": (day_of_change(app), "file"),
        "notes/e.md": (day_of_change(app), "file"),
    }


@each(
    ("query", "first"),
    [
        ("the tide at the pier in May 2024", "m05"),
        ("the tide at the pier, 2024-03", "m03"),
        ("tide, pier, Q4 2024", "m11"),
        ("tide, pier, 6. Mai 2024", "m05"),
        ("the tide at the pier in 2024", "m03"),
        ("the tide at the pier in May 2019", "m03"),
    ],
)
async def test_of_documents_that_are_as_near_those_of_the_time_that_a_question_names_come_first(
    app: App, connect: Connect, query: str, first: str
) -> None:
    for month in ("03", "05", "11"):
        text = f"---\ndate: 2024-{month}-06\n---\nThe tide at the pier.\n"
        app.documents.parts.library.add(LOCAL, f"m{month}.md", text.encode())
    ids = [row["id"] for row in (await call(connect, "search_documents", query=query))["results"]]
    assert (ids[0], len(ids)) == (first, 3)


async def test_of_a_long_chat_the_section_of_the_time_that_a_question_names_comes_first(
    app: App, connect: Connect
) -> None:
    months = {f"{month:02}": f"A tide, the one of day {month}.\n" for month in range(3, 9)}
    text = "# Tides\n\n" + "\n".join(f"## 2024-{month}-05\n\n{said}" for month, said in months.items())
    app.documents.parts.library.add(LOCAL, "chat.md", text.encode())
    for month in ("June", "April"):
        [row] = (await call(connect, "search_documents", query=f"the tide in {month} 2024"))["results"]
        assert row["heading"].endswith({"June": "2024-06-05", "April": "2024-04-05"}[month])


async def test_a_document_of_the_time_is_found_among_more_that_are_as_near_than_a_search_looks_at(
    app: App, connect: Connect
) -> None:
    for number in range(70):
        app.documents.parts.library.add(LOCAL, f"{number}.md", b"---\ndate: 2023-01-02\n---\nThe low tide.\n")
    app.documents.parts.library.add(LOCAL, "may.md", b"---\ndate: 2024-05-06\n---\nThe low tide.\n")
    for query, has in (("low tide in May 2024", True), ("low tide", False)):
        rows = (await call(connect, "search_documents", query=query, limit=3))["results"]
        assert ("may" in [row["id"] for row in rows]) is has


@pytest.mark.usefixtures("notes")
async def test_a_search_in_a_time_says_how_many_documents_say_no_date(connect: Connect) -> None:
    found = await call(connect, "temporal_search", query="tide", date_range="2024")
    assert (len(found["results"]), found["metadata"]["undated"]) == (3, 2)
    assert "undated" not in (await call(connect, "search_documents", query="tide"))["metadata"]


@pytest.mark.usefixtures("notes")
@each(
    ("date_range", "found"),
    [
        ("March 2024", {"a.md"}),
        ("March to May 2024", {"a.md", "2024-05-06 b.md"}),
        ("2024-05-01 to 2024-06-30", {"2024-05-06 b.md", "c.md"}),
        ("before June 2024", {"a.md", "2024-05-06 b.md", "d.md", "e.md"}),
        ("7 June 2024", {"c.md"}),
    ],
)
async def test_times_are_understood_as_people_write_them(
    app: App, connect: Connect, date_range: str, found: set[str]
) -> None:
    late = {"d.md", "e.md"} if app.settings.mode != "embedded" else set[str]()  # uploaded today
    assert {*await days(connect, date_range=date_range)} == found - late


@pytest.mark.usefixtures("notes")
async def test_a_line_that_labels_a_day_dates_its_document(app: App, connect: Connect) -> None:
    text = b"# Use one index\n\n* Status: accepted\n* Date: 2017-07-04\n\nA tide.\n"
    app.documents.parts.library.add(LOCAL, "0018-use-one-index.md", text)
    assert await days(connect, date_range="July 2017") == {"0018-use-one-index.md": ("2017-07-04", "text")}


@pytest.mark.usefixtures("notes")
async def test_a_month_without_a_year_is_the_last_one_that_has_begun(app: App, connect: Connect) -> None:
    today = datetime.now(UTC)
    text = f"---\ndate: {today:%Y-%m}-01\n---\nA tide.\n".encode()
    app.documents.parts.library.add(LOCAL, "new.md", text)
    assert (await days(connect, date_range=f"since {today:%B}"))["new.md"] == (f"{today:%Y-%m}-01", "front matter")


@pytest.mark.usefixtures("notes")
async def test_a_time_that_cannot_be_read_is_refused_with_the_ways_to_write_one(connect: Connect) -> None:
    said = await failed(connect, "temporal_search", query="tide", date_range="the good old days")
    assert said.startswith("BAD_DATE_RANGE: 'the good old days' is not a date range. Write June 2024, ")


@pytest.mark.usefixtures("notes")
async def test_the_date_of_a_text_stays_until_it_changes(app: App, connect: Connect, notes: Path) -> None:
    before = await days(connect, date_range="any time")
    os.utime(notes / "d.md", (1, 1))
    take_in(app, notes)
    assert await days(connect, date_range="any time") == before
    (notes / "d.md").write_text("A higher tide.\n")
    take_in(app, notes)
    today = datetime.now(UTC).date().isoformat()
    assert await days(connect, date_range="any time") == before | {"d.md": (today, "file")}


async def test_the_day_of_a_commit_stands_before_the_time_of_the_file(app: App, connect: Connect, notes: Path) -> None:
    who, env = ("-c", "user.name=a", "-c", "user.email=a@example.org"), {"GIT_COMMITTER_DATE": "2019-05-06T12:00:00Z"}
    for command in (("init", "-q"), ("add", "a.md", "d.md"), (*who, "commit", "-qm", "x")):
        subprocess.run(["git", *command], cwd=notes, env=os.environ | env, check=True)
    (notes / "d.md").write_text("A tide.\n#new\n")
    subprocess.run(["git", *who, "commit", "-qam", "x"], cwd=notes, env=os.environ | env, check=True)
    (notes / "e.md").write_text("A tide.\n#new, not committed\n")
    take_in(app, notes)
    found, today = await days(connect, date_range="any time"), datetime.now(UTC).date().isoformat()
    is_here = app.settings.mode == "embedded"
    assert found["d.md"] == (("2019-05-06", "git") if is_here else (today, "file"))
    assert (found["a.md"], found["e.md"]) == (("2024-03-05", "front matter"), (today, "file"))
    await call(connect, "inject_tags", file_path="notes/d.md", tags=["sea"])
    assert (await days(connect, date_range="any time"))["d.md"] == found["d.md"]
    undated = (await call(connect, "temporal_search", query="tide", date_range="any time"))["metadata"]["undated"]
    assert undated == (1 if is_here else 2)


async def test_tags_keep_the_time_of_a_document_and_undo_gives_it_back(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    folder, parts = written(tmp_path / "notes", {"d.md": "A tide.\n"}), app.documents.parts
    os.utime(folder / "d.md", (CHANGED.timestamp(), CHANGED.timestamp()))
    take_in(app, folder)
    document, version = parts.catalog.with_version(LOCAL, "notes-d")
    assert document
    parts.catalog.put(LOCAL, replace(document, changed_on="2023-02-03"), version)  # as if it was uploaded then
    await call(connect, "inject_tags", file_path="notes/d.md", tags=["sea"])
    assert await days(connect, date_range="any time") == {"d.md": ("2023-02-03", "file")}
    await call(connect, "write_document", path="notes/d.md", content="A tide again.", mode="append")
    today = datetime.now(UTC).date().isoformat()
    assert await days(connect, date_range="any time") == {"d.md": (today, "file")}
    await call(connect, "undo_write", path="notes/d.md")
    assert await days(connect, date_range="any time") == {"d.md": ("2023-02-03", "file")}
    assert (folder / "d.md").stat().st_mtime == CHANGED.timestamp()


@cache
def releases() -> dict[str, bytes]:
    notes = [note for note in vault_notes() if note.path.startswith("releases/")]
    return {note.path: note.content for note in notes[::3]}


@pytest.fixture
def dated() -> list[str]:
    """The days of the releases that say one, newest first."""
    return sorted((path.split("/")[1][:10] for path in releases() if "/20" in path), reverse=True)


@pytest.fixture
def checkout(app: App, tmp_path: Path) -> Path:
    """Releases and other notes of a vault, just copied. Half of the releases say their date, in their names."""
    others = {note.path: note.content for note in vault_notes()[::60] if "releases/" not in note.path}
    for path, content in (others | releases()).items():
        file = tmp_path / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    take_in(app, tmp_path / "vault")
    return tmp_path / "vault"


async def newest(connect: Connect, query: str, date_range: str = "any time", limit: int = 3) -> list[dict[str, Any]]:
    arguments: dict[str, Any] = {"query": query, "date_range": date_range, "limit": limit}
    return (await call(connect, "temporal_search", **arguments))["results"]


@pytest.mark.usefixtures("checkout")
async def test_the_newest_releases_of_a_vault_come_first(connect: Connect, dated: list[str]) -> None:
    async def first(query: str, date_range: str) -> list[str]:
        return [row["date"] for row in await newest(connect, query, date_range)]

    assert await first("newest releases", "before 2026") == dated[:3]
    assert await first("the latest releases", "2021") == [day for day in dated if day < "2022"][:3]
    assert await first("releases", "2021") != [day for day in dated if day < "2022"][:3]


@pytest.mark.usefixtures("checkout")
async def test_copied_files_without_a_date_are_not_newer_than_those_that_say_one(
    connect: Connect, dated: list[str]
) -> None:
    rows = await newest(connect, "newest releases", limit=10)
    assert [(row["date"], row["date_from"]) for row in rows] == [(day, "name") for day in dated[:10]]


@pytest.mark.usefixtures("checkout")
async def test_what_a_tool_wrote_on_the_day_of_the_copy_is_the_newest(connect: Connect, dated: list[str]) -> None:
    text = "## Releases\n\nThe releases of today.\n"
    await call(connect, "write_document", path="vault/releases/Written.md", content=text)
    rows = await newest(connect, "newest releases")
    assert [row["path"] for row in rows[:1]] == ["vault/releases/Written.md"]
    assert [row["date"] for row in rows[1:]] == dated[:2]


async def test_a_note_that_was_changed_after_the_copy_is_newer_than_one_of_last_year(
    app: App, connect: Connect, checkout: Path, dated: list[str]
) -> None:
    changed = next(path for path in releases() if "/20" not in path)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    for document in app.documents.parts.library.documents(LOCAL):  # as if the copy were some years old
        now, version = app.documents.parts.catalog.with_version(LOCAL, document.id)
        assert now
        day = yesterday if document.path == f"vault/{changed}" else CHANGED
        app.documents.parts.catalog.put(LOCAL, replace(now, changed_on=day.date().isoformat()), version)
    rows = await newest(connect, "newest releases")
    assert rows[0]["path"] == f"vault/{changed}"
    assert [row["date"] for row in rows] == [yesterday.date().isoformat(), *dated[:2]]


@pytest.mark.usefixtures("notes")
async def test_documents_with_a_tag_come_in_the_order_of_the_dates_that_are_shown(app: App, connect: Connect) -> None:
    for name, day in (("old", "2001-02-03"), ("new", "2099-02-03")):
        app.documents.parts.library.add(LOCAL, f"{name}.md", f"---\ndate: {day}\n---\n#moon\n".encode())
    app.documents.parts.library.add(LOCAL, "today.md", b"#moon\n")
    rows = (await call(connect, "query_by_tags", tags=["moon"]))["results"]
    today = datetime.now(UTC).date().isoformat()
    assert [(row["date"], row["date_from"]) for row in rows] == [
        ("2099-02-03", "front matter"),
        (today, "file"),
        ("2001-02-03", "front matter"),
    ]


@pytest.mark.usefixtures("notes")
async def test_a_search_needs_no_records_for_what_it_finds(
    app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_all = app.records.get_all

    def fail(_: object, owner: Owner, kind: str, keys: Sequence[str]) -> dict[str, Record]:
        if kind == VECTORS:  # S3 Vectors keeps records of its own for each document
            return get_all(owner, kind, keys)
        raise Unavailable("The records are away", "Try again")

    monkeypatch.setattr(type(app.records), "get_all", fail)
    rows = (await call(connect, "search_documents", query="tide"))["results"]
    assert len(rows) == len(NOTES)
    assert not any({"date", "date_from"} & row.keys() for row in rows)
