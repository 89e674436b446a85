"""The documents to read: their order, their reasons and their tokens."""

from dataclasses import replace

from loci.documents.document import Document
from loci.graph.graph import Graph, Link, build_graph
from loci.graph.reading_list import ReadingCandidate, pagerank, reading_candidates, reading_list
from loci.markdown.nouns import Mention, Relation, WrittenLinks
from loci.search.ranking import Chunk, Explanation, Hit
from tests.support.each import each

WHY = Explanation(None, None, 1, None, None, None, None, None, None)


def document(id: str, date: str | None = None) -> Document:
    return Document(id, f"r/{id}.md", "r", id.title(), (), date, f"sha {id}", 400, 9, 1, None, "2026-01-01T00:00:00Z")


def graph(*links: tuple[str, str, Relation], dates: dict[str, str] | None = None) -> Graph:
    said: dict[str, WrittenLinks] = {}
    for source, target, relation in links:
        mentions = said.get(source, WrittenLinks()).mentions
        said[source] = WrittenLinks(mentions=(*mentions, Mention(target, "name", relation, 1, "")))
    return build_graph([document(id, (dates or {}).get(id)) for id in "abcdef"], said)


def hit(id: str, score: float = 0.8) -> Hit:
    chunk = Chunk(f"{id}#0", id, f"r/{id}.md", id, (), 3, 5, "t" * 100, "h", "")
    return Hit(chunk, score, "hybrid", f"what {id} says", WHY)


def reasons(found: list[ReadingCandidate]) -> dict[str, str]:
    return {one.document.id: one.reason for one in found}


def test_what_answers_comes_before_what_lies_around_it() -> None:
    found = reading_candidates(graph(("a", "c", "references")), [hit("a"), hit("b")], {}, 10)
    assert [one.document.id for one in found][-1] == "c"
    assert reasons(found)["a"] == "Answers the question: what a says"


@each(
    ("links", "reason"),
    [
        ((("c", "a", "follows"),), 'What follows "A"'),
        ((("c", "a", "implements"),), 'Puts "A" into practice'),
        ((("a", "c", "follows"),), 'What "A" follows'),
        ((("a", "c", "references"),), 'Linked from "A"'),
        ((("a", "c", "references"), ("b", "c", "references")), 'Linked from 2 of these: "A", "B"'),
        ((("c", "a", "references"),), 'Links to "A"'),
        ((("a", "d", "references"), ("d", "c", "references")), "A few links away from what answers"),
    ],
)
def test_each_has_a_reason(links: tuple[tuple[str, str, Relation], ...], reason: str) -> None:
    assert reasons(reading_candidates(graph(*links), [hit("a"), hit("b")], {}, 10))["c"] == reason


def test_what_resembles_an_answer_is_near_it() -> None:
    similar = {"a": (Link("a", "c", "similar", similarity=0.83),)}
    assert reasons(reading_candidates(graph(), [hit("a")], similar, 10))["c"] == 'Resembles "A" (0.83)'


def test_of_equally_near_ones_the_younger_comes_first() -> None:
    links: list[tuple[str, str, Relation]] = [("a", "c", "references"), ("a", "d", "references")]
    dates = {"c": "2024-01-01", "d": "2026-01-01"}
    found = reading_candidates(graph(*links, dates=dates), [hit("a")], {}, 10)
    assert [one.document.id for one in found] == ["a", "d", "c"]


def test_nothing_answers_so_there_is_nothing_to_read() -> None:
    assert reading_candidates(graph(("a", "b", "references")), [], {}, 10) == []


def some(*ids: str) -> list[ReadingCandidate]:
    return [ReadingCandidate(document(id), "", hit(id)) for id in ids]


def test_unread_ones_come_first_and_what_has_changed_since_is_unread() -> None:
    read = {"a": "sha a", "b": "another"}
    chosen, left_out = reading_list(some("a", "b", "c"), read, lambda _: 10, 100)
    assert [(one.document.id, one.is_read) for one in chosen] == [("b", False), ("c", False), ("a", True)]
    assert left_out == []


def test_the_tokens_are_never_exceeded() -> None:
    chosen, left_out = reading_list(some("a", "b", "c"), {}, lambda one: 60 if one.document.id == "a" else 30, 100)
    assert [one.document.id for one in chosen] == ["a", "b", "c"]
    assert sum(one.tokens for one in chosen) <= 100
    assert left_out == []


def test_of_what_is_too_long_the_passage_that_answers_is_taken() -> None:
    [one] = reading_list(some("a"), {}, lambda _: 400, 150)[0]
    assert (one.lines, one.tokens) == ("3-5", 100)


def test_what_does_not_fit_is_named() -> None:
    without = [replace(one, hit=None) for one in some("a", "b")]
    assert reading_list(without, {}, lambda _: 400, 150)[1] == [
        '"A" (400 tokens)',
        '"B" (400 tokens)',
    ]


def test_walks_are_shares_of_one_and_end() -> None:
    around = {"a": {"b": 1.0, "c": 3.0}, "b": {"a": 1.0}, "c": {"a": 1.0}, "d": dict[str, float]()}
    found = pagerank({"a": 2.0, "d": 2.0}, around.__getitem__)
    assert found["a"] > found["c"] > found["b"] > 0
    assert found["d"] == 0.5
    assert 0.99 < sum(found.values()) <= 1 + 1e-9
