"""What others write changes no score and no order of yours: nobody can search for the words of others."""

import random
from collections.abc import Callable, Iterable

import pytest

from loci.adapters.local.index import bm25
from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedding
from loci.search.ranking import TagsAndDate, Where
from tests.contract.indexes import NOTES, OTHER_MODEL, Chunk, chunk, embedding, find, put, someone
from tests.support.each import each

PASSAGES = 500
A_DOCUMENT = 20
"""Passages of a document. Each document is a write, and none of what is tested depends on how many there are."""
VOCABULARY = [f"word{number}" for number in range(120)]
QUESTIONS = ["word0 word1 word40", "word3 word7 word90 word2", " ".join(VOCABULARY[:80])]
Score = tuple[str, int | None, float | None]


def passages(texts: Iterable[str], vector: Embedding | None = None) -> list[Chunk]:
    """The texts, some of them to a document."""
    return [chunk(f"{n // A_DOCUMENT:02}#{n % A_DOCUMENT}", text, vector) for n, text in enumerate(texts)]


def library(seed: int, size: int = 60) -> list[Chunk]:
    """Texts of 5 to 80 words, of which few are very common."""
    source = random.Random(seed)
    weights = [1 / rank for rank in range(1, len(VOCABULARY) + 1)]
    return passages(" ".join(source.choices(VOCABULARY, weights, k=source.randint(5, 80))) for _ in range(size))


def scores(index: DocumentIndex, owner: Owner) -> list[list[Score]]:
    limits = (5, 50)
    found = [find(index, owner, question, limit=limit) for question in QUESTIONS for limit in limits]
    found.append(find(index, owner, QUESTIONS[0], where=Where(any_tags=("red",))))
    return [[(one.chunk, one.lexical_rank, one.bm25) for one in candidates] for candidates in found]


def same_words(index: DocumentIndex, bob: Owner) -> None:
    put(index, bob, *library(2, PASSAGES))


def one_word(index: DocumentIndex, bob: Owner) -> None:
    put(index, bob, *passages(["word1 " * 40] * PASSAGES))


def other_words(index: DocumentIndex, bob: Owner) -> None:
    put(index, bob, *passages(f"other{number} " * 40 for number in range(PASSAGES)))


def come_and_gone(index: DocumentIndex, bob: Owner) -> None:
    put(index, bob, *[chunk(f"a#{number}", "word1 word40 " * 20) for number in range(PASSAGES)])
    index.remove(bob, NOTES, "a")


def with_vectors(index: DocumentIndex, bob: Owner) -> None:
    near = embedding(1, 0, model=OTHER_MODEL)
    put(index, bob, *passages(["word1 word40"] * PASSAGES, near))


@each("write", [same_words, one_word, other_words, come_and_gone, with_vectors])
@each("fewest", [pytest.param(bm25.FEWEST_GATED, id=""), pytest.param(0, id="as in a large library")])
def test_what_another_owner_writes_changes_no_bit_of_my_scores(
    index: DocumentIndex,
    write: Callable[[DocumentIndex, Owner], None],
    fewest: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bm25, "FEWEST_GATED", fewest)
    ann, bob = someone(), someone()
    put(index, ann, *library(1), marks=TagsAndDate(("red",)))
    before = scores(index, ann)
    assert all(any(bm25 for _, _, bm25 in found) for found in before)
    write(index, bob)
    assert scores(index, ann) == before


def test_two_owners_with_the_same_texts_get_the_same_scores(index: DocumentIndex, ann: Owner, bob: Owner) -> None:
    put(index, ann, *library(1), marks=TagsAndDate(("red",)))
    put(index, bob, *library(2, PASSAGES))
    put(index, ann, *library(2, PASSAGES), collection="files")
    assert [
        [(one.chunk, one.bm25) for one in find(index, owner, QUESTIONS[1], collection=collection)]
        for owner, collection in ((bob, NOTES),)
    ] == [[(one.chunk, one.bm25) for one in find(index, ann, QUESTIONS[1], collection="files")]]


def test_what_i_write_myself_does_change_them(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, *library(1), marks=TagsAndDate(("red",)))
    before = scores(index, ann)
    put(index, ann, *[chunk(f"new{number}#0", "word1") for number in range(20)])
    assert scores(index, ann) != before
