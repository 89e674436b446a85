"""`cluster_documents` as clients call it."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.mcp.server import build_server
from tests.surface.conftest import Connect
from tests.surface.ferries import BREAD, BRIEF, DEBRIEF, HARBOUR, MOON, NOTES, ROLLS
from tests.surface.results import call, failed, structured, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]


@pytest.fixture(autouse=True)
def folder(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


async def clusters(connect: Connect, **arguments: object) -> dict[str, Any]:
    return await call(connect, "cluster_documents", **arguments)


def ids(cluster: dict[str, Any]) -> set[str]:
    return {one["id"] for one in cluster["documents"]}


async def test_documents_are_grouped_by_what_they_are_about(connect: Connect) -> None:
    found = await clusters(connect)
    assert [ids(one) for one in found["clusters"]] == [{BRIEF, DEBRIEF, HARBOUR}, {BREAD, ROLLS}]
    assert [one["size"] for one in found["clusters"]] == [3, 2]
    assert (found["method"], found["compared_by"], found["total"]) == ("louvain", "links and TF-IDF", 2)
    assert (found["in_no_cluster"], found["alone"]) == ([{"id": MOON, "title": "Moon"}], 1)


async def test_a_label_is_words_that_the_documents_say(connect: Connect) -> None:
    ferry, oven = (await clusters(connect))["clusters"]
    assert ferry["label"] == ", ".join(ferry["terms"][:3])
    assert set(ferry["terms"]) & {"ferry", "captain", "bell", "dawn", "harbour", "leaves", "rings"}
    assert set(oven["terms"]) & {"oven", "baker", "beech", "dough", "kneads", "heats", "hand"}


async def test_another_run_gives_the_same(app: App, connect: Connect) -> None:
    before = await clusters(connect)
    if app.settings.mode == "embedded":
        from mcp import Client

        async with Client(build_server(build_app(app.settings))) as client:
            assert structured(await client.call_tool("cluster_documents", {})) == before
    assert await clusters(connect) == before


async def test_tags_make_clusters_that_may_overlap(connect: Connect) -> None:
    found = await clusters(connect, method="tags", min_size=1)
    assert {one["label"]: ids(one) for one in found["clusters"]} == {
        "ferry": {BRIEF, DEBRIEF, HARBOUR},
        "map": {HARBOUR},
        "oven": {BREAD},
    }
    assert {one["id"] for one in found["in_no_cluster"]} == {ROLLS, MOON}
    assert found["compared_by"] == "tags"


async def test_what_is_shown_is_bounded_and_counted(connect: Connect) -> None:
    [first] = (found := await clusters(connect, limit=1, documents=2))["clusters"]
    assert (len(first["documents"]), first["size"], found["total"]) == (2, 3, 2)
    large = await clusters(connect, min_size=3)
    assert ([one["size"] for one in large["clusters"]], large["alone"]) == ([3], 3)


async def test_an_unknown_method_is_an_error(connect: Connect) -> None:
    assert "method" in await failed(connect, "cluster_documents", method="magic")


async def test_an_empty_library_has_no_clusters(app: App, connect: Connect) -> None:
    app.documents.parts.library.remove(LOCAL, app.documents.parts.library.documents(LOCAL))
    found = await clusters(connect)
    assert (found["clusters"], found["total"], found["alone"]) == ([], 0, 0)
