"""Links of every form, checked against a hand-written answer key."""

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from loci.documents.document import Document, ids_for
from loci.documents.link_resolution import DocumentNames, is_other_file
from loci.graph.graph import Graph, build_graph
from loci.markdown.markdown import parse
from loci.markdown.nouns import WrittenLinks
from tests.support.each import each
from tests.support.link_corpus import Answer, Note, lay_out, link_corpus
from tests.unit.documents.conftest import Desk, open_desk

NOTES = link_corpus()
ROOT = "harbour/"
parsed_once = cache(parse)


def taken_in(texts: Mapping[str, str]) -> tuple[list[Document], dict[str, WrittenLinks]]:
    documents: list[Document] = []
    said: dict[str, WrittenLinks] = {}
    for path, text in texts.items():
        parsed, id = parsed_once(path, text.encode()), next(iter(ids_for(path)))
        documents.append(
            Document(
                id=id,
                path=path,
                root="root",
                title=parsed.title,
                tags=parsed.tags,
                date=parsed.date and parsed.date.day,
                sha256="",
                bytes=0,
                lines=0,
                chunks=0,
                model=None,
                ingested_at="",
                problems=parsed.problems,
            )
        )
        said[id] = parsed.said
    return documents, said


def text_of(note: Note) -> str:
    return "\n".join(note.lines)


TEXTS = {f"{ROOT}{note.path}": text_of(note) for note in NOTES}


def test_there_are_enough_of_them() -> None:
    assert sum(len(answers) for note in NOTES for answers in note.answers.values()) >= 150


@each("note", [pytest.param(note, id=note.path) for note in NOTES])
def test_each_link_means_what_its_answer_says(note: Note) -> None:
    documents, said = taken_in(TEXTS)
    names = DocumentNames(documents, {id: one.aliases for id, one in said.items()})
    paths = {one.id: one.path for one in documents}
    [here] = [one for one in documents if one.path == f"{ROOT}{note.path}"]
    found: dict[int, set[Answer]] = {}
    for mention in said[here.id].mentions:
        resolved = names.resolve(here.path, mention)
        if resolved is None and is_other_file(mention):
            continue
        target = paths[resolved.document].removeprefix(ROOT) if resolved else "open"
        if target != note.path:
            found.setdefault(mention.line, set()).add(Answer(mention.relation, target))
    wanted = {line: set(answers) for line, answers in note.answers.items() if line and answers}
    assert found == wanted


@each("seed", range(20))
def test_a_graph_that_is_made_from_the_one_before_is_as_one_that_is_made_anew(seed: int) -> None:
    choice, texts, graph = random.Random(seed), dict(TEXTS), None
    for number in range(8):
        path = choice.choice(list(texts))
        match choice.randrange(4):
            case 0:
                texts[f"{ROOT}{choice.choice(['', 'docs/'])}new-{number}.md"] = texts.pop(path)
            case 1:
                del texts[path]
            case 2:
                texts[path] += f"\n[[{choice.choice(list(TEXTS)).rpartition('/')[2]}]]\n"
            case _:
                texts[path] = f"# Another title {number}\n\n[[Setup]] and [[Nothing]]\n"
        graph = build_graph(*taken_in(texts), graph)
        anew = build_graph(*taken_in(texts))
        assert (graph.outgoing, graph.incoming, graph.open) == (anew.outgoing, anew.incoming, anew.open)


def edges(graph: Graph) -> set[tuple[str, str, str]]:
    paths = {id: one.path for id, one in graph.documents.items()}
    return {
        (paths[link.source], link.relation, paths[link.target]) for links in graph.outgoing.values() for link in links
    }


def test_the_graph_has_all_of_them_and_no_other() -> None:
    wanted = {
        (f"{ROOT}{note.path}", answer.relation, f"{ROOT}{answer.target}")
        for note in NOTES
        for answers in note.answers.values()
        for answer in answers
        if answer.target != "open"
    }
    assert edges(build_graph(*taken_in(TEXTS))) == wanted


@each("seed", range(12))
def test_files_that_are_renamed_keep_their_links_in_both_directions(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / str(seed)
    folder.mkdir()
    desk = open_desk(folder)
    lay_out(NOTES, desk.notes)
    desk.run()
    before = edges(graph(desk))
    choice, moved = random.Random(seed), dict[str, str]()
    for path in choice.sample([note.path for note in NOTES if "brief" not in note.path], 4):
        moved[path] = f"{choice.choice(['', 'docs/', 'people/new/'])}renamed-{len(moved)}.md"
        (desk.notes / moved[path]).parent.mkdir(parents=True, exist_ok=True)
        (desk.notes / path).rename(desk.notes / moved[path])
    summary = desk.run()
    assert (summary.processed, summary.removed) == (len(moved), len(moved))
    now = {f"notes/{old}": f"notes/{new}" for old, new in moved.items()}
    assert edges(graph(desk)) == {(now.get(a, a), relation, now.get(b, b)) for a, relation, b in before}


def test_a_moved_document_that_is_edited_is_read_where_it_is(desk: Desk) -> None:
    desk.write("a/b.md", "[b](c.md)")
    desk.write("a/c.md", "old")
    desk.write("d/c.md", "new")
    desk.run()
    (desk.notes / "a/b.md").rename(desk.notes / "d/b.md")
    desk.run()
    assert edges(graph(desk)) == {("notes/d/b.md", "references", "notes/a/c.md")}
    desk.write("d/b.md", "[b](c.md), corrected")
    desk.run()
    assert edges(graph(desk)) == {("notes/d/b.md", "references", "notes/d/c.md")}


def test_a_new_document_takes_the_name_that_another_had(desk: Desk) -> None:
    desk.write("a.md", "[[b]]")
    desk.write("b.md", "one")
    desk.run()
    (desk.notes / "b.md").rename(desk.notes / "c.md")
    desk.run()
    assert edges(graph(desk)) == {("notes/a.md", "references", "notes/c.md")}
    desk.write("b.md", "two")
    desk.run()
    assert edges(graph(desk)) == {("notes/a.md", "references", "notes/b.md")}


def graph(desk: Desk) -> Graph:
    return build_graph(desk.library.documents(LOCAL), desk.catalog.mentions(LOCAL))
