"""The documents that links name, and the graph that they make."""

import sys
from pathlib import Path

from loci.core.identity import LOCAL
from loci.documents.document import Document
from loci.graph.graph import Graph, build_graph
from loci.graph.graphs import MAX_AGE_SECONDS, Graphs
from loci.markdown.nouns import Form, Mention, Relation, WrittenLinks
from tests.support.each import each

from .conftest import Desk, open_desk


def document(path: str, title: str = "", date: str | None = None) -> Document:
    id = path.rpartition(".")[0].replace("/", "-").replace(" ", "-").lower()
    return Document(id, path, "r", title or path, (), date, "x", 1, 1, 1, None, "2026-01-01T00:00:00Z")


def mention(target: str, form: Form = "name", relation: Relation = "references") -> Mention:
    return Mention(target, form, relation, 1, target)


def graph(*documents: Document, **written: WrittenLinks) -> Graph:
    return build_graph(documents, {id.replace("_", "-"): one for id, one in written.items()})


def linked(source: str, target: str, form: Form, *paths: str) -> str | None:
    """The path of the document that the target names in the source."""
    documents = [document(path) for path in (source, *paths)]
    made = build_graph(documents, {documents[0].id: WrittenLinks(mentions=(mention(target, form),))})
    [link] = made.outgoing.get(documents[0].id, ()) or [None]
    return made.documents[link.target].path if link else None


@each(
    ("target", "found"),
    [
        ("b.md", "r/a/b.md"),
        ("./b.md", "r/a/b.md"),
        ("b", "r/a/b.md"),
        ("../c/d.md", "r/c/d.md"),
        ("/c/d.md", "r/c/d.md"),
        ("c/d.md", "r/c/d.md"),
        ("../c", "r/c/index.md"),
        ("../c/", "r/c/index.md"),
        ("D.MD", "r/c/d.md"),
        ("moved/d.md", "r/c/d.md"),
        ("picture.png", None),
        ("nowhere.md", None),
        ("../../../etc/passwd", None),
    ],
)
def test_a_path_is_followed_from_where_it_stands_then_looked_for(target: str, found: str | None) -> None:
    assert linked("r/a/x.md", target, "path", "r/a/b.md", "r/c/d.md", "r/c/index.md") == found


@each("target", ["auth-guide", "Auth Guide", "auth_guide", "AUTH GUIDE", "auth-guide.md", "b/auth-guide"])
def test_a_name_is_looked_for_everywhere_however_it_is_written(target: str) -> None:
    assert linked("r/a/x.md", target, "name", "r/b/auth-guide.md") == "r/b/auth-guide.md"


def test_titles_aliases_and_ids_are_names_too() -> None:
    note = document("r/b/2026-note.md", "What we know")
    made = build_graph(
        [document("r/x.md"), note],
        {
            note.id: WrittenLinks(aliases=("Knowledge",)),
            "r-x": WrittenLinks(mentions=(mention("what we know"), mention("knowledge", relation="follows"))),
        },
    )
    assert [(one.target, one.relation) for one in made.outgoing["r-x"]] == [
        (note.id, "references"),
        (note.id, "follows"),
    ]


def test_of_two_by_one_name_the_nearest_is_meant_and_the_other_told() -> None:
    documents = [document(path) for path in ("r/a/b/x.md", "r/a/note.md", "r/c/note.md")]
    made = build_graph(documents, {"r-a-b-x": WrittenLinks(mentions=(mention("note"),))})
    [link] = made.outgoing["r-a-b-x"]
    assert (link.target, link.other_targets) == ("r-a-note", ("r-c-note",))


def test_a_file_s_name_counts_more_than_another_s_title() -> None:
    made = graph(
        document("r/x.md"),
        document("r/a/plan.md"),
        document("r/b.md", "Plan"),
        r_x=WrittenLinks(mentions=(mention("plan"),)),
    )
    assert [one.target for one in made.outgoing["r-x"]] == ["r-a-plan"]


def test_what_is_not_here_is_kept_open_and_found_when_it_comes() -> None:
    said = {"r-x": WrittenLinks(mentions=(mention("later"),))}
    before = build_graph([document("r/x.md")], said)
    assert [one.mention.target for one in before.open["r-x"]] == ["later"]
    assert not before.outgoing
    after = build_graph([document("r/x.md"), document("r/sub/later.md")], said)
    assert [one.target for one in after.outgoing["r-x"]] == ["r-sub-later"]
    assert not after.open


def test_a_link_is_known_from_both_ends_and_none_leads_to_itself() -> None:
    made = graph(document("r/x.md"), document("r/y.md"), r_x=WrittenLinks(mentions=(mention("y"), mention("x"))))
    assert made.outgoing["r-x"] == made.incoming["r-y"]
    assert len(made.outgoing["r-x"]) == 1


def test_a_debrief_follows_the_last_brief_of_its_name_before_it() -> None:
    made = graph(
        document("r/briefs/2026-01-10-login.md", date="2026-01-10"),
        document("r/briefs/2026-03-10-login.md", date="2026-03-10"),
        document("r/briefs/2026-01-10-other.md", date="2026-01-10"),
        document("r/debriefs/2026-02-03-login.md", date="2026-02-03"),
    )
    [link] = made.outgoing["r-debriefs-2026-02-03-login"]
    assert (link.target, link.relation, link.line) == ("r-briefs-2026-01-10-login", "follows", None)


def test_to_look_at_the_links_of_one_takes_as_many_steps_among_many_as_among_few(tmp_path: Path) -> None:
    def steps(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        desk = open_desk(folder)
        for number in range(count):
            desk.write(f"{number}.md", f"[[{(number + 1) % count}]]")
        desk.run()
        graphs = Graphs(desk.catalog, desk.index, desk.embedder, lambda: 0.0)
        graphs.for_owner(LOCAL)
        done = 0

        def step(*_: object) -> None:
            nonlocal done
            done += 1

        sys.setprofile(step)
        links = graphs.for_owner(LOCAL).outgoing["notes-0"]
        sys.setprofile(None)
        assert [link.target for link in links] == ["notes-1"]
        return done

    assert steps(300) == steps(3)


def test_if_nothing_has_changed_the_graph_is_the_same_object(desk: Desk) -> None:
    desk.write("a.md", "See [[b]].")
    desk.write("b.md", "text")
    desk.run()
    now = [0.0]
    graphs = Graphs(desk.catalog, desk.index, desk.embedder, lambda: now[0])
    before = graphs.for_owner(LOCAL)
    now[0] += MAX_AGE_SECONDS
    assert graphs.for_owner(LOCAL) is before


def test_a_document_without_a_passage_is_seen_within_a_minute(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    now = [0.0]
    graphs = Graphs(desk.catalog, desk.index, desk.embedder, lambda: now[0])
    assert set(graphs.for_owner(LOCAL).documents) == {"notes-a"}
    desk.write("empty.md", "")
    desk.run()
    now[0] += MAX_AGE_SECONDS
    assert set(graphs.for_owner(LOCAL).documents) == {"notes-a", "notes-empty"}
