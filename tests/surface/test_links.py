"""The graph's tools as clients call them."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.support.link_corpus import lay_out, link_corpus
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("app", RUNTIMES, indirect=True),
]

NOTES = {
    "briefs/2026-01-10-login.md": "# Login\n\nSign in. See [[Safari]] and [the plan](../plan.md#when).\n",
    "debriefs/2026-02-03-login.md": "# What we learned\n\nIt works; [[not yet written]].\n",
    "playbooks/cookies.md": "---\nimplements: 2026-01-10-login\naliases: [Safari]\n---\n# Cookies\n",
    "plan.md": "# Plan\n\nSoon.\n",
}
BRIEF, DEBRIEF, PLAYBOOK = "notes-briefs-2026-01-10-login", "notes-debriefs-2026-02-03-login", "notes-playbooks-cookies"


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


async def explore(connect: Connect, **arguments: object) -> list[dict[str, Any]]:
    return (await call(connect, "explore_links", **arguments))["result"]


@pytest.mark.usefixtures("notes")
async def test_all_outgoing_links_come_with_their_evidence(connect: Connect) -> None:
    edges = await explore(connect, id=BRIEF)
    assert [(one["target"], one["type"]) for one in edges] == [(PLAYBOOK, "references"), ("notes-plan", "references")]
    assert {(one["line"], one["evidence"]) for one in edges} == {
        (3, "Sign in. See [[Safari]] and [the plan](../plan.md#when).")
    }
    assert [one["anchor"] for one in edges] == [None, "when"]


@pytest.mark.usefixtures("notes")
@each("relation", ["implements", "IMPLEMENTS"])
async def test_a_relation_chooses_links(connect: Connect, relation: str) -> None:
    [edge] = await explore(connect, id=PLAYBOOK, relation=relation)
    assert edge["target"] == BRIEF
    assert await explore(connect, id=PLAYBOOK, relation="cites") == []


@pytest.mark.usefixtures("notes")
async def test_incoming_links_come_on_request(connect: Connect) -> None:
    edges = await explore(connect, id=BRIEF, direction="incoming")
    assert {(one["target"], one["type"], one["direction"]) for one in edges} == {
        (DEBRIEF, "follows", "incoming"),
        (PLAYBOOK, "implements", "incoming"),
    }
    both = await explore(connect, id=BRIEF, direction="both")
    assert len(both) == 4


@pytest.mark.usefixtures("notes")
async def test_a_debrief_follows_its_brief_though_nobody_wrote_so(connect: Connect) -> None:
    [edge] = await explore(connect, id=DEBRIEF)
    assert (edge["target"], edge["type"], edge["inferred"]) == (BRIEF, "follows", True)


async def test_links_of_every_form_lead_where_people_say(app: App, connect: Connect, tmp_path: Path) -> None:
    notes = link_corpus()
    lay_out(notes, tmp_path / "harbour")
    take_in(app, tmp_path / "harbour")
    wanted = {(note.path, one.relation, one.target) for note in notes for line in note.answers.values() for one in line}
    found: set[tuple[str, str, str]] = set()
    ids = {one.path.removeprefix("harbour/"): one.id for one in app.documents.parts.library.documents(LOCAL)}
    for note in notes:
        for edge in await explore(connect, id=ids[note.path], unresolved=True):
            if edge["type"] not in ("similar", "supersedes"):  # nobody writes that one
                found.add((note.path, edge["type"], (edge["path"] or "open").removeprefix("harbour/")))
    assert found == wanted


async def test_a_sentence_or_a_status_gives_a_link_its_relation_and_the_other_document_the_inverse(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    folder = written(
        tmp_path / "adr",
        {
            "0001-sqlite.md": "---\nstatus: superseded by ADR-0003\n---\n# Use SQLite\n\nSee [two](0002-dates.md).\n",
            "0002-dates.md": "# Dates\n\n* Status: superseded by [three](0003-postgres.md)\n",
            "0003-postgres.md": "# Postgres\n\nThis amends the dates in [four][f]. It depends on [[0005-pool]].\n\n"
            "[f]: 0004-zones.md\n",
            "0004-zones.md": "# Zones\n\nSee [[0003-postgres]], which replaces [five](0005-pool.md).\n",
            "0005-pool.md": "# Pool\n\nFollows [[0004-zones]]. Is not replaced by [[0001-sqlite]].\n",
        },
    )
    take_in(app, folder)

    async def edges(number: int) -> set[tuple[str, str]]:
        [file] = folder.glob(f"000{number}-*")
        found = await explore(connect, id=f"adr-{file.stem}")
        return {
            (edge["type"], edge["target"].removeprefix("adr-000")[:1]) for edge in found if edge["type"] != "similar"
        }

    assert await edges(1) == {("superseded_by", "3"), ("references", "2")}
    assert await edges(2) == {("superseded_by", "3")}
    assert await edges(3) == {("supersedes", "1"), ("supersedes", "2"), ("amends", "4"), ("depends_on", "5")}
    assert await edges(4) == {("amended_by", "3"), ("references", "3"), ("references", "5")}
    assert await edges(5) == {("follows", "4"), ("references", "1")}
    [one, _] = await explore(connect, id="adr-0003-postgres", relation="replaces")
    assert (one["direction"], one["inferred"]) == ("outgoing", True)
    assert one["evidence"] == "adr/0001-sqlite.md, line 2: status: superseded by ADR-0003"


async def test_links_follow_a_file_that_is_renamed(app: App, connect: Connect, notes: Path) -> None:
    (notes / "later").mkdir()
    (notes / "plan.md").rename(notes / "later" / "programme.md")
    (notes / "playbooks" / "cookies.md").rename(notes / "cookies.md")
    take_in(app, notes)
    edges = await explore(connect, id=BRIEF, direction="both")
    assert [(one["target"], one["type"]) for one in edges] == [
        ("notes-cookies", "references"),
        ("notes-later-programme", "references"),
        ("notes-cookies", "implements"),
        (DEBRIEF, "follows"),
    ]


async def test_what_is_not_here_is_listed_until_it_is(app: App, connect: Connect, notes: Path) -> None:
    [_, open_link] = await explore(connect, id=DEBRIEF, unresolved=True)
    assert (open_link["target"], open_link["title"]) == (None, "not yet written")
    (notes / "Not yet written.md").write_text("# Now it is\n")
    take_in(app, notes)
    edges = await explore(connect, id=DEBRIEF, relation="references", unresolved=True)
    assert [one["target"] for one in edges] == ["notes-not-yet-written"]


async def test_a_changed_link_changes_the_graph(app: App, connect: Connect, notes: Path) -> None:
    (notes / "playbooks" / "cookies.md").write_text("---\nfollows: plan\n---\n# Cookies\n")
    take_in(app, notes)
    assert [(one["target"], one["type"]) for one in await explore(connect, id=PLAYBOOK)] == [("notes-plan", "follows")]
    assert PLAYBOOK not in {one["target"] for one in await explore(connect, id=BRIEF)}
    (notes / "plan.md").unlink()
    take_in(app, notes)
    assert await explore(connect, id=PLAYBOOK) == []


@pytest.mark.usefixtures("notes")
async def test_an_unknown_document_or_relation_is_an_error(connect: Connect) -> None:
    assert "Node not found." in await failed(connect, "explore_links", id="notes-plam")
    assert "references, follows, implements, similar" in await failed(
        connect, "explore_links", id=BRIEF, relation="hates"
    )
    assert "id" in await failed(connect, "explore_links")


@pytest.mark.usefixtures("notes")
async def test_neighbours_come_nearest_first_with_the_shortest_way(connect: Connect) -> None:
    found = (await call(connect, "graph_neighbors", id="notes-plan"))["neighbors"]
    assert [(one["id"], one["distance"]) for one in found] == [(BRIEF, 1), (PLAYBOOK, 2), (DEBRIEF, 2)]
    assert found[2]["way"] == [
        {"id": BRIEF, "type": "references", "direction": "incoming"},
        {"id": DEBRIEF, "type": "follows", "direction": "incoming"},
    ]


@pytest.mark.usefixtures("notes")
async def test_neighbours_are_bounded_by_depth_and_limit(connect: Connect) -> None:
    near = await call(connect, "graph_neighbors", id="notes-plan", depth=1)
    assert ([one["id"] for one in near["neighbors"]], near["truncated"]) == ([BRIEF], False)
    few = await call(connect, "graph_neighbors", id="notes-plan", limit=2)
    assert (len(few["neighbors"]), few["truncated"]) == (2, True)


@pytest.fixture
def twins(app: App, tmp_path: Path) -> None:
    """Notes of which two belong together, two are one, and one stands alone."""
    folder = tmp_path / "notes"
    folder.mkdir()
    ferry = "The ferry leaves the harbour at dawn when the captain rings the bell. "
    for name, text in {
        "harbour.md": ferry * 3 + "Tickets are sold on the pier.",
        "timetable.md": ferry * 3 + "In winter it stays at anchor.",
        "copy.md": ferry * 3 + "In winter it stays at anchor.",
        "bread.md": "Flour, water, salt, and an oven that is hot enough.",
    }.items():
        (folder / name).write_text(f"# {name.partition('.')[0]}\n\n{text}\n")
    take_in(app, folder)


async def gaps_of(connect: Connect, **arguments: object) -> list[dict[str, Any]]:
    return (await call(connect, "find_gaps", **arguments))["result"]


@pytest.mark.usefixtures("twins")
async def test_gaps_are_similar_documents_without_a_link(connect: Connect) -> None:
    found = await gaps_of(connect, threshold=0.2)
    assert {frozenset((one["source_id"], one["target_id"])) for one in found} == {
        frozenset(("notes-copy", "notes-timetable")),
        frozenset(("notes-harbour", "notes-timetable")),
        frozenset(("notes-copy", "notes-harbour")),
    }
    assert found[0]["similarity"] >= found[-1]["similarity"] >= 0.2
    assert all("ferry" in one["reason"] or "captain" in one["reason"] for one in found[1:])
    assert {one["compared_by"] for one in found} == {"TF-IDF"}


@pytest.mark.usefixtures("twins")
async def test_limit_and_threshold_are_honoured(connect: Connect) -> None:
    assert len(await gaps_of(connect, threshold=0.2, limit=1)) == 1
    assert all(one["similarity"] >= 0.95 for one in await gaps_of(connect, threshold=0.95))
    assert await gaps_of(connect, threshold=1.0) == []


@pytest.mark.usefixtures("twins")
async def test_a_written_link_closes_a_gap(app: App, connect: Connect, tmp_path: Path) -> None:
    before = await gaps_of(connect, threshold=0.2)
    note = tmp_path / "notes" / "harbour.md"
    note.write_text(f"{note.read_text()}\nSee [[timetable]] and [[copy]].\n")
    take_in(app, tmp_path / "notes")
    after = await gaps_of(connect, threshold=0.2)
    assert len(before) == 3
    assert [{one["source_id"], one["target_id"]} for one in after] == [{"notes-copy", "notes-timetable"}]


async def test_an_empty_library_has_no_gaps(connect: Connect) -> None:
    assert await gaps_of(connect) == []


@pytest.mark.usefixtures("notes")
async def test_links_are_followed_as_deep_as_asked(connect: Connect) -> None:
    def seen(edges: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
        return {(one["target"], one["type"], ">".join(one.get("way") or ())) for one in edges}

    direct = await explore(connect, id=DEBRIEF)
    assert seen(direct) == {(BRIEF, "follows", "")}
    assert seen(await explore(connect, id=DEBRIEF, depth=2)) == {
        (BRIEF, "follows", ""),
        (PLAYBOOK, "references", BRIEF),
        ("notes-plan", "references", BRIEF),
    }
    assert seen(await explore(connect, id=DEBRIEF, depth=3, relation="follows")) == seen(direct)
    backwards = await explore(connect, id="notes-plan", direction="incoming", depth=3)
    assert {one["target"] for one in backwards} >= {BRIEF, DEBRIEF, PLAYBOOK}


LOOSE = {
    "old.md": "---\nstatus: Accepted\ndate: 2021-03-04\n---\n# Ferries by steam\n\nSee [[harbour dues]].\n",
    "new.md": "---\ndate: 2020-01-02\n---\n# Ferries by sail\n\nSupersedes [[old]].\n",
    "bread.md": "# Bread\n\nFlour, water and salt.\n",
    "dues.md": "---\nstale_after: 2024-05-06\n---\n# Dues\n\nSee [[harbour]].\n"
    "The harbour dues are 40 coins a berth.\n",
    "later.md": "---\nstale_after: 9999-05-06\nvalid_until: 9999-01-01\n---\n# Later\n\nSee [[dues]].\n"
    "The harbour dues are 50 coins a berth.\n",
    "harbour.md": "---\nvalid_until: 2024-05-06\nstatus: retired\n---\n# Harbour\n",
}


@each(
    ("kind", "expected"),
    [
        ("orphan", [("notes-bread", None, "No note links to it, and it links to none.")]),
        ("dead_link", [("notes-old", "harbour dues", "Line 7 links to 'harbour dues', and there is no such note.")]),
        (
            "contradiction",
            [
                (
                    "notes-new",
                    "notes-old",
                    "Ferries by sail supersedes Ferries by steam, whose status is still accepted.",
                ),
                (
                    "notes-new",
                    "notes-old",
                    "Ferries by sail supersedes Ferries by steam, but is older: 2020-01-02 is before 2021-03-04.",
                ),
                (
                    "notes-dues",
                    "notes-later",
                    "40 coins or 50 coins? Line 7 says “The harbour dues are 40 coins a berth.”, and line 8 of"
                    " notes/later.md says “The harbour dues are 50 coins a berth.”. Correct one, or let the"
                    " newer one supersede the other.",
                ),
            ],
        ),
        ("duplicate", []),
        (
            "stale",
            [
                (
                    "notes-dues",
                    None,
                    "It says: stale after 2024-05-06. Confirm it with a later day, or supersede it.",
                )
            ],
        ),
    ],
)
async def test_loose_ends_of_each_kind_are_found(
    app: App, connect: Connect, tmp_path: Path, kind: str, expected: list[tuple[str, str | None, str]]
) -> None:
    take_in(app, written(tmp_path / "notes", LOOSE))
    found = await gaps_of(connect, kind=kind)
    assert [(one["source_id"], one["target_id"], one["reason"]) for one in found] == expected
