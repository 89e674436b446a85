"""What every `DocumentIndex` finds: by words, by vectors, as many as asked for, and only what fits."""

import pytest

from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex
from loci.search.ranking import IndexCounts, TagsAndDate, Where
from tests.contract.indexes import (
    EAST,
    NORTH,
    NOTES,
    OTHER_MODEL,
    SOUTH_WEST,
    by_vector,
    by_words,
    candidate,
    chunk,
    embedding,
    find,
    put,
    someone,
    vector,
)
from tests.support.each import each

# Words


def scores(index: DocumentIndex, owner: Owner, *words: str) -> dict[str, float]:
    """The score of each chunk that has any of these words."""
    found = index.candidates(owner, NOTES, words, None, limit=50, where=Where())
    return {one.chunk: one.bm25 for one in found if one.bm25 is not None}


def test_a_chunk_is_found_by_one_of_its_words_and_by_no_other(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "horses cross the river"), chunk("b#0", "stones in a garden"))
    assert by_words(find(index, ann, "river")) == ["a#0"]
    assert find(index, ann, "riverbed") == []


def test_who_has_more_of_the_words_comes_first(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "the engine runs cold"), chunk("b#0", "the engines were running in the garden"))
    put(index, ann, chunk("c#0", "a garden of stones"))
    assert by_words(find(index, ann, "running engines garden"))[0] == "b#0"


def test_a_rare_word_weighs_more_than_a_common_one(index: DocumentIndex, ann: Owner) -> None:
    common = [chunk(f"{number:02}#0", "garden wall stone tree") for number in range(20)]
    put(index, ann, *common, chunk("rare#0", "quixotic wall stone tree"))
    assert by_words(find(index, ann, "garden quixotic"))[0] == "rare#0"


def test_a_word_that_comes_twice_counts_twice(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river and wall"), chunk("b#0", "stone and wall"))
    put(index, ann, *[chunk(f"c{number}#0", "garden of trees") for number in range(20)])
    once, twice = scores(index, ann, "river", "stone"), scores(index, ann, "river", "stone", "stone")
    assert twice["a#0"] == once["a#0"]
    assert twice["b#0"] == pytest.approx(2 * once["b#0"])  # pyright: ignore[reportUnknownMemberType]


def test_the_same_words_in_another_order_have_the_same_scores(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river and wall"), *[chunk(f"c{number}#0", "a garden wall") for number in range(9)])
    one, other = scores(index, ann, "river", "wall", "river"), scores(index, ann, "wall", "river", "river")
    assert one == pytest.approx(other)  # pyright: ignore[reportUnknownMemberType]


def test_what_only_the_vector_finds_has_the_exact_score_of_its_words(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river river", SOUTH_WEST), chunk("b#0", "a river in the garden", EAST))
    put(index, ann, *[chunk(f"c{number}#0", "stones and walls") for number in range(9)])
    found = find(index, ann, "river", vector(1, 0), limit=1)
    assert (by_words(found), by_vector(found)) == (["a#0"], ["b#0"])
    alone = candidate(find(index, ann, "river"), "b#0")
    assert candidate(found, "b#0").bm25 == pytest.approx(alone.bm25, rel=1e-5)  # pyright: ignore[reportUnknownMemberType]


@each(
    ("text", "question"),
    [
        ("东京的天气很好", "天气"),
        ("図書館は駅の近くです", "図書館"),
        ("도서관은 역 근처에 있다", "도서관"),
        ("see parse_http_header in the source", "parse_http_header"),
        ("see parse_http_header in the source", "header"),
        ("call XMLHttpRequest first", "xml"),
        ("set retry.max-attempts to three", "retry.max-attempts"),
        ("Crème brûlée à la carte", "creme brulee"),
        ("Ελληνικά κείμενα", "κείμενα"),
        ("invoice 4711 of 2026", "4711"),
        ("release 2.19.1", "2.19.1"),
        ("revenue of FY2018", "FY2018"),
        ("revenue of FY2018", "2018"),
        ("don't panic", "dont"),
    ],
)
def test_what_our_words_say_is_one_word_is_found_as_one(index: DocumentIndex, text: str, question: str) -> None:
    ann = someone()
    put(index, ann, chunk("a#0", text), chunk("b#0", "nothing of the kind"))
    assert by_words(find(index, ann, question)) == ["a#0"]


HOSTILE = (
    '"',
    '""',
    'a" OR words:"b',
    "*",
    "riv*",
    "-river",
    "NOT",
    "AND OR NOT NEAR",
    "words:river",
    "scope:_1",
    "(river",
    "river)",
    "^river",
    "'; DROP TABLE chunk; --",
    "\\",
    "%",
    "\x00",
    "river\x00stone",
    "\ufffe\U0010ffff",
    '{"match_all": {}}',
)


@each("word", HOSTILE)
def test_no_word_is_syntax(index: DocumentIndex, ann: Owner, word: str) -> None:
    if not index.documents(ann, NOTES):
        put(index, ann, chunk("a#0", "riverbeds of stones"))
    assert index.candidates(ann, NOTES, [word], None, limit=10, where=Where()) == []


@each(
    "words",
    [
        pytest.param(["river", "AND", '"', "NOT", "\x00"], id="operators"),
        pytest.param(["x" * 65536, "river"], id="a word of 64 kilobytes"),
        pytest.param(["river", *(f"w{number}" for number in range(5000))], id="thousands of words"),
    ],
)
def test_odd_words_change_nothing_for_the_others(index: DocumentIndex, words: list[str]) -> None:
    ann = someone()
    put(index, ann, chunk("a#0", "river"), chunk("b#0", "garden"))
    assert by_words(index.candidates(ann, NOTES, words, None, limit=10, where=Where())) == ["a#0"]


def test_without_words_and_without_a_vector_nothing_is_found(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river", EAST))
    assert find(index, ann) == []


def test_an_owner_without_documents_finds_nothing(index: DocumentIndex, ann: Owner) -> None:
    assert find(index, ann, "river", vector(1, 0)) == []
    assert index.counts(ann, NOTES) == IndexCounts(0, 0, {})


# Vectors


def test_the_nearest_come_first(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "a", NORTH), chunk("b#0", "b", SOUTH_WEST), chunk("c#0", "c", EAST))
    assert by_vector(find(index, ann, near=vector(3, 1))) == ["c#0", "a#0", "b#0"]


def test_the_cosine_is_exact(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "a", embedding(3, 4)))
    [found] = find(index, ann, near=vector(1, 0))
    assert found.cosine == pytest.approx(0.6, abs=1e-3)  # pyright: ignore[reportUnknownMemberType]


def test_what_only_the_words_find_has_its_cosine_too(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("far#0", "river", embedding(-3, -4)), *[chunk(f"{n}#0", "garden", EAST) for n in range(5)])
    found = candidate(find(index, ann, "river", vector(1, 0), limit=3), "far#0")
    assert found.vector_rank is None
    assert found.cosine == pytest.approx(-0.6, abs=1e-3)  # pyright: ignore[reportUnknownMemberType]


def test_what_only_the_vector_finds_has_no_score_for_words(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river", EAST), chunk("b#0", "garden", NORTH))
    found = candidate(find(index, ann, "river", vector(1, 0)), "b#0")
    assert (found.bm25, found.lexical_rank, found.vector_rank) == (None, None, 2)


def test_a_chunk_without_an_embedding_is_not_near_anything(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river"), chunk("b#0", "garden", SOUTH_WEST))
    found = find(index, ann, "river", vector(1, 0))
    assert by_vector(found) == ["b#0"]
    assert candidate(found, "a#0").cosine is None


@each(
    "values",
    [pytest.param((1, 0), id="as long"), pytest.param((1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), id="longer")],
)
def test_vectors_of_two_models_are_never_compared(index: DocumentIndex, values: tuple[int, ...]) -> None:
    ann = someone()
    put(index, ann, chunk("a#0", "river", EAST), chunk("b#0", "river", embedding(*values, model=OTHER_MODEL)))
    found = find(index, ann, "river", vector(1, 0))
    assert by_vector(found) == ["a#0"]
    assert candidate(found, "b#0").cosine is None
    assert by_vector(find(index, ann, "river", vector(*values, model=OTHER_MODEL))) == ["b#0"]
    assert find(index, ann, near=vector(1, 0, model="unknown@0")) == []


# Limits and ties


def test_each_leg_gives_exactly_as_many_as_are_asked_for(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, *[chunk(f"{n:02}#0", "river " * (n + 1) + "stone " * (30 - n), embedding(1, n)) for n in range(30)])
    found = find(index, ann, "river", vector(1, 0), limit=7)
    assert by_words(found) == [f"{n:02}#0" for n in range(29, 22, -1)]
    assert by_vector(found) == [f"{n:02}#0" for n in range(7)]


def test_ties_go_by_chunk_id_in_both_legs_and_the_last_are_left_out(index: DocumentIndex, ann: Owner) -> None:
    shuffled = [(7 * n) % 20 for n in range(20)]
    put(index, ann, *[chunk(f"{n:02}#0", "river", EAST) for n in shuffled])
    found = find(index, ann, "river", vector(1, 0))
    assert by_words(found) == by_vector(found) == [f"{n:02}#0" for n in range(20)]
    assert by_words(find(index, ann, "river", limit=3)) == ["00#0", "01#0", "02#0"]


# Conditions

MARKED = {
    "plain": TagsAndDate(),
    "red": TagsAndDate(("red",), "2026-01-01"),
    "blue": TagsAndDate(("blue",), "2026-01-15"),
    "both": TagsAndDate(("red", "blue", "x y"), "2026-02-01"),
}


@each(
    ("where", "fitting"),
    [
        (Where(any_tags=("red",)), {"red", "both"}),
        (Where(any_tags=("red", "blue")), {"red", "blue", "both"}),
        (Where(all_tags=("red", "blue")), {"both"}),
        (Where(all_tags=("x y",)), {"both"}),
        (Where(no_tags=("red",)), {"plain", "blue"}),
        (Where(no_tags=("red", "blue")), {"plain"}),
        (Where(since="2026-01-15"), {"blue", "both"}),
        (Where(until="2026-01-15"), {"red", "blue"}),
        (Where(since="2026-01-02", until="2026-01-31"), {"blue"}),
        (Where(any_tags=("blue",), no_tags=("red",), since="2026-01-01"), {"blue"}),
        (Where(any_tags=("green",)), set[str]()),
        (Where(documents=("red", "plain", "unknown")), {"red", "plain"}),
        (Where(documents=("unknown",)), set[str]()),
        (Where(no_documents=("red", "plain")), {"blue", "both"}),
        (Where(documents=("red", "blue"), no_documents=("red",)), {"blue"}),
        (Where(documents=("red", "blue"), any_tags=("blue",)), {"blue"}),
        (Where(since="2027-01-01"), set[str]()),
    ],
)
def test_both_legs_give_only_what_fits(index: DocumentIndex, ann: Owner, where: Where, fitting: set[str]) -> None:
    if not index.documents(ann, NOTES):
        for document, marks in MARKED.items():
            put(index, ann, chunk(f"{document}#0", "river", EAST), marks=marks)
    found = find(index, ann, "river", vector(1, 0), where=where)
    assert set(by_words(found)) == set(by_vector(found)) == {f"{document}#0" for document in fitting}


def test_a_condition_may_be_about_the_passage_itself(index: DocumentIndex, ann: Owner) -> None:
    chunks = [chunk(f"a#{n}", f"river {word}", EAST) for n, word in enumerate(["stone", "tree", "wall", "tree stone"])]
    put(index, ann, *chunks)
    for words, fitting in (("stone",), ["a#0", "a#3"]), (("wall", "tree"), ["a#1", "a#2", "a#3"]), (("x",), []):
        found = find(index, ann, "river", vector(1, 0), where=Where(any_words=words))
        assert sorted(by_words(found)) == sorted(by_vector(found)) == fitting


def test_a_thousand_documents_may_be_named(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river", EAST), chunk("b#0", "river", EAST))
    many = tuple(f"other{number}" for number in range(2000))
    assert by_words(find(index, ann, "river", vector(1, 0), where=Where(documents=(*many, "a")))) == ["a#0"]
    assert by_words(find(index, ann, "river", vector(1, 0), where=Where(no_documents=(*many, "a")))) == ["b#0"]


def test_the_limit_counts_only_what_fits(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, *[chunk(f"better{n}#0", "river river", EAST) for n in range(20)])
    put(index, ann, *[chunk(f"fits{n}#0", "river and stone", NORTH) for n in range(3)], marks=TagsAndDate(("tagged",)))
    found = find(index, ann, "river", vector(1, 0), limit=3, where=Where(any_tags=("tagged",)))
    assert by_words(found) == by_vector(found) == ["fits0#0", "fits1#0", "fits2#0"]


def test_new_marks_count_though_no_chunk_has_changed(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river", EAST), marks=TagsAndDate(("old",), "2025-01-01"))
    put(index, ann, chunk("a#0", "river", EAST), marks=TagsAndDate(("new",)))
    assert find(index, ann, "river", vector(1, 0), where=Where(any_tags=("old",))) == []
    assert find(index, ann, "river", vector(1, 0), where=Where(since="2000-01-01")) == []
    assert len(find(index, ann, "river", vector(1, 0), where=Where(any_tags=("new",)))) == 1
