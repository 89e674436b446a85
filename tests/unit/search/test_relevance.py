"""Scores: what they are made of, and how passages are sorted by them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loci.search.inference import QueryEmbedding, Scale
from loci.search.ranking import Candidate, Chunk
from loci.search.scoring import (
    LEAST,
    LEAST_BY_WORDS,
    Fused,
    ScoredPassage,
    best_first,
    coverage,
    fuse,
    is_about_something_else,
    judge,
    relevance,
    sense_of_words,
    unknown_names,
    word_weights,
)
from loci.search.words import Question
from tests.support.each import each

SCALE = Scale(unrelated=0.1, answering=0.4, unrelated_cosine=0.05, answering_cosine=0.55)
BLIND = Scale(unrelated=0.3, answering=0.31, unrelated_cosine=0.05, answering_cosine=0.55)


def test_an_answer_scores_high_and_what_is_unrelated_low() -> None:
    assert relevance(1.0, 0.6) > 0.8
    assert relevance(0.0, 0.1) < 0.05


def test_in_another_language_meaning_alone_decides() -> None:
    assert relevance(0.9, None) > 0.9 > 0.5 > relevance(0.3, None)


@each("asked", [None, QueryEmbedding("m", b"", b"", (), BLIND)])
def test_without_a_scale_the_words_decide_across_languages_too(asked: QueryEmbedding | None) -> None:
    found, question = [passage("numbered", 1.0, 0.5)], Question.plain("2023 锁")
    assert judge(question, {"numbered#0": ["2023"]}, found, [], asked, is_across=True)


def test_the_same_closeness_says_less_of_a_model_that_finds_everything_close() -> None:
    near = passage("near", 0.5, 0.5, closeness=0.4)
    one, other = (
        QueryEmbedding("m", b"", b"", (), scale) for scale in (SCALE, replace(SCALE, unrelated=0.4, answering=0.7))
    )
    [by_one], [by_other] = ([found.score for found in best_first([near], asked)] for asked in (one, other))
    assert by_other < by_one


@settings(deadline=None)
@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_of_either_is_never_less(near: float, nearer: float, some: float, more: float) -> None:
    near, nearer, some, more = min(near, nearer), max(near, nearer), min(some, more), max(some, more)
    assert 0 <= relevance(near, some) <= relevance(nearer, more) <= 1


def test_the_words_have_their_share_beside_the_vectors() -> None:
    near = Candidate("near", "near", bm25=1.0, cosine=0.4)
    both = Candidate("both", "both", bm25=4.0, cosine=0.4)
    worded = Candidate("worded", "worded", bm25=4.0)
    found = fuse([near, both, worded], 0.25)
    assert [(one.candidate, one.score) for one in found] == [(both, 1.0), (worded, 1.0), (near, 0.4375)]


def test_cosines_count_from_that_of_unrelated_texts_on() -> None:
    answer = Candidate("answer", "answer", cosine=0.83)
    worded = Candidate("worded", "worded", bm25=4.0, cosine=0.73)
    some = Candidate("some", "some", bm25=1.0, cosine=0.79)
    found = fuse([answer, worded, some], 0.6, unrelated=0.73)
    assert [one.candidate.chunk for one in found] == ["answer", "some", "worded"]
    assert [one.score for one in found] == pytest.approx([0.6, 0.46, 0.4])


@each("asked", [None, QueryEmbedding("m", b"", b"", (), BLIND)])
def test_without_a_model_or_with_one_that_tells_nothing_the_words_decide(asked: QueryEmbedding | None) -> None:
    near, worded = passage("near", 0.5, 0.5, closeness=0.4), passage("worded", 1.0, 0.5)
    assert [one.chunk.document for one in best_first([worded, near], asked)] == ["worded", "near"]
    assert (worded.score, near.score) == (0.5, 0.25)


def passage(name: str, fused: float, covered: float, *, closeness: float | None = None) -> ScoredPassage:
    """A passage on a model's scale; without a closeness it has no vector yet."""
    chunk = Chunk(f"{name}#0", name, name, name, (), 1, 1, "", "", "")
    candidate = Candidate(chunk.id, name, bm25=fused, cosine=closeness)
    found = ScoredPassage(Fused(candidate, fused, 1), chunk, closeness, closeness, covered)
    found.fits = relevance(sense_of_words(covered) if closeness is None else (closeness - 0.1) / 0.3, covered)
    return found


def test_a_passage_without_a_vector_comes_where_its_words_put_it() -> None:
    asked = QueryEmbedding("m", b"", b"", (), SCALE)
    fitting, weak = passage("fitting", 1.0, 0.7), passage("weak", 0.3, 0.0)
    near, far = passage("near", 0.6, 0.5, closeness=0.35), passage("far", 0.4, 0.2, closeness=0.2)
    found = best_first([far, weak, near, fitting], asked)
    assert [one.chunk.document for one in found] == ["fitting", "near", "far", "weak"]
    assert len({one.score for one in found}) == len(found)


def test_a_surer_match_comes_before_a_greater_score() -> None:
    asked = QueryEmbedding("m", b"", b"", (), SCALE)
    likely, sure = passage("likely", 1.0, 0.05, closeness=0.32), passage("sure", 0.8, 0.9, closeness=0.38)
    assert [one.chunk.document for one in best_first([likely, sure], asked)] == ["sure", "likely"]
    assert likely.score > sure.score


@each(
    ("question", "unknown"),
    [
        ("What did Ann tell Bob about the boat?", ["Bob"]),
        ("who is bob", []),
        ("How To Tell Bob About The Boat", []),
        ("Wann hat der Verein mit den Nachbarn die Leiter gekauft?", []),
        ("Where is the API of Zebra-Server?", ["API", "Zebra-Server"]),
    ],
)
def test_a_name_is_what_has_a_capital_where_capitals_tell_something(question: str, unknown: list[str]) -> None:
    assert unknown_names(question, {"a#0": ["ann", "boat"], "b#0": []}) == unknown
    assert unknown_names(question, {"a#0": []}) == []


def test_nothing_is_about_the_question_only_if_both_measures_are_low() -> None:
    assert is_about_something_else(LEAST - 0.01, 0.0, 0.2, SCALE)
    assert not is_about_something_else(LEAST - 0.01, 0.0, 0.4, SCALE)
    assert not is_about_something_else(LEAST + 0.01, 0.0, 0.2, SCALE)


@each("of_others", [None, 0.2])
def test_a_passage_without_a_vector_is_judged_by_its_words(of_others: float | None) -> None:
    assert not is_about_something_else(LEAST_BY_WORDS + 0.01, LEAST_BY_WORDS + 0.01, of_others, SCALE)
    assert is_about_something_else(LEAST - 0.01, LEAST_BY_WORDS - 0.01, of_others, SCALE)


def test_the_same_cosine_says_less_of_a_model_that_finds_everything_near() -> None:
    assert is_about_something_else(LEAST - 0.01, 0.0, 0.4, replace(SCALE, unrelated_cosine=0.3, answering_cosine=0.8))


def test_by_words_alone_only_their_share_counts() -> None:
    assert is_about_something_else(LEAST_BY_WORDS - 0.01, 0.0, 0.9, None)
    assert not is_about_something_else(LEAST_BY_WORDS + 0.01, 0.0, None, None)


def test_a_rare_word_of_the_question_weighs_more_and_a_common_one_or_a_mark_nothing() -> None:
    question = "Who is the otter of FY2018?"
    spans = [(0, 3), (4, 6), (7, 10), (11, 16), (17, 19), (20, 22), (22, 26), (26, 27)]
    found = word_weights(question, spans, {"otter": 4.0, "fy2018": 1.0, "fy": 1.0, "2018": 1.0})
    assert found == [0, 0, 0, 2, 0, 1, 1, 0]


def test_if_no_word_of_the_question_is_known_all_weigh_the_same() -> None:
    assert word_weights("who is he?", [(0, 3), (4, 6)], {}) == [1, 1]


def test_a_rare_word_counts_more_than_one_that_every_candidate_has() -> None:
    passages = {str(number): {"common"} for number in range(49)} | {"rare": {"rare"}}
    found = coverage(["common", "rare"], passages)
    assert found["rare"] > 3 * found["0"]


def test_of_a_single_candidate_each_word_counts_about_the_same() -> None:
    assert coverage(["had", "missing"], {"only": {"had"}})["only"] == pytest.approx(0.5, abs=0.05)


def test_all_of_the_words_are_the_whole_and_none_nothing() -> None:
    assert coverage(["a", "b"], {"all": {"a", "b", "c"}, "none": {"c"}}) == {"all": 1.0, "none": 0.0}
    assert coverage([], {"any": {"a"}}) == {"any": 0.0}
