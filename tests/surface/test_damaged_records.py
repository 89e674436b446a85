"""A record that cannot be read: tools go on without it, and `loci doctor` names it and mends what it can."""

import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.app import App
from loci.auth.grants import SignedInBy, grants_of
from loci.auth.oauth_clients import clients_of
from loci.compose import build_app
from loci.core.diagnosis import Finding
from loci.core.errors import Refused
from loci.core.identity import LOCAL, SYSTEM, Owner
from loci.core.json import JsonObject
from loci.core.settings import load_settings
from loci.doctor.record_checks import check_records
from loci.documents.checks import check_owners
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.whole_texts import WriteJournal
from loci.scratchpad.api import Scratchpad
from tests.support.damage import GARBAGE, damage
from tests.support.each import each
from tests.support.given_grants import CLIENT, granted
from tests.surface.conftest import Connect, on_both
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = pytest.mark.anyio
on_indexes = pytest.mark.parametrize("app", RUNTIMES, indirect=True)
ANN = Owner("acme", "ann")
NOTES = {
    "ferry.md": "---\ntags: [sea]\n---\n# Ferry\n\nThe ferry leaves at nine. See [[tram]].\n",
    "tram.md": "---\ntags: [rail]\n---\n# Tram\n\nThe tram leaves at ten. See [[ferry]].\n",
    "moon.md": "# Moon\n\nThe moon rises late.\n",
}
BROKEN = [*GARBAGE, b"\xff\xfe{"]


@dataclass(frozen=True, slots=True)
class Damager:
    app: App

    def __call__(self, kind: str, key: str, text: str | bytes = "{", owner: Owner = LOCAL) -> None:
        data = self.app.settings.data if self.app.settings.mode == "embedded" else None
        damage(data, owner, kind, key, text)


@pytest.fixture
def spoil(app: App) -> Damager:
    return Damager(app)


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


def named(finding: Finding) -> set[str]:
    """The kinds and ids that the finding names."""
    assert finding.state == "fault"
    assert "loci doctor --fix" in (finding.advice or "")
    return set(re.split(r", ", finding.what.partition(": ")[2].removesuffix(". Loci ignores them")))


# Documents


@on_indexes
@each("text", BROKEN)
async def test_tools_go_on_without_a_damaged_document(
    app: App, connect: Connect, spoil: Damager, notes: Path, text: str | bytes
) -> None:
    spoil("document", "notes-moon", text)
    assert (await call(connect, "list_directory_structure"))["result"] == ["notes/"]
    found = await call(connect, "query_by_tags", tags=["sea", "rail"])
    assert {row["id"] for row in found["results"]} == {"notes-ferry", "notes-tram"}
    assert (await call(connect, "explore_links", id="notes-ferry"))["result"][0]["target"] == "notes-tram"
    found = await call(connect, "search_documents", query="when does the ferry leave")
    assert "notes-ferry" in {row["id"] for row in found["results"]}
    assert "leaves at nine" in (await call(connect, "read_node_content", id="notes-ferry"))["result"]
    said = await failed(connect, "read_node_content", id="notes-moon")
    assert said.startswith("RECORD_DAMAGED: The record of notes-moon is damaged. Run: loci doctor --fix.")
    await call(connect, "find_gaps", threshold=0.1)
    await call(connect, "write_document", path="notes/new.md", content="# New\n\nA tram.")


@on_indexes
async def test_doctor_names_a_damaged_document_and_indexes_it_again(
    app: App, connect: Connect, spoil: Damager, notes: Path
) -> None:
    uploads = app.blobs.list(LOCAL, "documents/")
    spoil("document", "notes-moon")
    assert named(check_records(app, fix=False)) == {"document notes-moon"}
    check_owners(app, fix=True)
    assert app.blobs.list(LOCAL, "documents/") == uploads
    mended = check_records(app, fix=True)
    assert (mended.state, mended.fixed) == ("ok", True)
    assert check_records(app, fix=False).what == "Each can be read"
    assert (await call(connect, "read_node_content", id="notes-moon"))["result"] == NOTES["moon.md"]
    assert (notes / "moon.md").read_text() == NOTES["moon.md"]
    assert {one.state for one in check_owners(app, fix=False)} == {"ok"}


@on_indexes
@pytest.mark.parametrize("how", ["ingest", "write"])
async def test_the_next_write_of_a_damaged_document_mends_it(
    app: App, connect: Connect, spoil: Damager, notes: Path, how: str
) -> None:
    spoil("document", "notes-moon", '{"unheard": "of"}')
    if how == "ingest":
        take_in(app, notes)
    else:
        await call(connect, "write_document", path="notes/moon.md", content="\nIt sets early.", mode="append")
    assert "rises late" in (await call(connect, "read_node_content", id="notes-moon"))["result"]
    assert check_records(app, fix=False).state == "ok"
    ids = set(app.documents.parts.index.documents(LOCAL, COLLECTION))
    assert ids == {"notes-ferry", "notes-tram", "notes-moon"}


@on_indexes
@pytest.mark.usefixtures("notes")
@each("kind", ["said", "read", "unfinished"])
@each("text", ["{", '{"mentions": 5, "aliases": {}}', b"\xff"])
async def test_what_is_noted_beside_a_document_may_be_damaged(
    app: App, connect: Connect, spoil: Damager, kind: str, text: str | bytes
) -> None:
    key = WriteJournal(app.records).begin(ANN, "notes/tram.md", None).key if kind == "unfinished" else "notes-tram"
    spoil(kind, key, text)
    await call(connect, "explore_links", id="notes-ferry")
    await call(connect, "suggest_reading", context="When does the ferry leave?")
    app.documents.upkeep.repair(LOCAL)
    await call(connect, "write_document", path="notes/ferry.md", content="\nAnd at noon.", mode="append")
    assert named(check_records(app, fix=False)) == {f"{kind} {key}"}
    assert check_records(app, fix=True).fixed
    assert check_records(app, fix=False).state == "ok"
    links = (await call(connect, "explore_links", id="notes-tram"))["result"]
    assert "notes-ferry" in {one["target"] for one in links}
    assert "leaves at ten" in (await call(connect, "read_node_content", id="notes-tram"))["result"]


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_a_damaged_root_is_made_again_by_the_next_ingest(
    app: App, connect: Connect, spoil: Damager, notes: Path
) -> None:
    [id] = app.documents.parts.catalog.roots(LOCAL)
    spoil("root", id)
    said = await failed(connect, "read_node_content", id="notes-moon")
    assert "loci ingest FOLDER" in said
    assert named(check_records(app, fix=False)) == {f"root {id}"}
    take_in(app, notes)
    assert check_records(app, fix=False).state == "ok"
    assert "rises late" in (await call(connect, "read_node_content", id="notes-moon"))["result"]
    spoil("root", id)
    assert "loci ingest FOLDER" in check_records(app, fix=True).what
    assert app.documents.parts.catalog.documents(LOCAL)


@on_indexes
@pytest.mark.usefixtures("notes")
async def test_a_damaged_earlier_text_is_passed_over(app: App, connect: Connect) -> None:
    for text in ("one", "two"):
        await call(connect, "write_document", path="notes/moon.md", content=f"\n{text}", mode="append")
    last = app.blobs.list(LOCAL, "history/")[-1]
    app.blobs.write(LOCAL, last, b"{no JSON")
    await call(connect, "write_document", path="notes/moon.md", content="\nthree", mode="append")
    await call(connect, "undo_write", path="notes/moon.md")
    assert (await call(connect, "read_node_content", id="notes-moon"))["result"].rstrip().endswith("two")
    assert named(check_records(app, fix=False)) == {f"history {last}"}
    check_records(app, fix=True)
    assert check_records(app, fix=False).state == "ok"


# The scratchpad


@each("text", BROKEN)
async def test_the_scratchpad_goes_on_without_a_damaged_entry(
    app: App, connect: Connect, spoil: Damager, text: str | bytes
) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", "damaged soon")
    spoil("scratchpad", entry.id, text)
    spoil("scratchpad-promised", "0123456789ab", text)
    ticks = iter(range(100))
    pad = Scratchpad(app.records, app.blobs, lambda: float(next(ticks)), capacity=250)
    healthy = [pad.keep(LOCAL, "x", letter * 100).id for letter in "abc"][1:]
    listed = await call(connect, "scratchpad_list")
    assert sorted(one["id"] for one in listed["entries"]) == sorted(healthy)
    assert listed["stats"]["total_entries"] == 2
    for id in (entry.id, "0123456789ab"):
        assert (await failed(connect, "scratchpad_read", id=id)).startswith("SCRATCHPAD_NOT_FOUND")
    assert named(check_records(app, fix=False)) == {f"scratchpad {entry.id}", "scratchpad-promised 0123456789ab"}
    assert check_records(app, fix=True).fixed
    assert check_records(app, fix=False).state == "ok"
    blobs = app.blobs.list(LOCAL, "scratchpad/")
    assert len(blobs) == 2
    for id in healthy:  # the next row begins with none
        app.records.remove(LOCAL, "scratchpad", id)
    for blob in blobs:
        app.blobs.remove(LOCAL, blob)


async def test_a_damaged_entry_is_replaced_by_the_same_result(app: App, spoil: Damager) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", "again")
    spoil("scratchpad", entry.id)
    app.scratchpad.keep(LOCAL, "x", "again")
    assert app.scratchpad.read(LOCAL, entry.id).text == "again"


# Keys, runs and executors


@each("text", [*BROKEN, '{"hash": "é", "revoked": null}'])
async def test_a_damaged_key_opens_nothing_and_hides_no_other(app: App, spoil: Damager, text: str | bytes) -> None:
    others = app.api_keys.list()
    damaged, secret = app.api_keys.create(ANN, "old")
    healthy, other = app.api_keys.create(ANN, "new")
    spoil("api_key", damaged.id, text, SYSTEM)
    assert app.api_keys.with_text(secret) is None
    assert app.api_keys.by_id(damaged.id) is None
    kept = app.api_keys.with_text(other)
    assert kept is not None
    assert kept.owner == ANN
    assert [one for one in app.api_keys.list() if one not in others] == [healthy]
    with pytest.raises(Refused, match="loci doctor --fix"):
        app.api_keys.revoke(damaged.id)
    assert named(check_records(app, fix=False)) == {f"api_key {damaged.id}"}
    check_records(app, fix=True)
    assert check_records(app, fix=False).state == "ok"
    assert [one for one in app.api_keys.list() if one not in others] == [healthy]


async def test_a_server_whose_only_key_is_damaged_stays_closed(app: App, spoil: Damager) -> None:
    key, _ = app.api_keys.create(ANN, "only")
    spoil("api_key", key.id, "no JSON", SYSTEM)
    assert app.api_keys.exist()


@each("kind", ["run", "executor"])
@on_both
async def test_damaged_runs_and_executors_are_named(app: App, spoil: Damager, kind: str) -> None:
    states: list[JsonObject] = [{"state": "done", "due_at": 1, "tool": "x"}, {"state": "asked"}, {"used_at": "soon"}]
    for number, text in enumerate([*BROKEN, *map(str, states)]):
        spoil(kind, str(number), text)
    assert len(named(check_records(app, fix=False))) == len(BROKEN) + len(states)
    check_records(app, fix=True)
    assert check_records(app, fix=False).state == "ok"


async def test_the_records_of_every_owner_with_a_key_are_checked(app: App, spoil: Damager) -> None:
    app.api_keys.create(ANN, "laptop")
    spoil("scratchpad", "0123456789ab", owner=ANN)
    assert named(check_records(app, fix=False)) == {"scratchpad 0123456789ab of acme/ann"}


def test_the_records_of_people_who_signed_in_at_an_issuer_are_checked(tmp_path: Path) -> None:
    """They have no key."""
    issuer = "https://id.example.com"
    at_issuer = {"oidc_issuer": issuer, "oidc_client_id": "loci", "models": tmp_path / "models"}
    with closing(build_app(load_settings({"data": tmp_path, **at_issuer}))) as app:
        granted(app, ANN, by=SignedInBy(issuer=issuer))
        damage(tmp_path, ANN, "scratchpad", "0123456789ab")
        assert named(check_records(app, fix=False)) == {"scratchpad 0123456789ab of acme/ann"}
        assert app.api_keys.list() == []


@each("text", BROKEN)
def test_what_clients_were_allowed_is_gone_with_its_record(app: App, spoil: Damager, text: str | bytes) -> None:
    given = granted(app, ANN)
    [grant] = grants_of(app).list()
    for kind, key, owner in (
        ("oauth_grant", grant.id, SYSTEM),
        ("oauth_client", CLIENT, SYSTEM),
    ):
        spoil(kind, key, text, owner)
    resource = f"{app.settings.base_url}/mcp"
    assert grants_of(app).list() == []
    assert grants_of(app).caller_of(given.access, [resource]) is None
    assert clients_of(app).get(CLIENT) is None
    damaged = {
        f"oauth_grant {grant.id}",
        f"oauth_client {CLIENT}",
    }
    assert named(check_records(app, fix=False)) == damaged
    assert check_records(app, fix=True).state == "ok"
    assert check_records(app, fix=False).state == "ok"
    assert granted(app, ANN).access
    for one in grants_of(app).list():  # the next row begins with none
        grants_of(app).revoke(one.id)


@on_both
def test_what_cannot_be_mended_says_why(app: App, spoil: Damager) -> None:
    app.blobs.write(LOCAL, "documents/lost", b"# Lost\n")
    spoil("document", "lost")
    finding = check_records(app, fix=True)
    assert finding.state == "fault"
    assert "document lost: " in (finding.advice or "")
    assert app.blobs.read(LOCAL, "documents/lost") == b"# Lost\n"
