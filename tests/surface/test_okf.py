"""Bundles of the Open Knowledge Format: what a search and the graph make of them, and their export."""

import json
from pathlib import Path

import pytest

from loci.app import App
from loci.authoring.edit_draft import checked_draft
from loci.core.errors import NotFound, Refused
from loci.core.identity import LOCAL
from loci.core.trust import Origin
from loci.documents.foreign import foreign_of
from loci.transfer.okf import MARK, Bundle, bundle_of, write_bundle
from tests.support.each import each
from tests.support.okf_bundle import BUNDLE, CODE, okf_bundle
from tests.surface.conftest import Connect
from tests.surface.results import call, written
from tests.surface.runtimes import RUNTIMES, WITHOUT_SEARCH, take_in

pytestmark = [pytest.mark.anyio]
on_each = pytest.mark.parametrize("app", RUNTIMES, indirect=True)


@pytest.fixture
def bundle(app: App, tmp_path: Path) -> Path:
    folder = okf_bundle(tmp_path / "harbour")
    take_in(app, folder)
    return folder


def exported(app: App, folder: str | None = None) -> Bundle:
    items = app.transfer.items(LOCAL, ["documents"])
    return bundle_of(items, folder, lambda one, named: app.code.computation_file(LOCAL, one, named))


def files_in(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


@on_each
@pytest.mark.usefixtures("bundle")
async def test_a_search_filters_by_type_and_shows_status_and_claim(connect: Connect) -> None:
    found = await call(connect, "search_documents", query="berth dues", properties=["type=Metric"])
    rows = {row["path"]: row for row in found["results"]}
    assert rows.keys() == {"harbour/metrics/dues.md", "harbour/metrics/dues-old.md"}
    assert rows["harbour/metrics/dues.md"]["validity"] == "draft"
    assert rows["harbour/metrics/dues-old.md"]["validity"] == "retired"
    claim = "the bundle says: verified by human:ann@harbour on 2026-07-01, before it last changed on 2026-07-05"
    assert rows["harbour/metrics/dues.md"]["claim"] == claim
    assert rows["harbour/metrics/dues.md"]["date"] == "2026-07-05"
    assert "claim" not in rows["harbour/metrics/dues-old.md"]


@on_each
@pytest.mark.usefixtures("bundle")
async def test_indexes_leave_the_hits_to_what_they_list(connect: Connect) -> None:
    found = await call(connect, "search_documents", query="berths")
    paths = [row["path"] for row in found["results"] if "path" in row]
    assert "harbour/tables/berths.md" in paths
    assert not [path for path in paths if path.endswith("index.md")]
    assert (
        [path.endswith("log.md") for path in paths].index(True) == len(paths) - 1 if "harbour/log.md" in paths else True
    )
    read = await call(connect, "read_node_content", id="harbour/tables/index.md")
    assert read["result"] == BUNDLE["tables/index.md"]


@on_each
@pytest.mark.usefixtures("bundle")
async def test_sources_are_links(connect: Connect) -> None:
    edges = (await call(connect, "explore_links", id="harbour/metrics/dues.md", relation="source"))["result"]
    assert sorted(one["target"] for one in edges) == ["harbour-policies-berth-policy", "harbour-tables-berths"]
    every = await call(connect, "explore_links", id="harbour/metrics/dues.md", unresolved=True)
    assert not [one for one in every["result"] if "harbour.example" in json.dumps(one) or "all queries" in str(one)]
    moved = {"path": "harbour/policies/berth-policy.md", "to": "harbour/rules/berths.md"}
    await call(connect, "move_document", **moved)
    edges = (await call(connect, "explore_links", id="harbour/metrics/dues.md", relation="source"))["result"]
    assert "harbour-rules-berths" in {one["target"] for one in edges}


@pytest.mark.usefixtures("bundle")
async def test_a_reader_hears_the_claim_and_how_to_compute(connect: Connect) -> None:
    read = await call(connect, "read_node_content", id="harbour/tables/berths.md")
    assert read["note"].startswith("The bundle says: verified by process:nightly on 2026-06-30, by human:ann@harbour")
    read = await call(connect, "read_node_content", id="harbour/computations/stay.md")
    assert "run_computation" in read["note"]


@pytest.mark.parametrize("app", WITHOUT_SEARCH, indirect=True)
def test_a_bundle_comes_back_as_it_was(app: App, tmp_path: Path) -> None:
    take_in(app, okf_bundle(tmp_path / "harbour"))
    one = exported(app, "harbour")
    code = CODE if app.settings.mode == "embedded" else {}  # on AWS it is in no folder
    assert {path: text.decode() for path, text in one.files.items()} == BUNDLE | code
    assert one.concepts == 6
    lacking = set[str]() if code else {"lib/fee.py", "../attesters/equality.py", "attesters/equality.py"}
    assert {left.name for left in one.left_out} == lacking


def test_what_was_exported_is_taken_in_again_as_the_same(app: App, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "vault", {"a.md": "# A\n\n[[b]] #sea\n", "b.md": "---\ntags: [x]\n---\nB.\n"}))
    write_bundle(exported(app, "vault"), tmp_path / "again")
    take_in(app, tmp_path / "again")
    documents = {one.path: one for one in app.documents.all(LOCAL)}
    for name in ("a.md", "b.md"):
        before, after = documents[f"vault/{name}"], documents[f"again/{name}"]
        assert (before.title, before.tags, before.date) == (after.title, after.tags, after.date)
        assert {*after.properties} - {*before.properties} == {"type=note"}
    before = exported(app, "again").files
    write_bundle(exported(app, "again"), tmp_path / "third")
    assert {path: text.encode() for path, text in files_in(tmp_path / "third").items() if path != MARK} == before


def test_what_may_have_texts_of_others_stays_marked(app: App, tmp_path: Path) -> None:
    own = "---\ntype: Note\ntrust: own\n---\n# Heard\n"
    texts = ["# Heard\n", own, own.replace("\n", "\r\n"), "---\n{type: Note, trust: own}\n---\n# Heard\n"]
    for at, text in enumerate(texts):
        draft = checked_draft("create", text, None, None, None, None)
        app.authoring.write(LOCAL, f"heard/{at}.md", draft, expect=None, origin=Origin(("tool server web",)))
        app.authoring.write(LOCAL, f"own/{at}.md", draft, expect=None, origin=Origin())
    write_bundle(exported(app), tmp_path / "again")
    take_in(app, tmp_path / "again")
    found = {one.path: bool(foreign_of(one)) for one in app.documents.all(LOCAL) if one.path.startswith("again/")}
    for at in range(len(texts)):
        assert (found[f"again/heard/{at}.md"], found[f"again/own/{at}.md"]) == (True, False), texts[at]


def test_notes_get_a_type_and_folders_an_index(app: App, tmp_path: Path) -> None:
    notes = {
        "decisions/one.md": "# Use [boats]\n",
        "plain.txt": "Plain.\n",
        "toml.md": "+++\ntitle = 'T'\n+++\nText.\n",
        "broken.md": "---\ntype: [\n---\nText.\n",
        "empty.md": "---\ntype:\n---\nText.\n",
        "log.md": "# Diary\n\nNo log at all.\n",
        "home/index.md": "---\nowner: Ann\n---\n# Home\n",
    }
    take_in(app, written(tmp_path / "vault", notes))
    files = {path: text.decode() for path, text in exported(app, "vault").files.items()}
    assert files["decisions/one.md"] == "---\ntype: Decision\n---\n# Use [boats]\n"
    assert files["decisions/index.md"] == "# Decision\n\n* [Use (boats)](one.md)\n"
    assert {"plain.md", "toml.md", "broken.md", "empty.md", "log-note.md", "home/index-note.md"} < files.keys()
    assert "log.md" not in files
    assert files["index.md"].startswith('---\nokf_version: "0.2"\n---\n\n# Note\n\n')
    concepts = [text for path, text in files.items() if not path.endswith("index.md")]
    assert all(text.startswith("---\ntype: ") for text in concepts)


async def test_changes_are_logged_and_missing_entries_listed(app: App, connect: Connect, bundle: Path) -> None:
    new = {"path": "harbour/tables/cranes.md", "content": "---\ntype: Table\ndescription: All cranes.\n---\n# Cranes\n"}
    await call(connect, "write_document", **new)
    files = exported(app, bundle.name).files
    assert (
        files["tables/index.md"].decode()
        == f"{BUNDLE['tables/index.md']}\n# Table\n\n* [Cranes](cranes.md) - All cranes.\n"
    )
    head, day, rest = files["log.md"].decode().split("\n## ")
    assert head == "# Harbour log\n"
    assert "* **Creation**: [Cranes](/tables/cranes.md) by `write_document`." in day
    assert f"# Harbour log\n\n## {rest}" == BUNDLE["log.md"]


@pytest.mark.usefixtures("bundle")
def test_an_export_loses_nothing_that_is_there(app: App, tmp_path: Path) -> None:
    to = tmp_path / "out"
    write_bundle(exported(app, "harbour"), to)
    first = files_in(to)
    write_bundle(exported(app, "harbour"), to)
    assert files_in(to) == first
    (to / "own.txt").write_text("mine")
    write_bundle(exported(app, "harbour/metrics"), to)
    assert files_in(to).keys() == {"dues.md", "dues-old.md", "index.md", "own.txt", MARK}
    (to / "dues.md").write_text("changed")
    with pytest.raises(Refused, match="not as an export left it"):
        write_bundle(exported(app, "harbour"), to)
    assert (to / "dues.md").read_text() == "changed"
    with pytest.raises(NotFound, match="no documents below nowhere"):
        exported(app, "nowhere")


@each("hindrance", ["full", "file", "link inside", "marker"])
def test_an_export_refuses_a_folder_of_others(tmp_path: Path, hindrance: str) -> None:
    tmp_path = tmp_path / hindrance.replace(" ", "")
    tmp_path.mkdir()
    to, one = tmp_path / "out", Bundle({"a/b.md": b"---\ntype: Note\n---\n"})
    if hindrance == "file":
        to.write_text("a file")
    else:
        to.mkdir()
    if hindrance == "full":
        (to / "mine.md").write_text("mine")
    if hindrance == "marker":
        (to / MARK).write_text("{")
    if hindrance == "link inside":
        (tmp_path / "elsewhere").mkdir()
        (to / "a").symlink_to(tmp_path / "elsewhere")
        (to / MARK).write_text('{"okf_version": "0.2", "files": {}}')
    with pytest.raises(Refused):
        write_bundle(one, to)
    assert not [*tmp_path.rglob("b.md")]
