"""`similar` links as clients see them: inferred, with their figure, and never taken for written ones."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from tests.surface.conftest import Connect
from tests.surface.ferries import BREAD, BRIEF, MOON, NOTES, ROLLS
from tests.surface.results import call, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]


@pytest.fixture(autouse=True)
def folder(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


async def explore(connect: Connect, **arguments: object) -> list[dict[str, Any]]:
    return (await call(connect, "explore_links", **arguments))["result"]


async def test_mutual_nearest_documents_are_linked_with_their_figure(connect: Connect) -> None:
    [edge] = await explore(connect, id=BREAD)
    assert (edge["target"], edge["type"], edge["direction"]) == (ROLLS, "similar", "outgoing")
    assert (edge["inferred"], edge["line"], edge["evidence"]) == (True, None, "Compared by TF-IDF")
    assert 0.2 <= edge["similarity"] <= 1


async def test_it_is_the_same_from_either_end_and_comes_once(connect: Connect) -> None:
    [there] = await explore(connect, id=BREAD, relation="similar", direction="both")
    [back] = await explore(connect, id=ROLLS, relation="similar", direction="incoming")
    assert (back["target"], back["direction"]) == (BREAD, "incoming")
    assert back["similarity"] == there["similarity"]


async def test_what_is_unlike_everything_has_none(connect: Connect) -> None:
    assert await explore(connect, id=MOON, direction="both") == []


async def test_another_relation_leaves_them_out(connect: Connect) -> None:
    assert await explore(connect, id=BREAD, relation="references") == []


async def test_they_change_with_the_documents(app: App, connect: Connect, folder: Path) -> None:
    assert [edge["target"] for edge in await explore(connect, id=BREAD, relation="similar")] == [ROLLS]
    (folder / "rolls.md").write_text("# Rolls\n\nWheels under a cart.\n")
    take_in(app, folder)
    assert await explore(connect, id=BREAD, relation="similar") == []


async def test_an_inferred_link_closes_no_gap(connect: Connect) -> None:
    found = (await call(connect, "find_gaps", threshold=0.2))["result"]
    assert {BREAD, ROLLS} in [{one["source_id"], one["target_id"]} for one in found]


async def test_neighbours_are_reached_over_them_only_on_request(connect: Connect) -> None:
    assert (await call(connect, "graph_neighbors", id=BREAD))["neighbors"] == []
    [near] = (await call(connect, "graph_neighbors", id=BREAD, similar=True))["neighbors"]
    assert near["way"] == [{"id": ROLLS, "type": "similar", "direction": "outgoing"}]


async def test_a_written_link_is_walked_before_an_inferred_one(connect: Connect) -> None:
    near = (await call(connect, "graph_neighbors", id=BRIEF, similar=True))["neighbors"]
    ways = {one["id"]: one["way"] for one in near if one["distance"] == 1}
    assert ways["notes-debriefs-2026-02-03-timetable"][0]["type"] == "follows"
