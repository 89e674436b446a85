"""The picture of a graph, and its JSON."""

import pytest

from loci.core.identity import LOCAL
from loci.graph.graph import Graph, build_graph
from loci.graph.picture import PictureSource
from loci.web.graph_routes import drawn, facts
from tests.unit.documents.conftest import Desk, desk

__all__ = ["desk"]

NOTES = {
    "index.md": "# Start\n\n[[login]], [[cookies]] and [[not yet]].\n",
    "briefs/login.md": "# Login\n\n[[cookies]] and [[Not yet]], [[not yet]]\n",
    "briefs/old/first.md": "# First\n",
    "playbooks/cookies.md": "# Cookies\n",
}


@pytest.fixture
def graph(desk: Desk) -> Graph:
    for path, text in NOTES.items():
        desk.write(path, text)
    desk.run()
    return build_graph(desk.library.documents(LOCAL), desk.catalog.mentions(LOCAL))


def test_groups_can_be_given(graph: Graph) -> None:
    shown = PictureSource(graph, groups=dict.fromkeys(graph.documents, ("k1", "all of them", "Start"))).picture()
    assert [(one.id, one.label, one.name, one.size) for one in shown.groups] == [("k1", "all of them", "Start", 4)]


def test_the_most_linked_are_shown_where_there_are_too_many(graph: Graph) -> None:
    shown = PictureSource(graph).picture(3)
    assert [one.id for one in shown.documents] == ["notes-briefs-login", "notes-index", "notes-playbooks-cookies"]
    assert shown.total == 4
    few = PictureSource(graph).picture(1)
    assert [one.target for one in few.links] == []


def test_what_is_missing_comes_once_with_all_who_mention_it(graph: Graph) -> None:
    shown = PictureSource(graph).picture()
    places = [one.id for one in shown.documents]
    by = [places.index("notes-briefs-login"), places.index("notes-index")]
    assert drawn(shown, None)["missing"] == [["Not yet", by]]


def test_links_name_documents_by_their_places(graph: Graph) -> None:
    shown = PictureSource(graph).picture()
    places = {one.id: at for at, one in enumerate(shown.documents)}
    by_place, by_id = drawn(shown, None)["links"], facts(shown, [])["links"]
    assert isinstance(by_place, list)
    assert isinstance(by_id, list)
    assert [places["notes-index"], places["notes-briefs-login"], "references"] in by_place
    wanted = {"source": "notes-index", "target": "notes-briefs-login", "type": "references", "line": 3}
    assert any(isinstance(one, dict) and wanted.items() <= one.items() for one in by_id)


def test_an_empty_library_has_an_empty_picture() -> None:
    shown = PictureSource(build_graph([], {})).picture()
    assert (shown.documents, shown.groups, shown.total) == ((), (), 0)
