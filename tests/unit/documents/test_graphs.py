"""Graphs are kept for as long as documents are the same."""

from loci.core.identity import LOCAL
from loci.documents.graph.graph_cache import LONGEST_SECONDS, Graphs

from .conftest import Desk


def test_looking_again_at_what_has_not_changed_gives_the_same_graph(desk: Desk) -> None:
    desk.write("a.md", "See [[b]].")
    desk.write("b.md", "text")
    desk.run()
    now = [0.0]
    graphs = Graphs(desk.catalog, desk.index, lambda: now[0])
    before = graphs.of(LOCAL)
    now[0] += LONGEST_SECONDS
    assert graphs.of(LOCAL) is before


def test_a_document_without_a_passage_is_seen_within_a_minute(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    now = [0.0]
    graphs = Graphs(desk.catalog, desk.index, lambda: now[0])
    assert set(graphs.of(LOCAL).documents) == {"notes-a"}
    desk.write("empty.md", "")
    desk.run()
    now[0] += LONGEST_SECONDS
    assert set(graphs.of(LOCAL).documents) == {"notes-a", "notes-empty"}
